"""Ten users: the largest wins and losses of one model against another, with their lists and what they wanted."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metrics_core.metrics.catalogue import Label
from pipeline.comparing.aligned import Aligned, Floats
from pipeline.comparing.choices import Choices
from pipeline.comparing.standing import Standing
from pipeline.params.model import Params

Row = dict[str, Any]
EACH = 5  # wins, and losses
MOST_TRUTH = 50  # relevant items that are shown of a user


def examples(
    params: Params, choices: Choices, aligned: Aligned, comparison: Mapping[str, Any]
) -> Row | None:
    """The leader on the first primary label against the baseline; a leading baseline against the runner-up."""
    first = choices.of_primary[0]
    label = str(first)
    pair = _pair(Standing(comparison), label)
    if pair is None:
        return None
    a, b = pair
    values = aligned.values(label, first.conventions(params.pinned).undefined)
    chosen = _largest(
        aligned.users.cast(pl.String).to_numpy(),
        values[a],
        values[b],
        higher_is_better=first.metric.higher_is_better,
    )
    users = [user for user, _, _ in chosen]
    k = choices.main_k
    known = _Known(params, first, users, k)
    truth, list_a, list_b, n_train = (
        known.truth(),
        known.list_of(a),
        known.list_of(b),
        known.train(),
    )
    return {
        "label": label,
        "a": a,
        "b": b,
        "k": k,
        "users": [
            {
                "user": user,
                "value_a": of_a,
                "value_b": of_b,
                "difference": of_a - of_b,
                "n_train": n_train.get(user, 0) if n_train is not None else None,
                "truth": truth.get(user, []),
                "list_a": list_a.get(user, []),
                "list_b": list_b.get(user, []),
            }
            for user, of_a, of_b in chosen
        ],
    }


def _pair(standing: Standing, label: str) -> tuple[str, str] | None:
    ordered = [*standing.leaders(label), *standing.others(label)]
    if len(ordered) < 2 or not standing.leaders(label):  # noqa: PLR2004 - a pair is two
        return None
    best = ordered[0]
    return (best, ordered[1]) if best == standing.baseline else (best, standing.baseline)


def _largest(
    users: Any, of_a: Floats, of_b: Floats, *, higher_is_better: bool
) -> list[tuple[str, float, float]]:
    """(user, value with a, value with b): wins, largest first, then losses; equal ones by the id of the user."""
    gaps = of_a - of_b if higher_is_better else of_b - of_a
    known = np.flatnonzero(~np.isnan(gaps))
    chosen: list[int] = []
    for side in (gaps, -gaps):
        order = known[np.lexsort((users[known], -side[known]))][:EACH]
        chosen += [i for i in order.tolist() if side[i] > 0]
    return [(str(users[i]), float(of_a[i]), float(of_b[i])) for i in chosen]


class _Known:
    """What the results say of a few users, by the conventions of a label; ids as text."""

    def __init__(self, params: Params, label: Label, users: Sequence[str], k: int | None) -> None:
        self._params, self._users, self._k = params, users, k
        self._least = label.conventions(params.pinned).relevance_threshold
        self._ranking = label.ranking_number(params.pinned)
        self._titles = self._read_titles()
        self._relevant: dict[tuple[str, str], float] = {}

    def truth(self) -> dict[str, list[Row]]:
        """What each user wanted: the relevant items."""
        rows = self._rows(Path(self._params.results.data) / "truth.parquet", ["item", "grade"])
        found: dict[str, list[Row]] = {}
        for user, item, grade in rows:
            if self._least is not None and grade < self._least:
                continue
            self._relevant[user, item] = grade
            found.setdefault(user, []).append(
                {"item": item, "title": self._titles.get(item), "grade": grade}
            )
        return {user: held[:MOST_TRUTH] for user, held in found.items()}

    def list_of(self, model: str) -> dict[str, list[Row]]:
        path = Path(self._params.results.lists) / f"{model}.parquet"
        found: dict[str, list[Row]] = {}
        for user, item, rank in self._rows(path, ["item", "rank"]):
            if item is not None and (self._k is None or rank <= self._k):
                found.setdefault(user, []).append(
                    {
                        "rank": rank,
                        "item": item,
                        "title": self._titles.get(item),
                        "relevant": (user, item) in self._relevant,
                    }
                )
        return found

    def train(self) -> dict[str, int] | None:
        """User -> interactions in train; None where there is no train."""
        if "train" not in self._params.background:
            return None
        rows = self._rows(Path(self._params.results.data) / "train.parquet", ["item"])
        counts: dict[str, int] = {}
        for user, _ in rows:
            counts[user] = counts.get(user, 0) + 1
        return counts

    def _rows(self, path: Path, columns: list[str]) -> list[tuple[Any, ...]]:
        """user, then the columns, as the file is sorted."""
        frame = pl.scan_parquet(path, glob=False)
        if "ranking" in frame.collect_schema().names():
            frame = frame.filter(pl.col("ranking") == self._ranking)
        ids = pl.col("user", "item").cast(pl.String)
        text = frame.with_columns(ids).filter(pl.col("user").is_in(list(self._users)))
        return text.select("user", *columns).collect().rows()

    def _read_titles(self) -> dict[str, str]:
        path = Path(self._params.results.data) / "items.parquet"
        if "items" not in self._params.background:
            return {}
        frame = pl.scan_parquet(path, glob=False)
        if "title" not in frame.collect_schema().names():
            return {}
        titled = frame.filter(pl.col("title").is_not_null())
        return dict(titled.select(pl.col("item").cast(pl.String), "title").collect().rows())
