"""A plan from users' values: frames as `evaluate` gives them, one a model."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.comparing.evidence.aligned import Aligned, align
from concord.metrics_core.comparing.evidence.asked import Effect, absolute
from concord.metrics_core.conventions.conventions import UnitMean
from concord.metrics_core.metrics.catalogue import parse
from concord.metrics_core.planning.pairs import Observed, Wanted, planned, spread_of
from concord.metrics_core.planning.parts import PlannedPair
from concord.metrics_core.reading.formats.frames import table_of
from concord.metrics_core.scoring.numerics.clusters import Clusters
from concord.metrics_core.scoring.score import MEAN_WEIGHT
from concord.metrics_core.statistics.paired import Paired, compare
from concord.metrics_core.statistics.pairs import pairs

Values = Mapping[str, Any]  # model -> a frame of users' values, or a result of `evaluate`


def planned_values(
    values: Values,
    labels: Sequence[str] | None,
    *,
    baseline: str,
    effect: Effect | None,
    power: float,
    confidence: float,
) -> Iterator[PlannedPair]:
    """One a label and model that is not the baseline; corrected for all pairs of models on all labels.

    Users without a value (NaN or null) with either model take no part in a difference. Results of requests are planned
    by user.
    """
    tables = {model: _table(model, given) for model, given in values.items()}
    named = _labels(tables, labels)
    aligned = align({m: [table] for m, table in tables.items()}, mean=_unit_mean(values))
    every = pairs(list(tables), baseline)
    found = {
        label: compare(
            aligned.values(label, "skip"),
            every,
            confidence=confidence,
            clusters=_whose(aligned, label, values),
        )
        for label in named
    }
    tested = sum(not np.isnan(each.p) for each_of in found.values() for each in each_of)
    for label in named:
        for (model, other), pair in zip(every, found[label], strict=True):
            if other == baseline:
                asked = None if effect is None else absolute(effect, pair.mean_b)
                yield planned(
                    _observed(label, model, baseline, pair, confidence),
                    Wanted(power, 1 - confidence, asked or None),
                    min_effect=0.0,
                    tests=max(tested, 1),
                )


def _observed(label: str, model: str, baseline: str, pair: Paired, confidence: float) -> Observed:
    known = not np.isnan(pair.ci_low)
    spread = spread_of(pair.ci_low, pair.ci_high, pair.n_users, confidence) if known else None
    return Observed(pair.n_users, pair.n_nonzero, spread, None, label, model, baseline)


def _whose(aligned: Aligned, label: str, values: Values) -> Clusters | None:
    """Of results of `evaluate` by their conventions, which frames have not."""
    task = getattr(next(iter(values.values())), "task", None)
    return aligned.clusters if task is None else aligned.whose(parse(label), task.conventions)


def _unit_mean(values: Values) -> UnitMean | None:
    """Over what means are taken, where all values are results of requests; refused where only some are."""
    means = {model: getattr(given, "unit_mean", None) for model, given in values.items()}
    if len(set(means.values())) > 1:
        told = ", ".join(f"{model} has unit_mean {mean}" for model, mean in means.items())
        raise refuse("values", f"are of different units: {told}", "evaluate all models alike")
    found: UnitMean | None = next(iter(means.values()))
    return found


def _table(model: str, given: Any) -> pl.DataFrame:
    """The frame of a model, with the columns that hold numbers as float64."""
    held = getattr(given, "by_id", getattr(given, "per_user", given))
    table = pl.DataFrame(table_of(held, model))
    if "user" not in table.columns:
        what = f"has no column 'user' (there are: {', '.join(table.columns) or 'none'})"
        raise refuse(model, what, "give users' values: `user`, then a column a label")
    if not hasattr(given, "task") and any(name.startswith(MEAN_WEIGHT) for name in table.columns):
        what = (
            "holds values of `propensity.normalised: over_all`, whose means are no means over users"
        )
        raise refuse(model, what, "give the result of `evaluate` itself")
    if twice := int(table["user"].is_duplicated().sum()):
        raise refuse(model, f"names users more than once: {twice:,} rows", "give one row a user")
    return table


def _labels(tables: Mapping[str, pl.DataFrame], labels: Sequence[str] | None) -> list[str]:
    """The labels that are asked for, else all; refused where a model lacks one or has no numbers in it."""
    first = next(iter(tables.values()))
    every = [name for name in first.columns if name != "user" and not name.startswith("#")]
    named = every if labels is None else [*labels]
    problems = [
        Problem(model, f"has no numbers in a column {label!r}", "give every model the same labels")
        for model, table in tables.items()
        for label in named
        if label not in table.columns or not table[label].dtype.is_numeric()
    ]
    if problems:
        raise InputError(problems)
    if not named:
        raise refuse("metrics", "there is none", "name a label such as 'nDCG@10'")
    return named
