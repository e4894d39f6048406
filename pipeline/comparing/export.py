"""The parts of comparison.json as tables, one row a number that the report shows."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from pipeline.comparing.circumstances import CIRCUMSTANCES, Comparison, Row, Tables, Types

_TEXT, _NUMBER, _COUNT, _FLAG = pl.String, pl.Float64, pl.Int64, pl.Boolean


def exports(comparison: Comparison) -> dict[str, pl.DataFrame]:
    """Name -> table; a part that is missing gives an empty table with the same columns."""
    return {
        name: pl.DataFrame(list(rows(comparison)), schema=dict(types))
        for name, (rows, types) in {**_TABLES, **CIRCUMSTANCES}.items()
    }


def _spreads(comparison: Comparison) -> Iterator[Row]:
    for row in comparison.get("distributions") or []:
        for percentile, difference in enumerate(row["quantiles"]):
            yield _picked(row, "label", "a", "b") | {
                "percentile": percentile,
                "difference": difference,
            }


def _best(comparison: Comparison) -> Iterator[Row]:
    for row in comparison.get("best") or []:
        yield _picked(row, "label", "model", "probability", "resamples")


def _tradeoffs(comparison: Comparison) -> Iterator[Row]:
    for entry in comparison.get("tradeoffs") or []:
        for point in entry["points"]:
            yield {
                "x_label": entry["x"],
                "y_label": entry["y"],
                **_picked(point, "model", "x", "y", "pareto"),
            }


def _segments(comparison: Comparison) -> Iterator[Row]:
    for entry in comparison.get("segments") or []:
        for cell in entry["cells"]:
            yield {"segmentation": entry["name"], "kind": entry["kind"], **cell}


def _gaps(comparison: Comparison) -> Iterator[Row]:
    for entry in comparison.get("segments") or []:
        for gap in entry.get("gaps") or []:
            yield {"segmentation": entry["name"], "kind": entry["kind"], **gap}


def _examples(comparison: Comparison) -> Iterator[Row]:
    found: Row = comparison.get("examples") or {"users": []}
    for user in found["users"]:
        for model, items in ((found["a"], user["list_a"]), (found["b"], user["list_b"])):
            for item in items:
                yield {
                    "label": found["label"],
                    "user": user["user"],
                    "difference": user["difference"],
                    "model": model,
                    **_picked(item, "rank", "item", "title", "relevant"),
                }


def _warnings(comparison: Comparison) -> Iterator[Row]:
    for row in comparison.get("warnings") or []:
        yield {**_picked(row, "kind", "severity", "sentence", "fix"), "who": ", ".join(row["who"])}


def _picked(row: Mapping[str, Any], *names: str) -> Row:
    return {name: row[name] for name in names}


_GROUP: Types = {"segmentation": _TEXT, "kind": _TEXT, "label": _TEXT}
_TABLES: Tables = {
    "distributions": (
        _spreads,
        {"label": _TEXT, "a": _TEXT, "b": _TEXT, "percentile": _COUNT, "difference": _NUMBER},
    ),
    "best": (
        _best,
        {"label": _TEXT, "model": _TEXT, "probability": _NUMBER, "resamples": _COUNT},
    ),
    "tradeoffs": (
        _tradeoffs,
        {
            "x_label": _TEXT,
            "y_label": _TEXT,
            "model": _TEXT,
            "x": _NUMBER,
            "y": _NUMBER,
            "pareto": _FLAG,
        },
    ),
    "segments": (
        _segments,
        {
            **_GROUP,
            "segment": _TEXT,
            "model": _TEXT,
            "mean": _NUMBER,
            "ci_low": _NUMBER,
            "ci_high": _NUMBER,
            "n_users": _COUNT,
            "difference": _NUMBER,
            "diff_low": _NUMBER,
            "diff_high": _NUMBER,
            "n_nonzero": _COUNT,
            "p_adjusted": _NUMBER,
            "verdict": _TEXT,
            "turns": _FLAG,
        },
    ),
    "gaps": (
        _gaps,
        {
            **_GROUP,
            "model": _TEXT,
            "low_segment": _TEXT,
            "high_segment": _TEXT,
            "gap": _NUMBER,
            "ci_low": _NUMBER,
            "ci_high": _NUMBER,
        },
    ),
    "examples": (
        _examples,
        {
            "label": _TEXT,
            "user": _TEXT,
            "difference": _NUMBER,
            "model": _TEXT,
            "rank": _COUNT,
            "item": _TEXT,
            "title": _TEXT,
            "relevant": _FLAG,
        },
    ),
    "warnings": (
        _warnings,
        {"kind": _TEXT, "severity": _TEXT, "who": _TEXT, "sentence": _TEXT, "fix": _TEXT},
    ),
}
