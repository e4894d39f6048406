"""Small comparisons of all kinds, with the inputs that they were computed from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.comparison import compare, compare_values
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.decision.write_decision import write_decision

N_USERS, N_ITEMS = 60, 12
MARK = "id_of_"  # of all ids
LISTS = ["nDCG@5", "R@5", "Coverage@5"]


def ids(kind: str, numbers: Any) -> list[str]:
    return [f"{MARK}{kind}_{number:03}" for number in numbers]


def lists(seed: int, *, users: range = range(N_USERS), ties: bool = False) -> pl.DataFrame:
    """Return five random items a user, with scores; equal ones with `ties`."""
    random = np.random.default_rng(seed)
    rows = [
        (user, item, (5 - rank) // (3 if ties else 1))
        for user in users
        for rank, item in enumerate(random.permutation(N_ITEMS)[:5])
    ]
    user, item, score = zip(*rows, strict=True)
    return pl.DataFrame(
        {"user": ids("user", user), "item": ids("item", item), "score": map(float, score)}
    )


def truth(seed: int = 7) -> pl.DataFrame:
    """Return two relevant items a user."""
    random = np.random.default_rng(seed)
    rows = [(u, i) for u in range(N_USERS) for i in random.permutation(N_ITEMS)[:2]]
    user, item = zip(*rows, strict=True)
    return pl.DataFrame({"user": ids("user", user), "item": ids("item", item)})


def train() -> pl.DataFrame:
    """Return up to three interactions a user."""
    rows = [
        (user, (user * 5 + n * 7) % N_ITEMS) for user in range(N_USERS) for n in range(user % 4)
    ]
    user, item = zip(*rows, strict=True)
    return pl.DataFrame({"user": ids("user", user), "item": ids("item", item)})


def users() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "user": ids("user", range(N_USERS)),
            "country": ["de" if user % 3 else "fr" for user in range(N_USERS)],
        }
    )


def sessions(table: pl.DataFrame) -> pl.DataFrame:
    """Return the table with two sessions for each user but the first, whose lists are swapped."""
    number = table["user"].str.slice(-3).cast(pl.Int64)
    owner = pl.Series("user", ids("user", [max(each // 2, 0) for each in number]))
    return table.with_columns(owner, pl.Series("session", ids("session", number)))


def values(seed: int, n_users: int = N_USERS) -> dict[str, dict[str, float]]:
    random = np.random.default_rng(seed)
    names = ids("user", range(n_users))
    return {
        name: dict(zip(names, random.random(n_users).tolist(), strict=True))
        for name in ("AP", "latency")
    }


MODELS = {"new": lists(1), "old": lists(2)}
ITEMS = pl.DataFrame({"item": ids("item", range(N_ITEMS))})
OPTIONS: dict[str, Any] = {"items": ITEMS, "metrics": LISTS, "baseline": "old", "resamples": 99}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "percent": {"min_effect": "2%", "confidence": 0.9, "wilcoxon": True},
    "three models": {"models": {**MODELS, "third": lists(3)}, "family": "all", "tried": 5},
    "users without a list": {
        "models": {"new": lists(1, users=range(3, N_USERS - 2)), "old": lists(2)},
        "users": users(),
        "segments": {"country": {"by": "user", "column": "country"}},
    },
    "a model that is not compared": {"models": {**MODELS, "bad": lists(3, users=range(4))}},
    "ties": {"models": {"new": lists(1, ties=True), "old": lists(2, ties=True)}},
    "replicates": {
        "models": {
            "new": {"replicates": {1: lists(1), 2: lists(3), 3: lists(5)}},
            "old": {"replicates": {1: lists(2), 2: lists(4), 3: lists(6)}},
        },
        "paired_replicates": True,
        "metrics": ["nDCG@5", "R@5"],
    },
    "folds": {
        "models": {
            "new": {"replicates": {1: lists(1), 2: lists(3)}},
            "old": {"replicates": {1: lists(2), 2: lists(4)}},
        },
        "truth": {"replicates": {1: truth(7), 2: truth(8)}},
        "paired_replicates": True,
        "metrics": ["nDCG@5"],
    },
    "sessions": {
        "models": {name: sessions(each) for name, each in MODELS.items()},
        "truth": sessions(truth()),
        "unit": ["user", "session"],
        "conventions": cc.preset("standard", unit_mean="requests"),
    },
    "segments": {
        "train": train(),
        "users": users(),
        "segments": {
            "activity": {"by": "activity", "edges": [0, 2], "compare_gaps": True},
            "country": {"by": "user", "column": "country"},
            "relevant": {"by": "truth_item", "shares": [0.3, 0.7]},
            "listed": {"by": "recommended_item", "shares": [0.3, 0.7]},
        },
    },
    "gate": {
        "train": train(),
        "segments": {
            "activity": {"by": "activity", "edges": [0, 2]},
            "relevant": {"by": "truth_item", "shares": [0.3, 0.7]},
        },
        "checks": {"overlap": {"overlap": {"with": "old", "at_least": 0.9}}},
        "gate": {
            "guardrails": {"nDCG@5": "2%", "Coverage@5": 0.2},
            "segments": {"activity": {"nDCG@5": "5%"}, "relevant": {"R@5": 0.1}},
            "success": ["R@5"],
        },
    },
    "pooled": {
        "conventions": cc.preset("standard", precision_aggregate="micro"),
        "metrics": ["nDCG@5", "P@5"],
    },
    "propensity": {
        "train": train(),
        "conventions": cc.preset(
            "standard",
            propensity={"popularity": 0.5, "clip": 0.01, "fewest": 1, "normalised": "over_all"},
        ),
        "metrics": ["CG@5", "R@5"],
    },
    "a map of gains": {
        "conventions": cc.preset("standard", gain={"map": {0: 0, 1: 2.5}}),
    },
}
VALUES: dict[str, dict[str, Any]] = {
    "values": {},
    "values of other users": {"n_users": N_USERS - 4},
}


@pytest.fixture
def decide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that compares and writes the decision."""
    captured: list[ComparisonInput] = []
    for module, name in ((compare, "build_comparison"), (compare_values, "build_value_comparison")):
        build = getattr(module, name)

        def capture(inputs: ComparisonInput, *others: Any, build: Any = build) -> Any:
            captured.append(inputs)
            return build(inputs, *others)

        monkeypatch.setattr(module, name, capture)

    def write(kind: str = "plain", name: str = "decision.concord", **changes: Any) -> Path:
        options: dict[str, Any]
        if kind in VALUES:
            models = {"new": values(1, **VALUES[kind]), "old": values(2)}
            options = {"primary": ["AP"], "higher_is_better": {"latency": False}, "resamples": 99}
            result = cc.compare_values(models, baseline="old", **options)
        else:
            options = {"models": MODELS, "truth": truth(), **OPTIONS, **KINDS[kind], **changes}
            result = cc.compare(options.pop("models"), options.pop("truth"), **options)
        return write_decision(tmp_path / name, result, captured[-1])

    return write
