"""Inputs of a comparison in memory, with values per user that a test sets."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

from concord.metrics_core.comparison.compute import collect_conventions, compare_user_values
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.differences import compare_pairs
from concord.metrics_core.comparison.families import decide_differences
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.errors import argument_names
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.evaluation.summary import summarise
from concord.metrics_core.metrics.label import is_pooled, parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, SegmentCell, Verdict

Values = Mapping[str, Sequence[float | None]]  # label -> value of each user; None: left out
EMPTY_TABLE = pl.DataFrame()
_CONFIG_FIELDS = (
    "title", "baseline", "confidence", "family", "tried", "wilcoxon", "resamples", "seed",
    "panel", "primary", "segments", "gate",
)  # fmt: skip


def config_for(labels: Sequence[str], baseline: str, **settings: Any) -> ComparisonConfig:
    """Return the configuration of a comparison of these labels; by default all are primary.

    Settings that are not fields of the configuration are conventions.
    """
    min_effect = settings.pop("min_effect", 0.005)
    fields = {name: settings.pop(name) for name in list(settings) if name in _CONFIG_FIELDS}
    parsed = [parse(label) for label in labels]
    defaults: dict[str, Any] = {
        "title": "Demo shop",
        "primary": list(labels),
        "baseline": baseline,
        "confidence": 0.95,
        "wilcoxon": False,
        "resamples": 199,
        "seed": 1,
        "panel": False,
    }
    return ComparisonConfig(
        conventions=preset("standard", **settings),
        labels=parsed,
        min_effect=min_effect,
        settings=argument_names(""),
        **{**defaults, **fields},
    )


def model_result(config: ComparisonConfig, values: Values) -> ModelResult:
    """Return the result of one model without lists; users are numbered from 0."""
    n = len(next(iter(values.values())))
    frame = pl.DataFrame({"user": np.arange(n), **values}, strict=False)
    frame = frame.with_columns(pl.col(list(values)).cast(pl.Float64))
    summary = {"metrics": {label: _summary(config, label, frame[label]) for label in values}}
    return ModelResult(frame, EMPTY_TABLE, EMPTY_TABLE, summary, {})


def _summary(config: ComparisonConfig, text: str, column: pl.Series) -> dict[str, Any]:
    label, values = parse(text), column.drop_nulls().to_numpy()
    parts = (values, np.ones_like(values)) if is_pooled(label, config.conventions) else ()
    summary = summarise(
        label, values, config.conventions, confidence=config.confidence, parts=parts
    )
    return {
        name: None if math.isnan(number) else number for name, number in summary.numbers.items()
    }


def evaluation_data(**tables: Any) -> EvaluationData:
    """Return the data of an evaluation: `tables`, and defaults for the others."""
    return EvaluationData(**{"truth": EMPTY_TABLE, **tables}, connect=connect)


@contextmanager
def connect(_: Iterable[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def inputs_of(values: Mapping[str, Values], **settings: Any) -> ComparisonInput:
    """Return inputs of models with values by label; the first model is the baseline."""
    config = config_for(list(next(iter(values.values()))), next(iter(values)), **settings)
    models = {model: model_result(config, by_label) for model, by_label in values.items()}
    return ComparisonInput(config, models, evaluation_data())


def comparison_of(values: Mapping[str, Values], **settings: Any) -> Comparison:
    """Return the comparison of models with values by label; the first is the baseline."""
    inputs = inputs_of(values, **settings)
    return replace(compare_user_values(inputs), conventions=collect_conventions(inputs.config))


def differences_of(inputs: ComparisonInput) -> list[Difference]:
    """Return the differences of all pairs of models."""
    return decide_differences(inputs.config, compare_pairs(inputs), len(inputs.models))


def cell_of(
    model: str, segment: str, verdict: Verdict, *, is_reversed: bool, label: str
) -> SegmentCell:
    """Return a cell of a segment without numbers, with a verdict and the flag for a reversal."""
    return SegmentCell(
        label=label,
        segment=segment,
        model=model,
        mean=None,
        ci_low=None,
        ci_high=None,
        n_users=0,
        difference=None,
        diff_low=None,
        diff_high=None,
        level=0.95,
        n_nonzero=None,
        p_adjusted=None,
        verdict=verdict,
        is_reversed=is_reversed,
    )
