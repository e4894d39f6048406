"""Warnings about lists that rank the relevant item among sampled candidates.

They rest on the means that a full ranking could have.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.conventions.conventions import Candidates
from concord.metrics_core.data.tables import create_view, file_paths, schema_of, share_id_types
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult, Models
from concord.metrics_core.evaluation.sampled_candidates import (
    UNBIASED,
    rank_probabilities,
    values_at_ranks,
)
from concord.metrics_core.metrics.judged import Floats, Ints
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.stats.special_functions import special

_RANKS = """
SELECT CAST(user AS VARCHAR) AS user, grade, rank FROM truth LEFT JOIN lists USING (user, item)
WHERE grade >= $threshold ORDER BY ALL
"""
Bounds = tuple[float, float]
# Policy -> value of a user without a list; other policies leave the user out.
_UNLISTED = {"zero": 0.0, "one": 1.0}
MIN_EXACT_RANKS = 100  # smallest number of first full ranks that are not grouped


def sampling_warnings(
    config: ComparisonConfig, models: Models, data: EvaluationData
) -> Iterator[DataWarning]:
    """Yield the warnings about sampled candidates for each primary label.

    They name models that no full ranking fits, and pairs whose order is not identifiable.
    There are none unless `conventions.candidates` is set.
    """
    conventions = config.conventions
    if conventions.candidates is None:
        return
    candidates = Candidates.from_mapping(conventions.candidates)
    ranks_by_key: dict[tuple[float | None, int], dict[str, pl.DataFrame]] = {}
    for label in config.primary_labels:
        if label.name == UNBIASED:
            continue
        threshold = label.conventions(conventions).relevance_threshold
        key = threshold, label.ranking_number(conventions)
        if key not in ranks_by_key:
            ranks_by_key[key] = {m: _ranks(result, data, *key) for m, result in models.items()}
        yield from _label_warnings(label, config, candidates, ranks_by_key[key])


def _label_warnings(
    label: Label,
    config: ComparisonConfig,
    candidates: Candidates,
    ranks: Mapping[str, pl.DataFrame],
) -> Iterator[DataWarning]:
    bounds_of = {
        model: _mean_bounds(label, config, candidates, model_ranks, n_models=len(ranks))
        for model, model_ranks in ranks.items()
    }
    details: dict[str, Any] = {"label": str(label), "negatives": candidates.negatives}
    if unfit := tuple(model for model, bounds in bounds_of.items() if bounds is None):
        yield DataWarning(
            "sampled_unfit", "serious", unfit, {**details, "catalogue": candidates.catalogue}
        )
    known = {model: bounds for model, bounds in bounds_of.items() if bounds is not None}
    pairs = [[a, b] for a, b in combinations(known, 2) if _overlap(known[a], known[b])]
    if pairs:
        names = tuple(model for model in known if any(model in pair for pair in pairs))
        details |= {
            "confidence": config.confidence,
            "pairs": pairs,
            "bounds": {model: list(bounds) for model, bounds in known.items()},
        }
        yield DataWarning("order_not_identifiable", "serious", names, details)


def _ranks(
    result: ModelResult, data: EvaluationData, threshold: float | None, ranking: int
) -> pl.DataFrame:
    """Return user, grade and sampled rank of relevant items in all replicates.

    The rank is null if the user has no list.
    """
    frames = []
    for lists in result.replicate_results:
        tables = {"lists": lists.lists, "truth": data.truth_of(lists)}
        with data.connect(file_paths(tables.values())) as connection:
            for name, table in tables.items():
                create_view(connection, f"{name}_table", table)
            rows = "SELECT * FROM lists_table"
            if "ranking" in schema_of(lists.lists):
                rows += f" WHERE ranking = {ranking}"
            connection.execute(f"CREATE VIEW lists_of_ranking AS {rows}")
            share_id_types(connection, {"lists": "lists_of_ranking", "truth": "truth_table"})
            ranks = connection.sql(_RANKS, params={"threshold": threshold or 0.0}).to_arrow_table()
            frames.append(pl.DataFrame(ranks))
    return pl.concat(frames)


def _with_weights(ranks: pl.DataFrame, mean: str | None) -> pl.DataFrame:
    """Return the ranks with the weight of each row; `user` is the user of a request."""
    if mean is not None:
        ranks = ranks.with_columns(users_of_units(ranks["user"]))
    weight = 1 / pl.len().over("user") if mean == "users" else pl.lit(1.0)
    return ranks.with_columns(weight.alias("weight"))


def _mean_bounds(
    label: Label,
    config: ComparisonConfig,
    candidates: Candidates,
    ranks: pl.DataFrame,
    n_models: int,
) -> Bounds | None:
    """Return the bounds of a mean over all full rankings that fit the sampled ranks.

    None if no ranking fits. If the value depends on the grade of the relevant item, each grade has
    its own bounds. Users without a list count as `user_no_recs` says.
    """
    conventions = label.conventions(config.conventions)
    unlisted = _UNLISTED.get(conventions.user_no_recs)
    all_ranks = _with_weights(
        ranks.drop_nulls("rank") if unlisted is None else ranks, conventions.unit_mean
    )
    listed = all_ranks.drop_nulls("rank")
    full = grid(max(label.k or 0, MIN_EXACT_RANKS), candidates)
    grades = listed["grade"].unique().sort().to_list()
    grade_groups = _group_grades(
        {grade: values_at_ranks(label, conventions, grade, full, candidates) for grade in grades}
    )
    alpha = config.alpha / (n_models * max(len(grade_groups), 1))
    total = float(all_ranks["weight"].to_numpy().sum())
    low = high = (1 - float(listed["weight"].to_numpy().sum()) / total) * (unlisted or 0.0)
    for value_by_rank, group in grade_groups:
        rows = listed.filter(pl.col("grade").is_in(group))
        weights = rows["weight"].to_numpy()
        counts = np.bincount(rows["rank"].to_numpy() - 1, weights, candidates.negatives + 1)
        fitting = rank_bounds(counts, _effective_users(rows), candidates, alpha)
        ends = mean_bounds(value_by_rank, full, fitting)
        if ends is None:
            return None
        share = float(weights.sum() / total)
        low, high = low + share * ends[0], high + share * ends[1]
    return low, high


def _group_grades(
    values_by_grade: Mapping[float, Floats],
) -> list[tuple[Floats, list[float]]]:
    """Return the distinct values by full rank, each with the grades that have them."""
    groups: list[tuple[Floats, list[float]]] = []
    for grade, values in values_by_grade.items():
        same = (grades for known, grades in groups if np.allclose(known, values, rtol=1e-12))
        if (grades := next(same, None)) is not None:
            grades.append(grade)
        else:
            groups.append((values, [grade]))
    return groups


def _effective_users(rows: pl.DataFrame) -> int:
    """Return the effective sample size (Σ w)² / Σ w² of weighted users, rounded down."""
    by_user = rows.group_by("user", maintain_order=True).agg(pl.col("weight").sum())
    weights = by_user["weight"].to_numpy()
    total = weights.sum()
    return int(total * total / (weights * weights).sum() + 1e-9)


def _overlap(a: Bounds, b: Bounds) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


_N_SINGLE_CUTS = 10  # first sampled ranks, each with its own bounds
_N_WIDE_CUTS = 20  # cuts of the sampled ranks below
_RANKS_PER_DEVIATION = 10  # of the grid, in the standard deviation of a sampled rank
_DIGITS = 6  # of a bound


@dataclass(frozen=True)
class RankBounds:
    """Bounds of the distribution of sampled ranks: low <= P(sampled rank <= cut) <= high.

    Attributes
    ----------
    candidates : Candidates
        How candidates were sampled.
    cuts : (n_cuts,) int64
        Sampled ranks.
    low, high : (n_cuts,) float64
        Bounds of the share of users with a sampled rank of at most the cut.
    """

    candidates: Candidates
    cuts: Ints
    low: Floats
    high: Floats


def rank_bounds(
    counts: Floats | Ints, n_users: int, candidates: Candidates, alpha: float
) -> RankBounds:
    """Return simultaneous bounds of P(sampled rank <= cut), with confidence 1 - alpha.

    Clopper and Pearson's intervals at each cut, with Bonferroni's correction over the cuts: valid
    for any number of users.

    Parameters
    ----------
    counts : (m + 1,) array
        Number, or share, of users by sampled rank; of all replicates, if there are several.
    n_users : int
        Number of users.
    candidates : Candidates
        How candidates were sampled.
    alpha : float
        One minus the confidence.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26(4), 404-413.  doi:10.1093/biomet/26.4.404
    """
    cuts = _cuts(candidates.negatives)
    below = np.cumsum(counts)[cuts - 1] * (n_users / counts.sum())
    level = alpha / (2 * len(cuts))
    low = special().betaincinv(np.maximum(below, 1e-9), n_users - below + 1, level)
    high = special().betaincinv(below + 1, np.maximum(n_users - below, 1e-9), 1 - level)
    return RankBounds(
        candidates,
        cuts,
        np.where(below > 0, low, 0.0),
        np.where(below < n_users, high, 1.0),
    )


def _cuts(negatives: int) -> Ints:
    """Return the first sampled ranks, then wider steps; bounds at all ranks would be too wide."""
    top = np.arange(1, min(_N_SINGLE_CUTS, negatives) + 1)
    if negatives <= _N_SINGLE_CUTS:
        return top
    below = np.rint(np.geomspace(_N_SINGLE_CUTS, negatives, _N_WIDE_CUTS)).astype(np.int64)
    return np.union1d(top, below)


def grid(depth: int, candidates: Candidates) -> Ints:
    """Return full ranks that represent all: the first `depth`, then those that samples distinguish.

    Their steps are the standard deviation of a sampled rank / `_RANKS_PER_DEVIATION`. It is
    proportional to sqrt(x (1 - x)) at x = (R - 1) / (N - 1).
    """
    count = int(np.ceil(4 * np.sqrt(candidates.negatives) * _RANKS_PER_DEVIATION))
    up = np.linspace(0.0, 1.0, count)
    down = 1.0 - up
    share = up * up / (up * up + down * down)
    spaced = np.rint(1 + candidates.others * share).astype(np.int64)
    return np.union1d(np.arange(1, min(depth, candidates.catalogue) + 1), spaced)


def mean_bounds(by_rank: Floats, ranks: Ints, cut_bounds: RankBounds) -> tuple[float, float] | None:
    """Return the smallest and the largest mean of M(R) over all distributions within the bounds.

    min and max of sum p(R) M(R) with p >= 0, sum p(R) = 1, low <= sum p(R) P(r <= cut | R) <= high:
    two linear programs, solved by HiGHS. There is no assumption on the shape of p.

    Parameters
    ----------
    by_rank : (n_ranks,) float64
        M(R) at the full ranks.
    ranks : (n_ranks,) int64
        Full ranks, from `grid`.
    cut_bounds : RankBounds
        Bounds of the distribution of sampled ranks.

    Returns
    -------
    tuple of float or None
        None if no distribution is within the bounds.
    """
    from scipy.optimize import linprog

    at_most = _cumulative_probabilities(
        ranks.tobytes(), cut_bounds.cuts.tobytes(), cut_bounds.candidates
    )
    solutions = [
        linprog(
            sign * by_rank,
            A_ub=np.vstack([at_most, -at_most]),
            b_ub=np.concatenate([cut_bounds.high, -cut_bounds.low]),
            A_eq=np.ones((1, len(ranks))),
            b_eq=[1.0],
            method="highs",
        )
        for sign in (1.0, -1.0)
    ]
    low, high = (solution.fun for solution in solutions)
    if low is None or high is None:
        return None
    return round(float(low), _DIGITS) + 0.0, round(float(-high), _DIGITS) + 0.0


@lru_cache(maxsize=8)
def _cumulative_probabilities(ranks: bytes, cuts: bytes, candidates: Candidates) -> Floats:
    """Return (n_cuts, n_ranks) P(r <= cut | R)."""
    full, cut = (np.frombuffer(each, dtype=np.int64) for each in (ranks, cuts))
    return np.cumsum(rank_probabilities(full, candidates), axis=1)[:, cut - 1].T
