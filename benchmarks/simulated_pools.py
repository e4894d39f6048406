"""Pools of which a random sample is judged: infAP estimates AP of the whole pool."""

from collections.abc import Mapping

import numpy as np

import concord as cc
from benchmarks.tabulated import generator, markdown_table

QUERIES, LISTED, POOL = 200, 300, 100
SHARES = (0.05, 0.1, 0.3, 1.0)
SAMPLES = 10
Grades = dict[str, dict[str, float]]


def draw_pools(rng: np.random.Generator, queries: int) -> tuple[dict[str, list[str]], Grades]:
    """Return lists, and grades of their first `POOL` documents: relevant ones are near the top."""
    documents = [f"d{n:03}" for n in range(LISTED)]
    chance = np.minimum(0.9, 1.5 / np.sqrt(np.arange(1, POOL + 1)))
    lists, grades = {}, {}
    for query in (f"q{n}" for n in range(queries)):
        lists[query] = documents
        relevant = rng.random(POOL) < chance
        relevant[rng.integers(POOL)] = True
        grades[query] = dict(zip(documents[:POOL], relevant.astype(float).tolist(), strict=True))
    return lists, grades


def judge_sample(rng: np.random.Generator, grades: Grades, share: float) -> Grades:
    """Return the grades of a random share of each pool; the others are -1, as in TREC qrels."""
    sampled = {}
    for query, pool in grades.items():
        judged = rng.random(len(pool)) < share
        pairs = zip(pool.items(), judged, strict=True)
        sampled[query] = {document: g if kept else -1.0 for (document, g), kept in pairs}
    return sampled


def means(lists: Mapping[str, list[str]], grades: Grades) -> dict[str, float]:
    """Return the means of infAP, AP and Bpref over queries with a document judged relevant."""
    result = cc.evaluate(
        lists,
        grades,
        metrics=["infAP", "AP", "Bpref"],
        conventions=cc.preset("trec_eval", user_empty_truth="drop"),
        input={"negative_grade": "pooled"},
    )
    return {name: result[name] for name in ("infAP", "AP", "Bpref")}


def _pools() -> list[str]:
    """Means of infAP, AP and Bpref by the share of the pool that was judged."""
    rng = generator(21)
    lists, grades = draw_pools(rng, QUERIES)
    rows = []
    for share in SHARES:
        judged = [judge_sample(rng, grades, share) for _ in range(SAMPLES)]
        samples = [means(lists, each) for each in judged]
        n_relevant = sum(g > 0 for each in judged for pool in each.values() for g in pool.values())
        cells = [f"{share:.0%}", f"{n_relevant / QUERIES / SAMPLES:.1f}"]
        for name in ("infAP", "AP", "Bpref"):
            values = np.array([each[name] for each in samples])
            cells.append(f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(SAMPLES):.3f}")
        rows.append(cells)
    return [
        "## Judged samples of a pool",
        "",
        f"{QUERIES} queries, lists of {LISTED} documents, pools of the first {POOL}; "
        f"a random share of each pool is judged,",
        f"{SAMPLES} samples a row. infAP estimates AP of the whole pool, which is in the last row; "
        "AP of the sample takes",
        "pooled documents without a judgement as not relevant. infAP takes a precision of 1/2 "
        "where no document above is judged,",
        "and divides by the number judged relevant, so it is biased if few are judged. Queries "
        "without any are left out.",
        "",
        *markdown_table(
            ["judged", "relevant a query", "infAP", "AP of the sample", "Bpref of the sample"], rows
        ),
    ]


PARTS = (_pools,)
