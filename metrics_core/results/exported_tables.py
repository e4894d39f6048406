"""The tables of a comparison that are written as CSV or parquet."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from concord.metrics_core.results.base import frame_of, schema_of
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import (
    BestShare,
    Gap,
    InputFile,
    Metric,
    SegmentCell,
)
from concord.metrics_core.results.replicates import ReplicatedDifference

Row = tuple[Any, ...]  # in the order of the columns in `_TABLES`
_TEXT, _NUMBER, _COUNT, _FLAG = pl.String, pl.Float64, pl.Int64, pl.Boolean
_SEGMENTATION = {"segmentation": _TEXT, "kind": _TEXT}


def export_tables(comparison: Comparison) -> dict[str, pl.DataFrame]:
    """Return name -> table; an empty part gives an empty table with the same columns.

    Only comparisons with replicates have `replicates` and `replicate_differences`.
    """
    return {
        "metrics": frame_of(Metric, comparison.metrics),
        "leaderboard": comparison.leaderboard,
        "differences": comparison.differences,
        "best": frame_of(BestShare, comparison.best),
        "inputs": frame_of(InputFile, comparison.provenance.inputs),
        **{
            name: pl.DataFrame(list(rows(comparison)), schema=schema, orient="row")
            for name, (rows, schema) in _TABLES.items()
        },
        "gaps": _gaps(comparison),
        **_replicates(comparison),
    }


def _replicates(comparison: Comparison) -> dict[str, pl.DataFrame]:
    """Return the mean of each replicate, and each difference over new replicates."""
    replicates = comparison.replicates
    if replicates is None:
        return {}
    means = [
        (each.label, each.model, number, mean)
        for each in replicates.scores
        for number, mean in zip(replicates.models[each.model], each.means, strict=True)
    ]
    columns = {**dict.fromkeys(("label", "model", "replicate"), _TEXT), "mean": _NUMBER}
    return {
        "replicates": pl.DataFrame(means, schema=columns, orient="row"),
        "replicate_differences": frame_of(ReplicatedDifference, replicates.pairs),
    }


def _distributions(comparison: Comparison) -> Iterator[Row]:
    for each in comparison.distributions:
        for percentile, difference in enumerate(each.quantiles):
            yield each.label, each.a, each.b, percentile, difference


def _tradeoffs(comparison: Comparison) -> Iterator[Row]:
    for each in comparison.tradeoffs:
        for point in each.points:
            yield each.x, each.y, point.model, point.x, point.y, ", ".join(point.dominated_by)


def _segments(comparison: Comparison) -> Iterator[Row]:
    for each in comparison.segments:
        yield from ((each.name, each.kind, *vars(cell).values()) for cell in each.cells)


def _gaps(comparison: Comparison) -> pl.DataFrame:
    """Return one row per gap; columns of compared gaps only if a segmentation compares gaps."""
    gaps = [(each, gap) for each in comparison.segments for gap in each.gaps]
    names = [(each.name, each.kind) for each, _ in gaps]
    segmentations = pl.DataFrame(names, schema=_SEGMENTATION, orient="row")
    return pl.concat([segmentations, frame_of(Gap, [gap for _, gap in gaps])], how="horizontal")


def _warnings(comparison: Comparison) -> Iterator[Row]:
    for each in comparison.warnings:
        yield each.code, each.severity, ", ".join(each.models), _as_text(each.details)


def _panel(comparison: Comparison) -> Iterator[Row]:
    """Yield one row per primary label, definition and model."""
    for entry in comparison.panel:
        for definition in entry.definitions:
            names = entry.metric, definition.name, definition.changed_text
            for model, value in definition.values.items():
                rank, verdict = definition.ranks[model], definition.verdicts.get(model)
                yield *names, definition.top_two_hold, model, value, rank, verdict


def _panel_presets(comparison: Comparison) -> Iterator[Row]:
    """Yield one row per primary label and preset: its definition, or why it has no values."""
    for entry in comparison.panel:
        for definition in entry.definitions:
            rows = zip(definition.presets, definition.meanings, strict=True)
            for preset, meaning in rows:
                yield entry.metric, preset, definition.name, meaning, None
        for excluded in entry.excluded:
            yield entry.metric, excluded.preset, None, None, excluded.reason


def _quality(comparison: Comparison) -> Iterator[Row]:
    """Yield one row per count or text, such as `users.without_list`."""
    for role, content in comparison.quality.items():
        for finding, value in _leaves(content, ""):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            number, text = (value, None) if is_number else (None, value)
            yield role, finding, number, None if text is None else _as_text(text)


def _leaves(content: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the dotted path and value of each leaf; entries of a list are numbered from 1."""
    if isinstance(content, list):
        content = {str(n): each for n, each in enumerate(content, 1)}
    if isinstance(content, Mapping):
        for name, inner in content.items():
            yield from _leaves(inner, f"{path}.{name}" if path else name)
    else:
        yield path, content


def _conventions(comparison: Comparison) -> Iterator[Row]:
    """Yield one row per convention; those that are overridden for one metric name it."""
    for each in comparison.conventions.values:
        yield each.name, None, _as_text(each.value), each.meaning, ", ".join(each.changes)
    for metric, changed in comparison.conventions.overrides.items():
        for name, value in changed.items():
            yield name, metric, _as_text(value), None, None


def _as_text(value: Any) -> str:
    """Return a text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _curves(comparison: Comparison) -> Iterator[Row]:
    """Yield the mean of every label with a cutoff, for `dvc plots`."""
    for score in comparison.scores:
        metric = comparison.metric(score.label)
        if metric.k is not None and score.mean is not None:
            yield metric.stem, metric.k, score.model, score.mean


_Schema = dict[str, type[pl.DataType]]
_TABLES: Mapping[str, tuple[Callable[[Comparison], Iterator[Row]], _Schema]] = {
    "distributions": (
        _distributions,
        dict.fromkeys(("label", "a", "b"), _TEXT) | {"percentile": _COUNT, "difference": _NUMBER},
    ),
    "tradeoffs": (
        _tradeoffs,
        dict.fromkeys(("x_label", "y_label", "model"), _TEXT)
        | {"x": _NUMBER, "y": _NUMBER, "dominated_by": _TEXT},
    ),
    "segments": (_segments, _SEGMENTATION | schema_of(SegmentCell)),
    "warnings": (_warnings, dict.fromkeys(("code", "severity", "models", "details"), _TEXT)),
    "panel": (
        _panel,
        dict.fromkeys(("label", "definition", "changed"), _TEXT)
        | {"top_two_hold": _FLAG, "model": _TEXT}
        | {"value": _NUMBER, "rank": _COUNT, "verdict": _TEXT},
    ),
    "panel_presets": (
        _panel_presets,
        dict.fromkeys(("label", "preset", "definition", "meaning", "exclusion_reason"), _TEXT),
    ),
    "quality": (_quality, {"role": _TEXT, "finding": _TEXT, "number": _NUMBER, "text": _TEXT}),
    "conventions": (
        _conventions,
        dict.fromkeys(("convention", "metric", "value", "meaning", "changes"), _TEXT),
    ),
    "curves": (_curves, {"metric": _TEXT, "k": _COUNT, "model": _TEXT, "value": _NUMBER}),
}
