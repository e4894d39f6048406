"""Small lists of sampled candidates."""

from typing import Any, Literal

import numpy as np
import polars as pl

import concord as cc
from concord.metrics_core.conventions.option_types import CandidatesOptions

NEGATIVES, CATALOGUE = 4, 30
RELEVANT_ITEM = 0  # the item that everybody wants


def lists(ranks: list[int], negatives: int = NEGATIVES) -> pl.DataFrame:
    """User u0, u1 …: the wanted item at these sampled ranks, others around it."""
    rows = []
    for number, rank in enumerate(ranks):
        others = list(range(1, negatives + 1))
        items = [*others[: rank - 1], RELEVANT_ITEM, *others[rank - 1 :]]
        rows += [(f"u{number}", item, position) for position, item in enumerate(items, 1)]
    return pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")


def truth(users: int, grades: tuple[float, ...] = (1.0,)) -> pl.DataFrame:
    """One wanted item a user."""
    cycle = [grades[n % len(grades)] for n in range(users)]
    names = [f"u{n}" for n in range(users)]
    return pl.DataFrame({"user": names, "item": [RELEVANT_ITEM] * users, "grade": cycle})


def conventions(
    negatives: int = NEGATIVES,
    catalogue: int | Literal["items", "train"] = CATALOGUE,
    **options: Any,
) -> cc.metrics.Conventions:
    """Standard, with candidates."""
    declaration: CandidatesOptions = {
        "negatives": negatives,
        "catalogue": catalogue,
        "sampling": "uniform",
    }
    return cc.preset("standard", candidates=declaration, **options)


def drawn(full: np.ndarray, negatives: int, catalogue: int, seed: int) -> list[int]:
    """Sampled ranks of these full ranks."""
    rng = np.random.default_rng(seed)
    ranks: list[int] = (rng.hypergeometric(full - 1, catalogue - full, negatives) + 1).tolist()
    return ranks
