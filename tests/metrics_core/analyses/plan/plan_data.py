"""Data of a shop: 300 users with one relevant item each, and models with different hit rates."""

from typing import Any

import numpy as np
import polars as pl

import concord as cc

USERS = 300
ITEMS = [f"i{number}" for number in range(20)]
GATE = {
    "guardrails": {"nDCG@5": 0.001, "R@5": 0.2, "Coverage@5": 0.5},
    "segments": {"country": {"R@5": "1%"}},
    "success": ["nDCG@5", "R@5"],
}
METRICS = ["nDCG@5", "R@5", "Coverage@5"]


def tables() -> dict[str, Any]:
    """Return the lists of three models, the truth, and the country of each user."""
    rng = np.random.default_rng(14)
    users = [f"u{number}" for number in range(USERS)]
    relevant = {user: [str(rng.choice(ITEMS))] for user in users}
    luck = rng.random(USERS)
    models = {
        name: {
            user: _list(rng, relevant[user][0], is_hit=bool(draw < rate))
            for user, draw in zip(users, 0.7 * luck + 0.3 * rng.random(USERS), strict=True)
        }
        for name, rate in (("popularity", 0.4), ("als", 0.45), ("ease", 0.5))
    }
    countries = {
        "user": users,
        "country": ["no" if number % 4 == 0 else "se" for number in range(USERS)],
    }
    return {"models": models, "truth": relevant, "users": countries}


def _list(rng: np.random.Generator, relevant: str, *, is_hit: bool) -> list[str]:
    recommended = [item for item in rng.permutation(ITEMS)[:6].tolist() if item != relevant][:5]
    if is_hit:
        recommended[int(rng.integers(5))] = relevant
    return recommended


def shop_comparison(**changes: Any) -> cc.results.Comparison:
    """Return the comparison of the shop's models with popularity."""
    data = tables()
    arguments: dict[str, Any] = {
        "metrics": METRICS,
        "primary": ["nDCG@5", "R@5"],
        "baseline": "popularity",
        "min_effect": {"nDCG@5": 0.01, "default": "2%"},
        "conventions": "standard",
        "users": pl.DataFrame(data["users"]),
        "items": {item: ["all"] for item in ITEMS},
        "segments": {"country": {"by": "user", "column": "country"}},
        "resamples": 99,
        "panel": False,
    }
    return cc.compare(data["models"], data["truth"], **arguments | changes)


def per_user() -> dict[str, Any]:
    """Return the evaluation of each model."""
    data = tables()
    return {
        name: cc.evaluate(lists, data["truth"], metrics=METRICS[:2], conventions="standard")
        for name, lists in data["models"].items()
    }
