"""What a comparison rests on, in memory, with users' values that a test chooses."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl

from concord.metrics_core.comparison.compute import compare_values_of
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.provenance import conventions
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.errors import ArgumentNames
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.evaluation.summary import summarise
from concord.metrics_core.metrics.label import is_pooled, parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import SegmentCell, Verdict

Values = Mapping[str, Sequence[float | None]]  # label -> one value a user; None: left out
EMPTY_TABLE = pl.DataFrame()
_CHOICES = (
    "title", "baseline", "confidence", "adjustment", "wilcoxon", "resamples", "seed", "panel", "primary", "segments",
)  # fmt: skip


def config_for(labels: Sequence[str], baseline: str, **settings: Any) -> ComparisonConfig:
    """What is asked of these labels; all are primary unless `primary` says otherwise. Other settings are knobs."""
    effects = settings.pop("min_effect", 0.005)
    selected = {name: settings.pop(name) for name in list(settings) if name in _CHOICES}
    results = [parse(label) for label in labels]
    defaults: dict[str, Any] = {
        "title": "Demo shop",
        "primary": list(labels),
        "baseline": baseline,
        "confidence": 0.95,
        "adjustment": "holm",
        "wilcoxon": False,
        "resamples": 199,
        "seed": 1,
        "panel": False,
    }
    return ComparisonConfig(
        conventions=preset("standard", **settings),
        labels=results,
        ks=sorted({label.k for label in results if label.k is not None}),
        min_effect=effects,
        settings=ArgumentNames(""),
        **{**defaults, **selected},
    )


def evaluated_of(config: ComparisonConfig, values: Values) -> ModelResult:
    """The results of one model, users numbered from 0; its lists are not known."""
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
    """The data behind all models: truth, train, items, users and what was found in the truth, as far as they matter."""
    known: dict[str, Any] = {
        "truth": EMPTY_TABLE,
        "train": None,
        "items": None,
        "users": None,
        "truth_quality": {},
    }
    return EvaluationData(**(known | tables), connecting=connecting)


@contextmanager
def connecting(_: Iterable[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def inputs_of(values: Mapping[str, Values], **settings: Any) -> ComparisonInput:
    """Of models with values by label; the first is the baseline."""
    config = config_for(list(next(iter(values.values()))), next(iter(values)), **settings)
    models = {model: evaluated_of(config, of_labels) for model, of_labels in values.items()}
    return ComparisonInput(config, models, evaluation_data())


def comparison_of(values: Mapping[str, Values], **settings: Any) -> Comparison:
    """Return the comparison of models with values by label; the first is the baseline."""
    inputs = inputs_of(values, **settings)
    return replace(compare_values_of(inputs), conventions=conventions(inputs.config))


def cell_of(model: str, segment: str, verdict: Verdict, *, turns: bool, label: str) -> SegmentCell:
    """Return a segment's cell of which only the verdict is known, and whether it reverses the order over all users."""
    return SegmentCell(label, segment, model, None, None, None, 0, None, None, None, None, None, verdict, turns)  # fmt: skip
