"""How often the usual accidents of an evaluation are found, and honest evaluations suspected."""

from collections.abc import Callable

import numpy as np

import concord as cc
from benchmarks import accidents
from benchmarks.accidents import World, world
from benchmarks.tabulated import generator, markdown_table, rate
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import SUSPICIOUS

RUNS = 40
_MODEL, _BASELINE = "model-a", "popularity"
Make = Callable[[np.random.Generator], World]

HONEST: dict[str, Make] = {
    "3 to 9 relevant items": world,
    "the same, 30 users": lambda rng: world(rng, n_users=30),
    "sparse: few lists hold the item": accidents.sparse,
    "leave-one-out": accidents.leave_one_out,
    "60 items in all": lambda rng: world(rng, n_items=60, had=10, relevant=(1, 5)),
    "sampled candidates, 1 of 100": accidents.sampled,
    "two sessions per user": accidents.sessions,
    "easy search for one document": accidents.known_items,
    "TREC topics, graded": accidents.topics,
    "a copy under another name": lambda rng: accidents.copied(world(rng)),
}
ACCIDENTS: dict[str, Make] = {
    "a model returns the ground truth": lambda rng: _leak(rng, 1.0),
    "ids of items shuffled": lambda rng: accidents.shuffled_items(world(rng), _MODEL, rng),
    "ids of the baseline shuffled": lambda rng: accidents.shuffled_items(
        world(rng), _BASELINE, rng
    ),
    "ids of another system": lambda rng: accidents.foreign_ids(world(rng), _MODEL),
    "constant scores": lambda rng: accidents.constant_scores(world(rng), _MODEL),
    "train and ground truth swapped": lambda rng: accidents.swapped(world(rng)),
    "a third of the lists hold the ground truth": lambda rng: _leak(rng, 1 / 3),
    "a fifth of the lists hold the ground truth": lambda rng: _leak(rng, 0.2),
    "leave-one-out, all hold the ground truth": lambda rng: accidents.holds_truth(
        accidents.leave_one_out(rng), _MODEL, 1.0, rng
    ),
    "leave-one-out, ids shuffled": lambda rng: accidents.shuffled_items(
        accidents.leave_one_out(rng), _MODEL, rng
    ),
    "lists of other users": lambda rng: accidents.shuffled_users(world(rng), _MODEL, rng),
    "candidates are judged items only": lambda rng: accidents.only_judged(world(rng), _MODEL),
    "popularity counted on the ground truth": lambda rng: accidents.popular_on_test(
        world(rng), _MODEL
    ),
}


def compare(world: World) -> Comparison:
    """Return the comparison of a world, with a gate."""
    return cc.compare(
        **world.arguments(),
        metrics=["nDCG@10", "R@20"],
        primary=["nDCG@10"],
        baseline=_BASELINE,
        gate={"guardrails": {"nDCG@10": "2%"}},
        panel=False,
        resamples=100,
    )


def _leak(rng: np.random.Generator, share: float) -> World:
    return accidents.holds_truth(world(rng), _MODEL, share, rng)


def _honest() -> list[str]:
    return _table(
        "## Honest evaluations: how often they are suspected",
        "No model saw the ground truth, and all work. A gate that is suspicious here is a false "
        "alarm.",
        HONEST,
    )


def _accidents() -> list[str]:
    return _table(
        "## Accidents: how often they are found",
        f"One accident happens to one model (`{_MODEL}` where nothing else is said) or to the "
        "data.",
        ACCIDENTS,
    )


def _table(title: str, sentence: str, makers: dict[str, Make]) -> list[str]:
    rows = []
    for name, make in makers.items():
        comparisons = [compare(make(generator(run))) for run in range(RUNS)]
        suspicious = sum(_is_suspicious(each) for each in comparisons)
        serious = sum(bool(each.serious) for each in comparisons)
        codes = sorted({w.code for each in comparisons for w in each.serious})
        rows.append((name, rate(suspicious, RUNS), rate(serious, RUNS), ", ".join(codes) or "–"))
    header = ("evaluation", "gate suspicious", "any serious warning", "codes")
    return [
        title,
        "",
        sentence,
        f"{RUNS} runs a row by `concord.compare`; 300 users and 1,000 items, if nothing else is "
        "said.",
        "",
        *markdown_table(header, rows, text_columns=1),
    ]


def _is_suspicious(comparison: Comparison) -> bool:
    assert comparison.gate is not None
    found = any(each.code in SUSPICIOUS for each in comparison.warnings)
    assert found == (comparison.gate.outcome == "suspicious")
    return found


PARTS = (_honest, _accidents)
