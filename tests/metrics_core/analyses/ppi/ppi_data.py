"""Queries that a judge graded all, and people some: grades, and lists of two models."""

from typing import Any

import numpy as np
import polars as pl

import concord as cc
from concord.metrics_core.analyses.ppi.result import PredictionPowered

DOCUMENTS = 8
ZERO = {"preset": "standard", "user_empty_truth": "zero"}


def small_truth() -> pl.DataFrame:
    """Return six queries with documents a and b; people judged q1, q3 and q5."""
    rows = [
        ("q1", 1, 0, 1.0, 0.0),
        ("q2", None, None, 0.0, 1.0),
        ("q3", 0, 1, 1.0, 0.0),
        ("q4", None, None, 1.0, 0.0),
        ("q5", 0, 0, 0.0, 0.0),
        ("q6", None, None, 1.0, 1.0),
    ]
    return pl.DataFrame(
        [
            (query, document, grade, predicted)
            for query, *grades in rows
            for document, grade, predicted in zip("ab", grades[:2], grades[2:], strict=True)
        ],
        schema={"user": str, "item": str, "grade": float, "predicted": float},
        orient="row",
    )


SMALL_MODELS = {
    "ab": {f"q{number}": ["a", "b"] for number in range(1, 7)},
    "ba": {f"q{number}": ["b", "a"] for number in range(1, 7)},
}


def drawn(
    rng: np.random.Generator, queries: int, sampled: int, noise: float, lead: float = 0.0
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Return lists of two models, the second better by `lead`, and a ground truth.

    The judge replaces a grade of 0 to 2 by a random one with probability `noise`.
    """
    shape = (queries, DOCUMENTS)
    relevance = rng.normal(size=shape) + 0.5 * rng.normal(size=(queries, 1))
    grades = np.digitize(relevance, [0.5, 1.5])
    predicted = np.where(rng.random(shape) < noise, rng.integers(0, 3, shape), grades)
    ids = {
        "user": np.repeat([f"q{number:04}" for number in range(queries)], DOCUMENTS),
        "item": np.tile([f"d{number}" for number in range(DOCUMENTS)], queries),
    }
    models = {
        name: pl.DataFrame({**ids, "score": (weight * relevance + rng.normal(size=shape)).ravel()})
        for name, weight in (("bm25", 0.5), ("dense", 0.5 + lead))
    }
    in_sample = np.zeros(queries, dtype=bool)
    in_sample[rng.choice(queries, sampled, replace=False)] = True
    truth = pl.DataFrame(
        {
            **ids,
            "grade": np.where(in_sample[:, None], grades, np.nan).ravel(),
            "predicted": predicted.ravel().astype(float),
        }
    ).with_columns(pl.col("grade").fill_nan(None))
    return models, truth


def estimated(models: Any, truth: Any, **options: Any) -> PredictionPowered:
    defaults: dict[str, Any] = {
        "metrics": ["nDCG@5"],
        "baseline": next(iter(models)),
        "sample": "random",
        "conventions": ZERO,
    }
    return cc.search.ppi(models, truth, **{**defaults, **options})
