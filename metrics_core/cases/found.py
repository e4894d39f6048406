"""Two evaluated lists -> their Cases: the users whom the choice between them concerns most, and the items behind it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from concord.metrics_core.cases.overlap import jaccard, rbo
from concord.metrics_core.cases.seen import reasons
from concord.metrics_core.cases.tables import SIDES, Row, Tables, opened
from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.comparing.evidence.evaluated import Evaluated
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.evidence.segmentations import ByPopularity
from concord.metrics_core.comparing.segments.users import UserGroups, user_groups
from concord.metrics_core.comparison.cases import (
    Case,
    Cases,
    ItemCase,
    JudgedItem,
    ListedItem,
    Seen,
)
from concord.metrics_core.comparison.parts import or_none
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.judged import Bools, Floats, Ints
from concord.metrics_core.scoring.numerics.exact import exact_sum

P = 0.9  # of rank-biased overlap: the top 10 has 86 % of the weight


@dataclass(frozen=True)
class Question:
    """Which cases: `models` names the models that the two lists are of; `segment` as `channel=app`."""

    models: tuple[str, str]
    worst: int
    segment: str | None
    item: str | None


def cases_of(evidence: Evidence, question: Question) -> Cases:
    """The cases of the first of two lists against the second, on the primary labels; users are sorted by the first.

    Raises
    ------
    InputError : lists of different folds, a segment or an item that nobody knows, nobody with a value from both
    """
    asked, (a, b) = evidence.asked, evidence.models
    lists = dict(zip(SIDES, evidence.models.values(), strict=True))
    _refuse_other_truth(evidence, a, b)
    labels = asked.of_primary
    found = _Found(evidence, lists, labels)
    groups = _groups(evidence)
    with opened(evidence, lists, labels[0], asked.main_k) as tables:
        pool = found.both & _of_segment(groups, question.segment, len(found.gaps))
        if question.item is not None:
            pool &= _of_item(tables, question.item, len(pool))
        if not pool.any():
            raise refuse("cases", f"nobody asked for has a value of {labels[0]} from both", "ask for others")  # fmt: skip
        tables.restrict(pool)
        chosen = found.worst(pool, question)
        tables.choose(chosen)
        return found.told(tables, pool, chosen, question, groups)


def _refuse_other_truth(evidence: Evidence, a: str, b: str) -> None:
    folds = [each.quality.get("fold") for each in evidence.models.values()]
    if folds[0] != folds[1]:
        what = f"{a} is judged by fold {folds[0]}, {b} by fold {folds[1]}: they met other truths"
        raise refuse("cases", what, "name trainings of one fold")


def _groups(evidence: Evidence) -> dict[str, UserGroups]:
    return {
        name: user_groups(evidence, name, segmentation)
        for name, segmentation in evidence.asked.segments.items()
        if not isinstance(segmentation, ByPopularity)
    }


def _of_segment(groups: Mapping[str, UserGroups], segment: str | None, n_users: int) -> Bools:
    """(users,) is the user in the group, named as `channel=app`?"""
    if segment is None:
        return np.ones(n_users, dtype=bool)
    known = {
        f"{name}={group}": of.of_user == number
        for name, of in groups.items()
        for number, group in enumerate(of.names)
    }
    if segment not in known:
        fix = f"name one of: {', '.join(known)}" if known else "there are no segments of users"
        raise refuse("segment", f"{segment!r} is no segment of users", fix)
    return known[segment]


def _of_item(tables: Tables, item: str, n_users: int) -> Bools:
    found = tables.touched_by(item, n_users)
    if not found.any():
        what = f"nobody wanted {item!r}, and no list shows it"
        raise refuse("item", what, "write the id of an item as the files have it")
    return found


class _Found:
    """The values of both lists, and what is told of users."""

    def __init__(
        self, evidence: Evidence, lists: Mapping[str, Evaluated], labels: list[Label]
    ) -> None:
        self.evidence, self.lists, self.labels = evidence, lists, labels
        self.pinned = evidence.asked.conventions
        names = tuple(evidence.models)
        self.values: dict[str, tuple[Floats, Floats]] = {}
        for label in labels:
            own = label.conventions(self.pinned)
            of_each = evidence.aligned.values(
                str(label), "zero" if own.undefined == "zero" else "skip"
            )
            self.values[str(label)] = (of_each[names[0]], of_each[names[1]])
        self.first = str(labels[0])
        of_a, of_b = self.values[self.first]
        self.differences = of_a - of_b
        sign = 1.0 if labels[0].metric.higher_is_better else -1.0
        self.gaps: Floats = sign * self.differences  # below 0: a is behind
        self.both: Bools = ~np.isnan(self.gaps)

    def worst(self, pool: Bools, question: Question) -> Ints:
        """Numbers of users, those first where a is furthest behind; equal ones by id.

        Whom both serve alike is told only of an item.
        """
        kept = pool if question.item is not None else pool & (self.gaps != 0)
        numbers = np.flatnonzero(kept)
        users = self.evidence.aligned.users.gather(numbers).cast(pl.String)
        frame = pl.DataFrame({"gap": self.gaps[numbers], "user": users, "number": numbers})
        return frame.sort("gap", "user").head(question.worst)["number"].to_numpy()

    def told(
        self,
        tables: Tables,
        pool: Bools,
        chosen: Ints,
        question: Question,
        groups: Mapping[str, UserGroups],
    ) -> Cases:
        asked, names = self.evidence.asked, tuple(self.evidence.models)
        shared = tables.shared(len(pool))
        alike = {"jaccard": jaccard(shared), "rbo": rbo(shared, P)}
        users = self._users(tables, chosen, groups, alike)
        items = tables.items(self.least(self.labels[0]), question.worst, question.item)
        titles = tables.titles([row[0] for row in items])
        return Cases(
            title=asked.title,
            a=names[0],
            b=names[1],
            model_a=question.models[0],
            model_b=question.models[1],
            labels=tuple(map(str, self.labels)),
            higher_is_better=self.labels[0].metric.higher_is_better,
            thresholds={str(label): self.least(label) for label in self.labels},
            k=asked.main_k,
            p=P,
            segment=question.segment,
            item=question.item,
            n_users=int(pool.sum()),
            n_behind=int((self.gaps[pool] < 0).sum()),
            n_ahead=int((self.gaps[pool] > 0).sum()),
            **{name: _mean(values[pool]) for name, values in alike.items()},
            cases=tuple(users),
            item_cases=tuple(_item_case(row, titles, int(pool.sum())) for row in items),
        )

    def least(self, label: Label) -> float | None:
        """The lowest grade that counts as relevant; None where any does, or none is asked for."""
        asks = label.metric.asks_relevance
        return label.conventions(self.pinned).relevance_threshold if asks else None

    def _users(
        self,
        tables: Tables,
        chosen: Ints,
        groups: Mapping[str, UserGroups],
        alike: Mapping[str, Floats],
    ) -> list[Case]:
        users = self.evidence.aligned.users.gather(chosen).cast(pl.String).to_list()
        why = self._reasons(tables)
        judged, n_train = tables.judged(), tables.n_train()
        lists = {side: tables.listed(side) for side in SIDES}
        ids = {row[0] for rows in judged.values() for row in rows}
        ids |= {row[1] for of in lists.values() for rows in of.values() for row in rows}
        titles = tables.titles(sorted(ids))
        return [
            Case(
                user=user,
                difference=float(self.differences[n]),
                n_train=None if n_train is None else n_train.get(n, 0),
                segments={name: of.names[of.of_user[n]] for name, of in groups.items()},
                seen=tuple(self._seen(label, n, user, why) for label in self.labels),
                judged=tuple(self._judged_item(row, titles) for row in judged.get(n, [])),
                list_a=tuple(self._listed_item(row, titles) for row in lists["a"].get(n, [])),
                list_b=tuple(self._listed_item(row, titles) for row in lists["b"].get(n, [])),
                **{name: or_none(float(values[n])) for name, values in alike.items()},
            )
            for n, user in zip(chosen.tolist(), users, strict=True)
        ]  # fmt: skip

    def _reasons(self, tables: Tables) -> dict[tuple[str, str], dict[str, str]]:
        truth = tables.own("truth")
        rows = {side: tables.own(f"all_{side}") for side in SIDES}
        return {
            (str(label), side): reasons(rows[side], truth, label, self.pinned)
            for label in self.labels
            for side in SIDES
        }

    def _seen(
        self, label: Label, n: int, user: str, why: Mapping[tuple[str, str], Mapping[str, str]]
    ) -> Seen:
        text = str(label)
        values = (or_none(float(of_users[n])) for of_users in self.values[text])
        return Seen(text, *values, *(why[text, side].get(user, "") for side in SIDES))

    def _judged_item(self, row: Row, titles: Mapping[str, str]) -> JudgedItem:
        item, grade, rank_a, rank_b = row
        below = tuple(str(each) for each in self.labels if not self._reaches(grade, each))
        relevant = self._reaches(grade, self.labels[0])
        return JudgedItem(item, titles.get(item), grade, relevant, below, rank_a, rank_b)

    def _listed_item(self, row: Row, titles: Mapping[str, str]) -> ListedItem:
        rank, item, grade = row
        relevant = grade is not None and self._reaches(grade, self.labels[0])
        return ListedItem(rank, item, titles.get(item), grade, relevant)

    def _reaches(self, grade: float, label: Label) -> bool:
        least = self.least(label)
        return least is None or grade >= least


def _item_case(row: Row, titles: Mapping[str, str], n_users: int) -> ItemCase:
    item, n_wanted, found_a, found_b, shown_a, shown_b = row
    return ItemCase(
        item=item,
        title=titles.get(item),
        n_wanted=n_wanted,
        found_a=found_a,
        found_b=found_b,
        recall_a=found_a / n_wanted if n_wanted else None,
        recall_b=found_b / n_wanted if n_wanted else None,
        shown_a=shown_a,
        shown_b=shown_b,
        exposure_a=shown_a / n_users,
        exposure_b=shown_b / n_users,
    )


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return or_none(exact_sum(known) / len(known) if len(known) else math.nan)
