"""Unjudged items: bounds against the truth, and judgements until a difference is decided.

`python -m benchmarks.simulated_judging` prints this part alone.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

import concord
from benchmarks.tabulated import generator, markdown_table

QUERIES, DOCUMENTS, DEPTH = 15, 60, 10
RELEVANT = 0.15  # share of the documents
POOLED = 3  # ranks of the old model that were judged
BATCH = 5  # judgements between two computations of the bounds
RUNS = 20
LABELS = ("nDCG@10", "RBP(p=0.8)@10")
Grades = dict[str, dict[str, int]]
Lists = dict[str, dict[str, list[str]]]
Choice = Callable[[Any, Lists, Grades, np.random.Generator], list[tuple[str, str]]]


def search(seed: int, queries: int = QUERIES) -> tuple[Lists, Grades, Grades]:
    """Return the lists of an old and a new model, all grades, and those of a shallow pool.

    Both models see the grades with noise, and agree on a part of it.
    """
    random = generator(seed, 0)
    lists: Lists = {"old": {}, "new": {}}
    truth: Grades = {}
    for number in range(queries):
        query = f"q{number:02}"
        grades = (random.random(DOCUMENTS) < RELEVANT).astype(int)
        common = random.normal(0.0, 0.3, DOCUMENTS)
        for model, noise in (("old", 1.5), ("new", 0.3)):
            scores = grades + common + random.normal(0.0, noise, DOCUMENTS)
            lists[model][query] = [f"d{n:02}" for n in np.argsort(-scores)[:DEPTH]]
        listed = {item for model in lists.values() for item in model[query]}
        truth[query] = {item: int(grades[int(item[1:])]) for item in sorted(listed)}
    pool = {
        query: {item: grades[item] for item in lists["old"][query][:POOLED]}
        for query, grades in truth.items()
    }
    return lists, truth, pool


def by_weight(
    judging: Any, _: Lists, __: Grades, ___: np.random.Generator
) -> list[tuple[str, str]]:
    """Return the next items of `judge`."""
    return [(each.user, each.item) for each in judging.next]


def by_depth(
    _: Any, lists: Lists, judged: Grades, __: np.random.Generator
) -> list[tuple[str, str]]:
    """Return the unjudged items of the highest ranks, queries in turns."""
    rows = [
        (rank, query, item)
        for model in lists.values()
        for query, items in model.items()
        for rank, item in enumerate(items)
        if item not in judged[query]
    ]
    return list(dict.fromkeys((query, item) for _, query, item in sorted(rows)))


def at_random(
    judging: Any, lists: Lists, judged: Grades, random: np.random.Generator
) -> list[tuple[str, str]]:
    """Return the unjudged items in random order."""
    rows = by_depth(judging, lists, judged, random)
    return [rows[position] for position in random.permutation(len(rows))]


CHOICES: dict[str, Choice] = {"weight": by_weight, "depth": by_depth, "random": at_random}


def judgements_needed(
    label: str, seed: int, choose: Choice, *, queries: int = QUERIES, batch: int = BATCH
) -> tuple[int, bool]:
    """Return how many judgements decide which model is better, and if all bounds were right."""
    lists, truth, judged = search(seed, queries)
    random, labels = generator(seed, 1), [label]
    old, new = (concord.evaluate(lists[model], truth, metrics=labels)[label] for model in lists)
    are_right = True
    for step in count():
        judging = concord.search.judge(lists, judged, next=batch, max_grade=1, metrics=labels)
        (bounds,) = judging.differences
        are_right &= bounds.low - 1e-9 <= old - new <= bounds.high + 1e-9
        if not bounds.is_open:
            n_judged = sum(map(len, judged.values())) - POOLED * queries
            return n_judged, are_right
        assert step < queries * DEPTH
        for query, item in choose(judging, lists, judged, random)[:batch]:
            judged[query][item] = truth[query][item]
    raise AssertionError


def judging() -> list[str]:
    """Judgements until the better of two models is known, by the order of judging."""
    rows: list[Sequence[str]] = []
    n_right = n_all = 0
    for label in LABELS:
        needed: dict[str, list[int]] = {}
        for name, choose in CHOICES.items():
            results = [judgements_needed(label, seed, choose) for seed in range(RUNS)]
            needed[name] = [n for n, _ in results]
            n_right += sum(are_right for _, are_right in results)
            n_all += len(results)
        rows.append((label, *(f"{np.mean(needed[name]):.0f}" for name in CHOICES)))
    unjudged = np.mean([_n_unjudged(seed) for seed in range(RUNS)])
    return [
        "## Unjudged items",
        "",
        f"{RUNS} runs a row: two models with lists of {DEPTH} documents for {QUERIES} queries, "
        f"relevant or not; only the first {POOLED}",
        f"documents of the old model were judged at first, {unjudged:.0f} were not. {BATCH} "
        "documents at a time are judged until the bounds of the",
        "difference by `concord.search.judge` exclude that the other model wins. The true "
        f"difference was within all bounds in {n_right} of {n_all}",
        "runs. Judging by weight is the order of `judge`, by depth takes the highest ranks first.",
        "",
        *markdown_table(("judgements until decided", *CHOICES), rows, text_columns=1),
    ]


def _n_unjudged(seed: int) -> int:
    _, truth, pool = search(seed)
    return sum(map(len, truth.values())) - sum(map(len, pool.values()))


PARTS = (judging,)

if __name__ == "__main__":
    print("\n".join(judging()))
