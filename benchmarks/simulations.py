"""`python -m benchmarks.simulations`: error rates and coverage; writes benchmarks/SIMULATIONS.md.

All data are simulated, so the truth is known; seeds are pinned. It takes one to two hours on two
cores. `--check` fails instead if a number is another, apart from the table of TREC runs.
"""

import math
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from difflib import unified_diff
from functools import partial
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy.stats import binomtest, wilcoxon

from benchmarks import simulated_accidents as accidents
from benchmarks import simulated_candidates as candidates
from benchmarks import simulated_clusters as clusters
from benchmarks import simulated_exposure as exposure
from benchmarks import simulated_failures as failures
from benchmarks import simulated_fairness as fairness
from benchmarks import simulated_families as families
from benchmarks import simulated_few_users as few_users
from benchmarks import simulated_gates as gates
from benchmarks import simulated_judges as judges
from benchmarks import simulated_judging as judging
from benchmarks import simulated_margins as margins
from benchmarks import simulated_pools as pools
from benchmarks import simulated_power as power
from benchmarks import simulated_replicates as replicates
from benchmarks import simulated_reuse as reuse
from benchmarks import simulated_sampling as sampling
from benchmarks import simulated_studies as studies
from benchmarks import simulated_tradeoffs as tradeoffs
from benchmarks import simulated_trec as trec
from benchmarks import simulated_turns as turns
from benchmarks.simulated import Floats, lists, mean_of_pair, pair, skewed, table
from benchmarks.tabulated import generator, markdown_table, rate
from concord.metrics_core.metrics.exposure import coverage, gini
from concord.metrics_core.metrics.ranked_lists import Items
from concord.metrics_core.results.comparison_parts import Verdict
from concord.metrics_core.results.limits import MIN_T_TEST_USERS
from concord.metrics_core.stats.adjustment import benjamini_hochberg, holm
from concord.metrics_core.stats.bootstrap import percentile_interval, weighted_means
from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.paired_test import paired_tests
from concord.metrics_core.stats.randomization_test import ListPair, RecommendedItems, swap_tests
from concord.metrics_core.stats.simultaneous import discovery_alpha
from concord.metrics_core.stats.verdict import verdict

ALPHA = 0.05
SIZES = (30, 100, 300, 1_000, 5_000)
BETTER = 0.08  # by how much one model is, of six
HIT_RATES = (0.02, 0.1, 0.5)
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS")


def main() -> None:
    parts = [
        "# Simulations",
        "",
        "Made by `python -m benchmarks.simulations`; all of it from pinned seeds, so another run "
        "gives the same numbers.",
        "Values are those of nDCG@10 of users with one relevant item each; a rate stands with its "
        "Monte-Carlo error",
        f"(one standard error). Nominal is {ALPHA:.0%} for tests and {1 - ALPHA:.0%} for "
        "intervals.",
    ]
    simulations = (
        _type_one,
        _others,
        _power,
        _families,
        _verdicts,
        _gaps,
        _swaps,
        *few_users.PARTS,
        *families.PARTS,
        *candidates.PARTS,
        *margins.PARTS,
        *gates.PARTS,
        *replicates.PARTS,
        *failures.PARTS,
        *turns.PARTS,
        *power.PARTS,
        *reuse.PARTS,
        *studies.PARTS,
        *clusters.PARTS,
        *sampling.PARTS,
        *fairness.PARTS,
        *tradeoffs.PARTS,
        *exposure.PARTS,
        *judging.PARTS,
        *judges.PARTS,
        *trec.PARTS,
        *pools.PARTS,
        *accidents.PARTS,
    )
    os.environ |= dict.fromkeys(THREADS, "1")  # of a worker; each has a core
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for lines in pool.map(_run, simulations):
            parts += ["", *lines]
    path, text = Path(__file__).with_name("SIMULATIONS.md"), "\n".join(parts) + "\n"
    if "--check" not in sys.argv:
        path.write_text(text, encoding="utf-8", newline="\n")
    elif changes := changed_lines(path.read_text(encoding="utf-8"), text):
        sys.exit("\n".join([f"{path.name} has other numbers:", *changes]))


