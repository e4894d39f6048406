"""The other tables of comparison.json: metrics, leaderboard, curves; and tables as frames, for CSV and parquet."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from metrics_core.metrics.catalogue import Label
from pipeline.comparing.choices import Choices
from pipeline.comparing.evaluations import Evaluation

Row = dict[str, Any]

_TYPES: Mapping[str, Mapping[str, type[pl.DataType]]] = {
    "leaderboard": {
        "model": pl.String,
        "label": pl.String,
        "mean": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "n_users": pl.Int64,
        "n_undefined": pl.Int64,
        "best": pl.Boolean,
        "indistinguishable_from_best": pl.Boolean,
    },
    "differences": {
        "label": pl.String,
        "a": pl.String,
        "b": pl.String,
        "vs_baseline": pl.Boolean,
        "primary": pl.Boolean,
        "mean_a": pl.Float64,
        "mean_b": pl.Float64,
        "difference": pl.Float64,
        "ci_low": pl.Float64,
        "ci_high": pl.Float64,
        "relative": pl.Float64,
        "effect_size": pl.Float64,
        "better": pl.Float64,
        "equal": pl.Float64,
        "worse": pl.Float64,
        "n_users": pl.Int64,
        "n_nonzero": pl.Int64,
        "caution": pl.Boolean,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "p_wilcoxon": pl.Float64,
        "test": pl.String,
        "adjustment": pl.String,
        "min_effect": pl.Float64,
        "verdict": pl.String,
    },
    "metrics": {
        "label": pl.String,
        "name": pl.String,
        "stem": pl.String,
        "k": pl.Int64,
        "higher_is_better": pl.Boolean,
        "primary": pl.Boolean,
        "min_effect": pl.String,  # as params.yaml says it: a number, or a share of the baseline's mean
        "family": pl.String,
        "formula": pl.String,
        "source": pl.String,
    },
    "curves": {"metric": pl.String, "k": pl.Int64, "model": pl.String, "value": pl.Float64},
}


def metric_rows(choices: Choices) -> list[Row]:
    """What the reader must know of every label, in report order."""
    return [
        {
            "label": str(label),
            "name": label.name,
            "stem": label.stem,
            "k": label.k,
            "higher_is_better": label.metric.higher_is_better,
            "primary": str(label) in choices.primary,
            "min_effect": str(choices.min_effects[str(label)]),
            "family": label.metric.family,
            "formula": label.metric.formula,
            "source": label.metric.source,
        }
        for label in choices.labels
    ]


def leaderboard_rows(
    choices: Choices,
    evaluations: Mapping[str, Evaluation],
    differences: Iterable[Row],
    *,
    alpha: float,
) -> list[Row]:
    """One row a label and model, from the summaries; models with the best mean share `best`."""
    tests = {(row["label"], frozenset((row["a"], row["b"]))): row for row in differences}
    rows = []
    for label in choices.labels:
        text = str(label)
        best = _best(label, {model: e.mean(text) for model, e in evaluations.items()})
        is_primary = text in choices.primary  # every pair was compared
        for model, evaluation in evaluations.items():
            others = [one for one in best if one != model] if is_primary else []
            against = [tests[text, frozenset((model, one))] for one in others]
            close = model in best or _none_is_better(label, model, against, alpha)
            rows.append(
                {
                    "model": model,
                    "label": text,
                    **evaluation.summary["metrics"][text],
                    "best": model in best,
                    "indistinguishable_from_best": close if is_primary else None,
                }
            )
    return rows


def _best(label: Label, means: Mapping[str, float | None]) -> list[str]:
    known = {model: mean for model, mean in means.items() if mean is not None}
    if not known:
        return []
    value = (max if label.metric.higher_is_better else min)(known.values())
    return [model for model, mean in known.items() if mean == value]


def _none_is_better(
    label: Label, model: str, against_best: Sequence[Row], alpha: float
) -> bool | None:
    """Is there one of the best that is not significantly better? None where nothing can be tested.

    Significantly worse it can be, too: means are over each model's users, a test is over those whom both have.
    """
    if not against_best or any(row["verdict"] == "no_interval" for row in against_best):
        return None
    if any(row["difference"] is None for row in against_best):
        return None
    return any(
        row["p_adjusted"] is None or row["p_adjusted"] >= alpha or _ahead(label, model, row)
        for row in against_best
    )


def _ahead(label: Label, model: str, row: Row) -> bool:
    gained = row["difference"] if row["a"] == model else -row["difference"]
    return bool(gained > 0 if label.metric.higher_is_better else gained < 0)


def curve_rows(choices: Choices, leaderboard: Iterable[Row]) -> list[Row]:
    """The mean by cutoff of every label that has one, for `dvc plots`."""
    labels = {str(label): label for label in choices.labels}
    rows = [(labels[row["label"]], row) for row in leaderboard]
    return [
        {"metric": label.stem, "k": label.k, "model": row["model"], "value": row["mean"]}
        for label, row in rows
        if label.k is not None and row["mean"] is not None
    ]


def frame(name: str, rows: Sequence[Row]) -> pl.DataFrame:
    """The table of that name, with types that do not depend on what happens to be null."""
    types = _TYPES[name]
    return pl.DataFrame(
        [{column: row[column] for column in types} for row in rows], schema=dict(types)
    )
