"""Compute the stored comparisons of a simulated shop.

Run `python -m tests.reports.samples.make_samples`.
"""

import json
import random
from collections.abc import Mapping
from typing import Any

import polars as pl

import concord as cc
from concord.metrics_core.results.stored import to_json
from tests.reports.samples.sample import BASELINE, FIVE, FOLDER, PRIMARY

SKILLS = dict(zip(FIVE, (0.3, 0.33, 0.55, 0.54, 0.2), strict=True))
METRICS = [
    *(f"{name}@{k}" for name in ("nDCG", "AP", "RR", "P", "R") for k in (5, 10, 20)),
    *("RBP(p=0.8)@10", "Rprec", "Coverage@10", "ARP@10"),
]
GATE = {
    "guardrails": {"nDCG@10": 0.002, "R@20": "5%"},
    "segments": {"activity": {"nDCG@10": "5%"}},
    "success": ["nDCG@10"],
}
ITEMS = [f"i{n}" for n in range(60)]


def main() -> None:
    rng = random.Random(7)
    families = ("als", "ease", "item-knn", "two-tower")
    others = {f"{families[n % 4]}-{n}": rng.uniform(0.15, 1.0) for n in range(13)}
    comparisons = {
        "five": compare(SKILLS, n_users=240, metrics=METRICS, gate=GATE),
        "two": compare({name: SKILLS[name] for name in (BASELINE, "ease")}, n_users=60),
        "one": compare({BASELINE: 0.3}, n_users=60),
        "many": compare({BASELINE: 0.3, **others}, n_users=60),
    }
    for name, comparison in comparisons.items():
        content = json.loads(to_json(comparison))
        content["provenance"]["versions"] = {"concord-eval": "0.1.0", "python": "3.11"}
        (FOLDER / f"{name}.json").write_text(json.dumps(content) + "\n", encoding="utf-8")


def compare(skills: Mapping[str, float], *, n_users: int, **options: Any) -> cc.results.Comparison:
    """Return a comparison of models, each with a probability of relevant items."""
    rng = random.Random(11)
    users = [f"u{n}" for n in range(n_users)]
    truth = {
        user: {i: rng.randint(0, 3) for i in rng.sample(ITEMS, rng.randint(1, 8))} for user in users
    }
    models = {
        model: {user: ranked_list(rng, list(truth[user]), skill) for user in users}
        for model, skill in skills.items()
    }
    for user in users[:9] if "item-knn" in models else ():
        del models["item-knn"][user]  # a serious warning
    train = {(user, f"i{7 * n % 40 + m}") for n, user in enumerate(users) for m in range(n % 9)}
    by_item = {"shares": [0.5, 0.8]}
    return cc.compare(
        models,
        truth,
        baseline=BASELINE,
        primary=list(PRIMARY),
        min_effect=0.02,
        conventions=cc.preset("standard", overrides={"AP": {"ap_denominator": "relevant"}}),
        train=pl.DataFrame(sorted(train), schema=["user", "item"], orient="row"),
        items=pl.DataFrame(
            {"item": ITEMS, "title": [f"Lamp {n}" if n % 3 else None for n in range(60)]}
        ),
        segments={
            "activity": {"by": "activity", "edges": [0, 5]},
            "relevant items": {"by": "truth_item", **by_item},
            "recommended items": {"by": "recommended_item", **by_item},
        },
        title="Demo shop",
        resamples=99,
        **{"metrics": PRIMARY} | options,
    )


def ranked_list(rng: random.Random, relevant: list[str], skill: float) -> list[str]:
    """Return a list of 20 items, with relevant items most likely at the top."""
    others = [item for item in ITEMS if item not in relevant]
    rng.shuffle(relevant)
    rng.shuffle(others)
    probabilities = (skill / (rank + 1) ** 0.5 for rank in range(20))
    return [
        (relevant if relevant and rng.random() < probability else others).pop()
        for probability in probabilities
    ]


if __name__ == "__main__":
    main()
