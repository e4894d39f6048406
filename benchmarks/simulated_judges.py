"""Grades of people for a sample, of a judge for all: coverage, and what a judge is worth.

`concord.search.ppi` evaluates the first run of each row; the others start from the values of the
queries.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

import concord
from benchmarks.simulated import Floats
from benchmarks.tabulated import generator, markdown_table, rate
from concord.metrics_core.analyses.ppi.estimates import LabelValues
from concord.metrics_core.analyses.ppi.result import PoweredEstimate
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.metrics.label import parse

QUERIES = 1_000
RUNS = 1_000
SIZES = (20, 50, 200)
TOP = 15 / 16  # highest value of ERR@1 with grades up to 4
DEPTH = 10
HIT_RATE = 0.1
Draw = Callable[[np.random.Generator, int], Floats]
Judge = Callable[[np.random.Generator, Floats, Draw], Floats]


def _ndcg(rng: np.random.Generator, n: int) -> Floats:
    return TOP * rng.beta(1.2, 1.5, n)


def _rr(rng: np.random.Generator, n: int) -> Floats:
    ranks = rng.geometric(0.25, n)
    return np.where(ranks > DEPTH, 0.0, TOP / ranks)


def _hits(rng: np.random.Generator, n: int) -> Floats:
    return np.where(rng.random(n) < HIT_RATE, TOP, 0.0)


def _gaps(share: float) -> Draw:
    """Return differences: a share of the queries differs by -0.4 to 0.5."""
    return lambda rng, n: np.where(rng.random(n) < share, rng.uniform(-0.4, 0.5, n), 0.0)


WORLDS: dict[str, tuple[Draw, float]] = {  # name -> values, and their true mean
    "nDCG": (_ndcg, TOP * 1.2 / 2.7),
    "RR": (_rr, TOP * sum(0.25 * 0.75 ** (rank - 1) / rank for rank in range(1, DEPTH + 1))),
    "Hit, 10%": (_hits, TOP * HIT_RATE),
    "difference, 50% differ": (_gaps(0.5), 0.5 * 0.05),
    "difference, 10% differ": (_gaps(0.1), 0.1 * 0.05),
}


def _redrawn(share: float) -> Judge:
    """Return a judge whose values are random for a share of the queries."""
    return lambda rng, values, draw: np.where(
        rng.random(len(values)) < share, draw(rng, len(values)), values
    )


def _generous(rng: np.random.Generator, values: Floats, _: Draw) -> Floats:
    return np.minimum(values + rng.choice([0.0, 0.4], len(values), p=[0.7, 0.3]), TOP)


JUDGES: dict[str, Judge] = {
    "useless": _redrawn(1.0),
    "too generous": _generous,
    "wrong for 20%": _redrawn(0.2),
    "wrong for 2%": _redrawn(0.02),
    "perfect": _redrawn(0.0),
}


@dataclass(frozen=True)
class Run:
    """Queries of one run: which are sampled, and values of each world by people and judge."""

    is_sampled: np.ndarray
    people: Mapping[str, Floats]
    judge: Mapping[str, Floats]

    @classmethod
    def drawn(cls, run: int, sampled: int, judge: str, queries: int = QUERIES) -> "Run":
        """Return a run with this number as its seed."""
        rng = generator(sampled, run)
        is_sampled = np.isin(np.arange(queries), rng.choice(queries, sampled, replace=False))
        people = {world: draw(rng, queries) for world, (draw, _) in WORLDS.items()}
        by_judge = {
            world: JUDGES[judge](rng, people[world], draw) for world, (draw, _) in WORLDS.items()
        }
        return cls(is_sampled, people, by_judge)

    def by_values(self) -> list[PoweredEstimate]:
        """Return an estimate of each world from the values of its queries."""
        label, conventions = parse("ERR@1"), preset("standard")
        config = ComparisonConfig(
            conventions=conventions, labels=[label], primary=["ERR@1"], baseline="-"
        )
        estimates = []
        for world in WORLDS:
            people, judge = (_sides(v[world]) for v in (self.people, self.judge))
            sampled = {side: values[self.is_sampled] for side, values in people.items()}
            values = LabelValues(label, config, self.is_sampled, sampled, judge)
            if "differ" not in world:
                estimates.append(values.mean("+"))
                continue
            pair = values.pair("+", "-", {"+": 0.0, "-": 0.0})
            low, high = pair.interval(config.confidence)
            estimates.append(replace(pair.estimate, ci_low=low, ci_high=high))
        return estimates

    def by_ppi(self) -> list[PoweredEstimate]:
        """Return an estimate of each world by `concord.search.ppi`.

        Each model returns a document of its own for each query. ERR@1 of grade log2(1 + 16 v) is v.
        """
        ids = [f"q{number:04}" for number in range(len(self.is_sampled))]
        models, tables = {}, []
        for world in WORLDS:
            people, judge = (_sides(v[world]) for v in (self.people, self.judge))
            for side in "+-":
                documents = {"user": ids, "item": [world + side] * len(ids)}
                models[world + side] = pl.DataFrame({**documents, "rank": 1})
                grade, predicted = (np.log2(1 + 16 * v[side]) for v in (people, judge))
                grade = np.where(self.is_sampled, grade, np.nan)
                tables.append(pl.DataFrame({**documents, "grade": grade, "predicted": predicted}))
        result = concord.search.ppi(
            models,
            pl.concat(tables).with_columns(pl.col("grade").fill_nan(None)),
            metrics=["ERR@1"],
            baseline=next(iter(models)),
            sample="random",
            conventions=preset(
                "standard", user_empty_truth="zero", err_max_grade=4, relevance_threshold=1e-9
            ),
        )
        differences = (
            replace(row, ci_low=row.single_low, ci_high=row.single_high)
            for row in result.differences
        )
        rows = {(row.model, row.versus): row for row in (*result.means, *differences)}
        return [rows[f"{world}+", f"{world}-" if "differ" in world else None] for world in WORLDS]


def _sides(values: Floats) -> dict[str, Floats]:
    """Return values of two models with this difference."""
    return {"+": np.maximum(values, 0.0), "-": np.maximum(-values, 0.0)}


def _check_first(run: Run, estimates: Sequence[PoweredEstimate]) -> None:
    """Raise an AssertionError unless `concord.search.ppi` gives the same estimates."""
    for own, public in zip(estimates, run.by_ppi(), strict=True):
        for name in ("estimate", "ci_low", "ci_high"):
            values = (getattr(each, name) or 0.0 for each in (own, public))
            assert math.isclose(*values, rel_tol=1e-9, abs_tol=1e-12), (own, public)


@dataclass
class Cell:
    """Sums over the runs of a row: of runs with an interval, covering intervals, numbers."""

    tested: int = 0
    covered: int = 0
    people_covered: int = 0
    errors: float = 0.0
    labels: float = 0.0

    def add(self, row: PoweredEstimate, truth: float) -> None:
        """Add a run."""
        self.errors += row.estimate - truth
        if row.ci_low is None or row.ci_high is None:
            return
        self.tested += 1
        self.covered += row.ci_low <= truth <= row.ci_high
        ends = row.people_low, row.people_high
        self.people_covered += ends[0] is not None and ends[0] <= truth <= (ends[1] or 0.0)
        self.labels += row.effective_labels or math.nan


def simulate(runs: int, sampled: int, judge: str, queries: int = QUERIES) -> dict[str, Cell]:
    """Return the sums of each world."""
    cells = {world: Cell() for world in WORLDS}
    for number in range(runs):
        run = Run.drawn(number, sampled, judge, queries)
        estimates = run.by_values()
        if not number:
            _check_first(run, estimates)
        for (world, (_, truth)), row in zip(WORLDS.items(), estimates, strict=True):
            cells[world].add(row, truth)
    return cells


def _judges() -> list[str]:
    coverage, worth = [], []
    cells = {(j, n): simulate(RUNS, n, j) for j in JUDGES for n in SIZES}
    for world in WORLDS:
        people = [_rate(cells["useless", n][world], "people_covered") for n in SIZES]
        coverage.append((world, "people alone", *people))
        for judge in JUDGES:
            row = [cells[judge, n][world] for n in SIZES]
            coverage.append((world, judge, *(_rate(cell, "covered") for cell in row)))
            worth.append(
                (
                    world,
                    judge,
                    *(f"{c.labels / c.tested:.0f}" if c.tested >= RUNS / 2 else "–" for c in row),
                    *(f"{c.errors / RUNS:+.4f}" for c in row),
                )
            )
    sizes = [f"{n} sampled" for n in SIZES]
    return [
        "## Grades of people for a sample, of a judge for all queries",
        "",
        f"{QUERIES:,} queries, of which people judge a random sample; {RUNS:,} runs a row, the "
        "first also by `concord.search.ppi`. Coverage of the 95%",
        "interval of a mean or of one difference. The judge's values are random for all queries "
        "(useless), for 20% or 2% of them; 0.4 too high for",
        "30% (too generous); or those of people. A difference has an interval if ten sampled "
        "queries differ: `–` where less than half of the",
        "runs have one.",
        "",
        *markdown_table(("values", "judge", *sizes), coverage, text_columns=2),
        "",
        "Mean number of queries judged by people that would give the same interval without the "
        "judge, and mean error of the estimate.",
        "",
        *markdown_table(
            ("values", "judge", *sizes, *(f"error, {n}" for n in SIZES)), worth, text_columns=2
        ),
    ]


def _rate(cell: Cell, count: str) -> str:
    return rate(getattr(cell, count), cell.tested) if cell.tested >= RUNS / 2 else "–"


PARTS = (_judges,)
