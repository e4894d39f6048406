"""What is told of lists that rank the relevant item among sampled candidates: what was corrected, and what stays open."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.conventions.conventions import Candidates, UnitMean
from concord.metrics_core.data.relations import create_view, file_paths, schema_of, share_id_types
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult, Models
from concord.metrics_core.evaluation.sampled_candidates import (
    UNBIASED,
    bounds,
    fit,
    grid,
    of_full_ranks,
)
from concord.metrics_core.evaluation.warnings.base import warned
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.comparison_parts import Warned
from concord.metrics_core.results.words import listed, percent

_RANKS = """
SELECT CAST(user AS VARCHAR) AS user, grade, rank FROM truth LEFT JOIN lists USING (user, item)
WHERE coalesce(grade >= $least, TRUE) ORDER BY ALL
"""
Bounds = tuple[float, float]
_UNLISTED = {"zero": 0.0, "one": 1.0}  # what a user without a list counts; others do not count
TOP = 100  # full ranks that a bound tells apart one by one, at least


def sampling_warnings(
    config: ComparisonConfig, models: Models, ground: EvaluationData
) -> Iterator[Warned]:
    """Nothing where all items were ranked; else what was corrected, and the pairs whose order is not identifiable."""
    if config.conventions.candidates is None:
        return
    candidates = Candidates.of(config.conventions.candidates)
    counted: dict[tuple[float | None, int], dict[str, pl.DataFrame]] = {}
    for label in config.primary_labels:
        if label.name == UNBIASED:
            continue
        least = label.conventions(config.conventions).relevance_threshold
        key = least, label.ranking_number(config.conventions)
        if key not in counted:
            counted[key] = {m: _ranks(each, ground, *key) for m, each in models.items()}
        yield from _Found(config, models, candidates, counted[key]).of_label(label)


def _ranks(
    evaluated: ModelResult, ground: EvaluationData, least: float | None, ranking: int
) -> pl.DataFrame:
    """user, grade and sampled rank of the relevant items, of all trainings of a model together; no rank without a list."""
    found = []
    for single in evaluated.each:
        tables = {"lists": single.lists, "truth": ground.truth_of(single)}
        with ground.connecting(file_paths(tables.values())) as connection:
            for name, table in tables.items():
                create_view(connection, f"{name}_table", table)
            chosen = "SELECT * FROM lists_table"
            if "ranking" in schema_of(single.lists):
                chosen += f" WHERE ranking = {ranking}"
            connection.execute(f"CREATE VIEW lists_chosen AS {chosen}")
            share_id_types(connection, {"lists": "lists_chosen", "truth": "truth_table"})
            ranks = connection.sql(_RANKS, params={"least": least}).to_arrow_table()
            found.append(pl.DataFrame(ranks))
    return pl.concat(found)


def _weighed(ranks: pl.DataFrame, mean: UnitMean | None) -> pl.DataFrame:
    """With the user and what each row counts: requests of a user hang together, and count as `unit_mean` says."""
    if mean is not None:
        ranks = ranks.with_columns(users_of_units(ranks["user"]))
    weight = 1 / pl.len().over("user") if mean == "users" else pl.lit(1.0)
    return ranks.with_columns(weight.alias("weight"))


@dataclass(frozen=True)
class _Found:
    """ranks : model -> user, grade and sampled rank of the relevant items."""

    config: ComparisonConfig
    models: Models
    candidates: Candidates
    ranks: Mapping[str, pl.DataFrame]

    def of_label(self, label: Label) -> Iterator[Warned]:
        of_models = {model: self._bounds(label, model) for model in self.models}
        unfit = [model for model, each in of_models.items() if each is None]
        if unfit:
            yield warned(
                "sampled_unfit",
                "serious",
                unfit,
                f"No ranking of {self.candidates.catalogue:,} items gives the sampled ranks of {listed(unfit)} if "
                f"{self.candidates.negatives:,} negatives are drawn uniformly: corrected values of {label} mean nothing there.",
                "see whether negatives were drawn by popularity, and whether conventions.candidates says what was done",
            )
        known = {model: each for model, each in of_models.items() if each is not None}
        open_pairs = [(a, b) for a, b in combinations(known, 2) if _overlap(known[a], known[b])]
        if open_pairs:
            yield self._open(label, known, open_pairs)

    def _open(
        self, label: Label, known: Mapping[str, Bounds], pairs: Sequence[tuple[str, str]]
    ) -> Warned:
        who = [model for model in known if any(model in pair for pair in pairs)]
        spans = listed([f"{model} {low:.3g} to {high:.3g}" for model, (low, high) in known.items()])
        every = len(pairs) == len(known) * (len(known) - 1) // 2
        named = listed([f"{a} and {b}" for a, b in pairs])
        whose = "any two models" if every and len(known) > 2 else named  # noqa: PLR2004 - a pair
        return warned(
            "order_not_identifiable",
            "serious",
            who,
            f"The order of {whose} at {label} is not identifiable from {self.candidates.negatives:,} sampled negatives: "
            f"full rankings that fit these lists, at {percent(self.config.confidence)} confidence for all models at once, "
            f"have means of {spans}.",
            "rank all items, or draw far more negatives; a verdict here compares corrected values, bias included",
        )

    def _bounds(self, label: Label, model: str) -> Bounds | None:
        """Of the mean over all full rankings that fit; None: none fits.

        Where the label differs by the grade of the relevant item, each grade has bounds of its own. Users without a list
        count as `user_no_recs` says.
        """
        own, candidates = label.conventions(self.config.conventions), self.candidates
        unlisted = _UNLISTED.get(own.user_no_recs)
        ranks = self.ranks[model]
        every = _weighed(ranks.drop_nulls("rank") if unlisted is None else ranks, own.unit_mean)
        found = every.drop_nulls("rank")
        full = grid(max(label.k or 0, TOP), candidates)
        grades = found["grade"].unique().sort().to_list()
        parts = _alike({g: of_full_ranks(label, own, g, full, candidates) for g in grades})
        alpha = self.config.alpha / (len(self.models) * max(len(parts), 1))
        total = float(every["weight"].to_numpy().sum())
        low = high = (1 - float(found["weight"].to_numpy().sum()) / total) * (unlisted or 0.0)
        for aim, of_part in parts:
            rows = found.filter(pl.col("grade").is_in(of_part))
            weights = rows["weight"].to_numpy()
            counts = np.bincount(rows["rank"].to_numpy() - 1, weights, candidates.negatives + 1)
            fitting = fit(counts, _effective(rows), candidates, alpha)
            ends = bounds(aim, full, fitting)
            if ends is None:
                return None
            share = float(weights.sum() / total)
            low, high = low + share * ends[0], high + share * ends[1]
        return low, high


def _alike(aims: Mapping[float, Floats]) -> list[tuple[Floats, list[float]]]:
    """Value by full rank, and the grades that a label values so."""
    parts: list[tuple[Floats, list[float]]] = []
    for grade, aim in aims.items():
        known = (grades for held, grades in parts if np.allclose(held, aim, rtol=1e-12))
        if (grades := next(known, None)) is not None:
            grades.append(grade)
        else:
            parts.append((aim, [grade]))
    return parts


def _effective(rows: pl.DataFrame) -> int:
    """Users who count alike and say as much, as if all requests of a user were the same: (Σ w)² / Σ w², rounded down."""
    of_users = (
        rows.group_by("user", maintain_order=True).agg(pl.col("weight").sum())["weight"].to_numpy()
    )
    total = of_users.sum()
    return int(total * total / (of_users * of_users).sum() + 1e-9)


def _overlap(one: Bounds, other: Bounds) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
