"""Two evaluated lists -> their Cases: the users whom the choice between them concerns most, and the items behind it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.cases.overlap import jaccard, rbo
from concord.metrics_core.cases.tables import SIDES, Tables, opened
from concord.metrics_core.cases.told import Teller, item_case
from concord.metrics_core.cases.values import values_of
from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.evidence.segmentations import ByPopularity
from concord.metrics_core.comparing.segments.users import UserGroups, user_groups
from concord.metrics_core.comparison.cases import Cases, ItemCase
from concord.metrics_core.comparison.parts import or_none
from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.scoring.background import Background
from concord.metrics_core.scoring.numerics.exact import exact_sum

P = 0.9  # of rank-biased overlap: the top 10 has 86 % of the weight


class NoSharedValuesError(InputError):
    """No requested user has a value from both models, or the models were evaluated on different folds."""


@dataclass(frozen=True)
class Question:
    """Which cases: `models` names the models that the two lists are of; `segment` as `channel=app`.

    both_sides : also `worst` users for whom the first model does best. Only the lists of these users are read, so there
                 are no items and no mean overlap, which need the lists of all users.
    """

    models: tuple[str, str]
    worst: int
    segment: str | None = None
    item: str | None = None
    both_sides: bool = False


def cases_of(evidence: Evidence, question: Question) -> Cases:
    """The cases of the first of two lists against the second, on the primary labels; users are sorted by the first.

    Raises
    ------
    NoSharedValuesError : the lists were evaluated on different folds, or no user has a value from both
    InputError          : the segment or the item is unknown
    """
    _refuse_other_truth(evidence)
    values, groups = values_of(evidence), _groups(evidence)
    first, n_users = values.labels[0], len(values.users)
    lists = dict(zip(SIDES, evidence.models.values(), strict=True))
    pool = ~np.isnan(values.gaps) & _of_segment(groups, question.segment, n_users)
    with opened(evidence, lists, first, evidence.asked.main_k) as tables:
        if question.item is not None:
            pool &= _of_item(tables, question.item, n_users)
        if not pool.any():
            what = f"none of the users that are asked for has a value of {first} from both"
            fix = "ask for another segment, item or metric"
            raise NoSharedValuesError([Problem("cases", what, fix)])
        behind = pool if question.item is not None else pool & (values.gaps < 0)
        chosen = values.furthest_behind(behind, question.worst)
        if question.both_sides:
            ahead = values.furthest_ahead(pool & (values.gaps > 0), question.worst)
            chosen = np.concatenate([chosen, ahead])
        tables.restrict(np.isin(np.arange(n_users), chosen) if question.both_sides else pool)
        tables.choose(chosen)
        shared = tables.shared(n_users)
        alike = {"jaccard": jaccard(shared), "rbo": rbo(shared, P)}
        background = Background(evidence.ground.train, evidence.ground.items)
        users = tuple(Teller(values, tables, background, groups, alike).cases(chosen))
        item_cases: tuple[ItemCase, ...] = ()
        mean_jaccard, mean_rbo = None, None
        if not question.both_sides:
            rows = tables.items(values.least(first), question.worst, question.item)
            titles = tables.titles([row[0] for row in rows])
            item_cases = tuple(item_case(row, titles, int(pool.sum())) for row in rows)
            mean_jaccard, mean_rbo = (_mean(of_users[pool]) for of_users in alike.values())
    a, b = evidence.models
    return Cases(
        title=evidence.asked.title,
        a=a,
        b=b,
        model_a=question.models[0],
        model_b=question.models[1],
        labels=tuple(map(str, values.labels)),
        higher_is_better=first.metric.higher_is_better,
        thresholds={str(label): values.least(label) for label in values.labels},
        k=evidence.asked.main_k,
        p=P,
        segment=question.segment,
        item=question.item,
        who="users" if evidence.asked.conventions.unit_mean is None else "requests",
        n_users=int(pool.sum()),
        n_behind=int((values.gaps[pool] < 0).sum()),
        n_ahead=int((values.gaps[pool] > 0).sum()),
        jaccard=mean_jaccard,
        rbo=mean_rbo,
        cases=users,
        item_cases=item_cases,
        both_sides=question.both_sides,
    )


def _refuse_other_truth(evidence: Evidence) -> None:
    folds = {name: each.quality.get("fold") for name, each in evidence.models.items()}
    if len(set(folds.values())) > 1:
        said = " and ".join(f"{name} by that of fold {fold}" for name, fold in folds.items())
        what = f"the lists met other truths: {said}"
        raise NoSharedValuesError([Problem("cases", what, "name trainings of one fold")])


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


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return or_none(exact_sum(known) / len(known) if len(known) else math.nan)
