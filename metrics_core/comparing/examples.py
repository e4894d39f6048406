"""Ten users: the largest wins and losses of one model against another, with their lists and what they wanted."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.checking.relations import Table, scan, schema
from concord.metrics_core.checking.units import parts_of
from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evaluated import Ground
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import Examples, ExampleUser, ShownItem, WantedItem
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.judged import Floats

EACH = 5  # wins, and losses
MOST_TRUTH = 50  # relevant items that are shown of a user


def examples(evidence: Evidence, comparison: Comparison) -> Examples | None:
    """The leader on the first primary label against the baseline; a leading baseline against the runner-up."""
    asked, aligned = evidence.asked, evidence.aligned
    first = asked.of_primary[0]
    label = str(first)
    pair = _pair(comparison, label)
    if pair is None:
        return None
    a, b = pair
    values = aligned.values(label, first.conventions(asked.conventions).undefined)
    chosen = _largest(
        aligned.users,
        values[a],
        values[b],
        higher_is_better=first.metric.higher_is_better,
    )
    known = _Known(asked, evidence.ground, first, [user for user, _, _ in chosen])
    truth, n_train = known.truth(), known.train()
    list_a, list_b = (known.listed(evidence.models[model].lists) for model in pair)
    return Examples(
        label,
        a,
        b,
        asked.main_k,
        tuple(
            ExampleUser(
                user=user,
                value_a=of_a,
                value_b=of_b,
                difference=of_a - of_b,
                n_train=n_train.get(known.owner(user), 0) if n_train is not None else None,
                truth=tuple(truth.get(user, ())),
                list_a=tuple(list_a.get(user, ())),
                list_b=tuple(list_b.get(user, ())),
            )
            for user, of_a, of_b in chosen
        ),
    )


def _pair(comparison: Comparison, label: str) -> tuple[str, str] | None:
    leaders, baseline = comparison.leaders(label), comparison.baseline
    ordered = [*leaders, *comparison.others(label)]
    if len(ordered) < 2 or not leaders:  # noqa: PLR2004 - a pair is two
        return None
    best = ordered[0]
    return (best, ordered[1]) if best == baseline else (best, baseline)


def _largest(
    users: pl.Series, of_a: Floats, of_b: Floats, *, higher_is_better: bool
) -> list[tuple[str, float, float]]:
    """(user, value with a, value with b): wins, largest first, then losses; equal ones by the id of the user."""
    gaps = of_a - of_b if higher_is_better else of_b - of_a
    gaps = np.nan_to_num(gaps)
    chosen: list[tuple[str, float, float]] = []
    for side in (gaps, -gaps):
        least = np.partition(side, -EACH)[-EACH] if len(side) > EACH else 0.0
        near = np.flatnonzero((side > 0) & (side >= least))
        found = pl.DataFrame(
            {
                "user": users.gather(near).cast(pl.String),
                "gap": side[near],
                "a": of_a[near],
                "b": of_b[near],
            }
        )
        largest = found.sort("gap", "user", descending=[True, False]).head(EACH)
        chosen += largest.select("user", "a", "b").rows()
    return chosen


class _Known:
    """What the data say of a few users, by the conventions of a label; ids as text."""

    def __init__(self, asked: Asked, ground: Ground, label: Label, users: Sequence[str]) -> None:
        self._ground, self._users, self._k = ground, users, asked.main_k
        self._least = label.conventions(asked.conventions).relevance_threshold
        self._ranking = label.ranking_number(asked.conventions)
        self._of_requests = asked.of_requests
        self._titles = self._read_titles()
        self._relevant: dict[tuple[str, str], float] = {}

    def truth(self) -> dict[str, list[WantedItem]]:
        """What each user wanted: the relevant items."""
        found: dict[str, list[WantedItem]] = {}
        for user, item, grade in self._rows(self._ground.truth, ["item", "grade"]):
            if self._least is not None and grade < self._least:
                continue
            self._relevant[user, item] = grade
            found.setdefault(user, []).append(WantedItem(item, self._titles.get(item), grade))
        return {user: held[:MOST_TRUTH] for user, held in found.items()}

    def listed(self, lists: Table) -> dict[str, list[ShownItem]]:
        """What each user was shown, down to the main cutoff."""
        found: dict[str, list[ShownItem]] = {}
        for user, item, rank in self._rows(lists, ["item", "rank"]):
            if item is not None and (self._k is None or rank <= self._k):
                relevant = (user, item) in self._relevant
                shown = ShownItem(rank, item, self._titles.get(item), relevant)
                found.setdefault(user, []).append(shown)
        return found

    def train(self) -> dict[str, int] | None:
        """User -> interactions in train; None where there is no train."""
        if self._ground.train is None:
            return None
        counts: dict[str, int] = {}
        for user, _ in self._rows(self._ground.train, ["item"], list(map(self.owner, self._users))):
            counts[user] = counts.get(user, 0) + 1
        return counts

    def owner(self, user: str) -> str:
        """The user whose request it is; of users they themselves."""
        return parts_of(user)[0] if self._of_requests else user

    def _rows(
        self, table: Table, columns: list[str], users: Sequence[str] | None = None
    ) -> list[tuple[Any, ...]]:
        """user, then the columns, as the table is sorted."""
        frame = scan(table)
        if "ranking" in schema(table):
            frame = frame.filter(pl.col("ranking") == self._ranking)
        ids = pl.col("user", "item").cast(pl.String)
        text = frame.with_columns(ids).filter(pl.col("user").is_in(list(users or self._users)))
        return text.select("user", *columns).collect().rows()

    def _read_titles(self) -> dict[str, str]:
        items = self._ground.items
        if items is None or "title" not in schema(items):
            return {}
        titled = scan(items).filter(pl.col("title").is_not_null())
        return dict(titled.select(pl.col("item").cast(pl.String), "title").collect().rows())