def changed_lines(before: str, after: str) -> list[str]:
    """Return the lines that differ, outside of the section whose data few have."""
    section = re.compile(rf"^{trec.HEADING}\n.*?(?=^## )", re.MULTILINE | re.DOTALL)
    old, new = (section.sub("", text).splitlines() for text in (before, after))
    return [
        line
        for line in unified_diff(old, new, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]


def _run(simulation: Callable[[], list[str]]) -> list[str]:
    """Run one of the simulations in a worker process, and log its duration."""
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    lines = simulation()
    seconds = time.perf_counter() - start
    print(f"{simulation.__name__.strip('_')}: {seconds:,.0f} s", file=sys.stderr, flush=True)
    return lines


def _type_one() -> list[str]:
    """Equal models: type I error, and coverage of 0 by the interval."""
    rows = []
    for hit_rate in HIT_RATES:
        for n in SIZES:
            tests = [_compared(pair(generator(n, run), n, hit_rate)) for run in range(2_000)]
            tested = [each for each in tests if not math.isnan(each.p)]
            testable = [each for each in tested if each.n_nonzero >= MIN_T_TEST_USERS]
            rows.append(
                (
                    f"{hit_rate:.0%}",
                    f"{n:,}",
                    f"{np.mean([each.n_nonzero for each in tests]):.1f}",
                    rate(len(tested), len(tests), error=False),
                    rate(sum(bool(each.p < ALPHA) for each in tested), len(tested)),
                    rate(sum(_covers(each, 0.0, ALPHA) for each in tested), len(tested)),
                    rate(sum(each.p < ALPHA for each in testable), len(testable)),
                )
            )
    head = (
        "users hit",
        "users",
        "differ, mean",
        "tested",
        "type I error",
        "coverage",
        "type I error, 30 or more differ",
    )
    return [
        "## Paired t on two models that are alike",
        "",
        "2,000 runs a row. Under six users who differ there is no test (column `tested`), under "
        "30 that of sign flips; those that",
        "remain keep the nominal error within the error of the simulation; a row in which 1% was "
        "tested rests on few runs.",
        "",
        *markdown_table(head, rows),
    ]


def _others() -> list[str]:
    """Wilcoxon and sign test are not offered, as they answer another question."""
    rows = []
    for n in (100, 1_000, 10_000):
        runs = 500
        gaps = [skewed(generator(n, run), n) for run in range(runs)]
        zeros = np.zeros(n)
        t = sum(_compared((each, zeros)).p < ALPHA for each in gaps)
        ranks = sum(float(wilcoxon(each[each != 0]).pvalue) < ALPHA for each in gaps)
        signs = sum(
            binomtest(int((each > 0).sum()), int((each != 0).sum())).pvalue < ALPHA for each in gaps
        )
        rows.append((f"{n:,}", rate(t, runs), rate(ranks, runs), rate(signs, runs)))
    return [
        "## Other tests on a skewed difference of mean 0",
        "",
        "Many users gain a little, few lose much, and the means are the same. 500 runs a row: how "
        "often each test calls",
        "the models different. Wilcoxon and sign test ask about symmetry, so they are all but "
        "sure to be wrong about means.",
        "",
        *markdown_table(("users", "paired t", "Wilcoxon", "sign test"), rows),
    ]


def _power() -> list[str]:
    rows = []
    for lift in (0.005, 0.01, 0.02, 0.05):
        cells = [f"{lift:.1%}"]
        for n, runs in ((1_000, 1_000), (10_000, 500), (100_000, 100)):
            tests = [_compared(pair(generator(n, run), n, 0.5, lift)) for run in range(runs)]
            cells.append(rate(sum(each.p < ALPHA for each in tests), runs))
        rows.append(tuple(cells))
    return [
        "## Power",
        "",
        "How often a true relative difference is found, by the number of users (half of whom are "
        "hit).",
        "",
        *markdown_table(("true difference", "1,000 users", "10,000 users", "100,000 users"), rows),
    ]


def _families() -> list[str]:
    """6 models x 12 metrics at once: no true difference, and one model that is truly better."""
    rows = []
    for better, runs in ((0.0, 300), (BETTER, 300)):
        any_false = {"none": 0, "holm": 0}
        found, false_shares, missed_shares = [], [], []
        for run in range(runs):
            tests, truth = _all_pairs(table(generator(6, run), 300, 6, 12, better), better)
            p = np.array([test.p for test in tests])
            for name, adjusted in (("none", p), ("holm", holm(p))):
                any_false[name] += bool(((adjusted <= ALPHA) & (truth == 0)).any())
            if better:
                found.append(float((holm(p) <= ALPHA)[truth != 0].mean()))
            findings = np.flatnonzero(benjamini_hochberg(p) <= ALPHA)
            alpha = discovery_alpha(p, ALPHA)
            missed = sum(not _covers(tests[i], truth[i], alpha) for i in findings)
            false_shares.append((truth[findings] == 0).sum() / max(len(findings), 1))
            missed_shares.append(missed / max(len(findings), 1))
        rows.append(
            (
                f"one model better by {better:g}" if better else "nothing to find",
                *(rate(count, runs) for count in any_false.values()),
                f"{np.mean(found):.1%}" if found else "",
                f"{np.mean(false_shares):.1%}",
                f"{np.mean(missed_shares):.1%}",
            )
        )
    head = (
        "",
        "any false finding, uncorrected",
        "Holm",
        "found by Holm",
        "false discovery rate, Benjamini-Hochberg",
        "false coverage rate of its findings",
    )
    return [
        "## Many comparisons at once",
        "",
        "6 models x 12 metrics that hang together, 180 comparisons on 300 users, 300 runs a row. "
        "Uncorrected, a",
        "false difference is found in most runs; Holm bounds the chance of any false finding; "
        "Benjamini-Hochberg bounds the share",
        "of false ones among those found, and, with intervals at level 1 - R α / m for R findings "
        "among m comparisons, the share of",
        "findings whose interval does not contain the true difference.",
        "",
        "Changed: there is no max-T, since the level of a family follows from its correlations "
        "(see the families below). The last",
        "column is new.",
        "",
        *markdown_table(head, rows),
    ]


def _all_pairs(values: Floats, better: float) -> tuple[list[PairedTest], Floats]:
    """Return the tests of all pairs of models on all metrics, and their true differences."""
    models, metrics, _ = values.shape
    tests: list[PairedTest] = []
    truth: list[float] = []
    pairs = [(str(a), str(b)) for a, b in combinations(range(models), 2)]
    for metric in range(metrics):
        columns = {str(model): values[model, metric] for model in range(models)}
        tests += paired_tests(columns, pairs, confidence=1 - ALPHA)
        truth += [-better if b == str(models - 1) else 0.0 for _, b in pairs]
    return tests, np.array(truth)


def _verdicts() -> list[str]:
    """The true difference is exactly `min_effect`, so neither verdict is right."""
    rows = []
    for n, runs in ((1_000, 2_000), (10_000, 500)):
        effect = mean_of_pair(0.5, 0.1)
        verdicts = [
            verdict(
                test,
                test.interval(1 - ALPHA),
                alpha=ALPHA,
                min_effect=effect,
                higher_is_better=True,
            )
            for test in (_compared(pair(generator(n, run), n, 0.5, 0.1)) for run in range(runs))
        ]
        names: tuple[Verdict, ...] = ("better", "equivalent", "better_below_threshold", "undecided")
        rows.append((f"{n:,}", *(rate(verdicts.count(name), runs) for name in names)))
    return [
        "## Verdicts at the threshold",
        "",
        "The true difference is exactly `min_effect`: `better` and `equivalent` would both be "
        "wrong, and each may be said",
        f"in {ALPHA / 2:.1%} of the cases at most.",
        "",
        *markdown_table(
            ("users", "better", "equivalent", "better, perhaps by less", "undecided"), rows
        ),
    ]


def _gaps() -> list[str]:
    rows = []
    for n in (25, 150, 300, 1_000, 5_000):
        inside, runs = 0, 400
        for run in range(runs):
            rng = generator(n, run)
            a, b = pair(rng, n, 0.4)[0], pair(rng, n, 0.2)[0]
            first = np.arange(n) % 5 == 0
            both = np.column_stack([np.where(first, a, np.nan), np.where(first, np.nan, b)])
            samples = weighted_means(both, resamples=500, seed=run)
            low, high = percentile_interval(samples[:, 0] - samples[:, 1], 1 - ALPHA)
            inside += low <= mean_of_pair(0.2, 1.0) <= high
        rows.append((f"{n:,}", f"{n // 5:,}", rate(inside, runs)))
    return [
        "## Gap between two segments, by Poisson bootstrap",
        "",
        "One user in five is in the smaller segment; 400 runs a row of 500 resamples. A "
        "percentile interval may fall short",
        "of the nominal by a point or two where a segment has but some hundred users. Segments of "
        "fewer than 30 users take",
        "no part in gaps.",
        "",
        *markdown_table(("users", "in the smaller segment", "coverage"), rows),
    ]


def _swaps() -> list[str]:
    """Equal models, and the coverage that a bootstrap of users would report for their lists."""
    items = Items(1, 1, np.ones(200, dtype=np.int64), np.ones(200, dtype=bool), None)
    measures = {
        "Coverage@10": partial(coverage, coverage_items="catalogue"),
        "Gini@10": partial(gini, gini_items="catalogue"),
    }
    runs = 400
    rejected = dict.fromkeys(measures, 0)
    for run in range(runs):
        rng = generator(200, run)
        pair = ListPair(_drawn_lists(rng), _drawn_lists(rng), measures, items, k=10)
        tests = swap_tests(pair, resamples=199, seed=run)
        for name, test in tests.items():
            rejected[name] += test.p <= ALPHA
    return [
        "## Numbers over all users, by swapping lists",
        "",
        f"Two models that draw their lists alike, 100 users x 10 of 200 items, {runs} runs of 199 "
        "swaps: how often a",
        "difference is found.",
        "",
        *markdown_table(
            ("metric", "type I error"), [(n, rate(c, runs)) for n, c in rejected.items()]
        ),
    ]


def _drawn_lists(rng: np.random.Generator) -> RecommendedItems:
    return RecommendedItems(np.repeat(np.arange(100), 10), lists(rng, 100, 200, 0.8).ravel())


def _covers(test: PairedTest, truth: float, alpha: float) -> bool:
    low, high = test.interval(1 - alpha)
    return low <= truth <= high


def _compared(values: tuple[Floats, Floats]) -> PairedTest:
    columns = dict(zip("ab", values, strict=True))
    (test,) = paired_tests(columns, [("a", "b")], confidence=1 - ALPHA)
    return test


if __name__ == "__main__":
    main()
