"""Compute the stored comparisons of a simulated shop again: `python -m tests.reports.samples.make_samples`."""

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
    shapes = {
        "five": compared(SKILLS, n_users=240, metrics=METRICS, gate=GATE),
        "two": compared({name: SKILLS[name] for name in (BASELINE, "ease")}, n_users=60),
        "one": compared({BASELINE: 0.3}, n_users=60),
        "many": compared({BASELINE: 0.3, **others}, n_users=60),
    }
    for name, comparison in shapes.items():
        content = json.loads(to_json(comparison))
        content["provenance"]["versions"] = {"concord-eval": "0.1.0", "python": "3.11"}
        (FOLDER / f"{name}.json").write_text(json.dumps(content) + "\n", encoding="utf-8")


def compared(skills: Mapping[str, float], *, n_users: int, **options: Any) -> cc.Comparison:
    """Return a comparison of models that find relevant items more or less often."""
    rng = random.Random(11)
    users = [f"u{n}" for n in range(n_users)]
    truth = {
        user: {i: rng.randint(0, 3) for i in rng.sample(ITEMS, rng.randint(1, 8))} for user in users
    }
    models = {
        model: {u: ranked(rng, list(truth[u]), at) for u in users} for model, at in skills.items()
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
            "wanted items": {"by": "truth_item", **by_item},
            "shown items": {"by": "recommended_item", **by_item},
        },
        title="Demo shop",
        resamples=99,
        **{"metrics": PRIMARY} | options,
    )


def ranked(rng: random.Random, relevant: list[str], skill: float) -> list[str]:
    """Return a list of 20 items in which relevant items are likelier near the top."""
    others = [item for item in ITEMS if item not in relevant]
    rng.shuffle(relevant)
    rng.shuffle(others)
    chances = (skill / (rank + 1) ** 0.5 for rank in range(20))
    return [(relevant if relevant and rng.random() < at else others).pop() for at in chances]


if __name__ == "__main__":
    main()
