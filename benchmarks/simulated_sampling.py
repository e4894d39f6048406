"""Lists that rank the relevant item among sampled candidates; the full rankings are known."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from benchmarks.simulated import Floats
from benchmarks.tabulated import generator, markdown_table, rate
from concord.metrics_core.comparison.warnings.sampling import grid, mean_bounds, rank_bounds
from concord.metrics_core.conventions.conventions import Candidates
from concord.metrics_core.evaluation.sampled_candidates import GAMMA, correction, moments
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.stats.paired_test import paired_tests

USERS, K = 1_000, 10
GAMMAS = (1.0, 0.1, GAMMA, 0.001)
ALPHA = 0.05


def _ndcg(ranks: Ints) -> Floats:
    return np.where(ranks <= K, 1.0 / np.log2(ranks + 1.0), 0.0)


def _even(n: int) -> Floats:
    return np.full(n, 1.0 / n)


def _scale_free(n: int) -> Floats:
    """Return shares of ranks 1 to n: as many users between 1 and 10 as between 10 and 100."""
    weights = 1.0 / np.arange(1, n + 1)
    return weights / weights.sum()


def _sharp(n: int) -> Floats:
    """Return shares of ranks: a tenth of the users is hit at the very top, the others anywhere."""
    return 0.1 * _near(1, 5, n) + 0.9 * _even(n)


def _broad(n: int) -> Floats:
    """Return shares of ranks: few users are missed or hit at the top, most are near n / 100."""
    ranks = np.arange(1, n + 1)
    weights = ranks / (ranks * ranks + (n / 100) ** 2) ** 1.5
    return weights / weights.sum()


def _near(first: int, last: int, n: int) -> Floats:
    shares = np.zeros(n)
    shares[first - 1 : last] = 1.0 / (last - first + 1)
    return shares


SHAPES: dict[str, Callable[[int], Floats]] = {
    "scale-free": _scale_free,
    "sharp": _sharp,
    "broad": _broad,
}


class _Truth(NamedTuple):
    """A distribution of full ranks and the mean nDCG@10 over it."""

    shares: Floats
    mean: float

    def draw(self, rng: np.random.Generator, candidates: Candidates) -> Ints:
        """Return sampled ranks, one per user."""
        full = rng.choice(len(self.shares), size=USERS, p=self.shares)  # items above
        drawn: Ints = rng.hypergeometric(full, candidates.others - full, candidates.negatives) + 1
        return drawn

    def expectation(self, values: Floats, candidates: Candidates) -> float:
        mean, _ = moments(values, np.arange(1, candidates.catalogue + 1), candidates)
        return float(self.shares @ mean)


def _truth(shape: str, n: int) -> _Truth:
    shares = SHAPES[shape](n)
    return _Truth(shares, float(shares @ _ndcg(np.arange(1, n + 1))))


def _values(candidates: Candidates) -> dict[float | None, Floats]:
    """Return weight of variance -> nDCG@10 by sampled rank; None: uncorrected."""
    aim = _ndcg(np.arange(1, K + 1))
    plain = _ndcg(np.arange(1, candidates.negatives + 2))
    return {None: plain} | {gamma: correction(aim, candidates, gamma) for gamma in GAMMAS}


SIZES = (Candidates(100, 10_000), Candidates(1_000, 10_000), Candidates(100, 1_000))


def _sampled_estimates() -> list[str]:
    runs, rows = 400, []
    for candidates in SIZES:
        values = _values(candidates)
        for shape in SHAPES:
            truth = _truth(shape, candidates.catalogue)
            expectation = truth.expectation(values[GAMMA], candidates)
            means: dict[float | None, list[float]] = {key: [] for key in values}
            covered = 0
            for run in range(runs):
                ranks = truth.draw(generator(candidates.negatives, run), candidates)
                for key, each in values.items():
                    means[key].append(float(each[ranks - 1].mean()))
                low, high = _interval(values[GAMMA][ranks - 1])
                covered += low <= expectation <= high
            rows.append(
                (
                    f"{candidates.negatives:,} of {candidates.others:,}",
                    shape,
                    f"{truth.mean:.4f}",
                    *(_with_error(means[key], truth.mean) for key in values),
                    rate(covered, runs),
                )
            )
    head = (
        "negatives",
        "full ranks",
        "true",
        "uncorrected",
        *(f"gamma {g:g}" for g in GAMMAS),
        "its interval holds its expectation",
    )
    return [
        "## Sampled candidates: corrected estimates",
        "",
        f"nDCG@10 of {USERS:,} users with one relevant item each, {runs} runs a row: mean of the "
        "estimates, and in brackets their root mean",
        "squared error. `scale-free`: as many relevant items between ranks 1 and 10 as between 10 "
        "and 100; `sharp`: a tenth stands in the",
        "top 5, all others anywhere; `broad`: most stand near 1% of the catalogue. What is not "
        "corrected is off by a factor of 1.6 to",
        "280. A correction leaves a bias that depends on the shape: less where gamma, the weight "
        "of variance, is small, at the price of",
        f"variance. Pinned is {GAMMA:g}: of the four it errs least or nearly least. Its t "
        "interval is one of its own expectation; of the",
        "true mean it promises nothing.",
        "",
        *markdown_table(head, rows, text_columns=2),
    ]


def _with_error(means: list[float], true: float) -> str:
    error = math.sqrt(float(np.mean((np.array(means) - true) ** 2)))
    return f"{np.mean(means):.4f} ({error:.4f})"


def _interval(values: Floats) -> tuple[float, float]:
    (test,) = paired_tests(
        {"a": values, "b": np.zeros(len(values))}, [("a", "b")], confidence=1 - ALPHA
    )
    return test.interval(1 - ALPHA)


PAIRS = (("sharp", "broad"), ("sharp", "scale-free"), ("scale-free", "broad"))


def _sampled_orders() -> list[str]:
    runs, rows = 400, []
    for candidates in SIZES:
        values = _values(candidates)
        for a, b in PAIRS:
            truths = [_truth(shape, candidates.catalogue) for shape in (a, b)]
            better = truths[0].mean > truths[1].mean
            right = dict.fromkeys(values, 0)
            wrong = dict.fromkeys(values, 0)
            for run in range(runs):
                rng = generator(candidates.catalogue, run)
                ranks = [truth.draw(rng, candidates) for truth in truths]
                for key, each in values.items():
                    of_pair = {n: each[r - 1] for n, r in zip("ab", ranks, strict=True)}
                    (test,) = paired_tests(of_pair, [("a", "b")], confidence=1 - ALPHA)
                    right[key] += (test.difference > 0) == better
                    low, high = test.interval(1 - ALPHA)
                    wrong[key] += (high < 0) if better else (low > 0)
            rows.append(
                (
                    f"{candidates.negatives:,} of {candidates.others:,}",
                    f"{a} {truths[0].mean:.4f}, {b} {truths[1].mean:.4f}",
                    *(f"{_share(right[k], runs)} ({_share(wrong[k], runs)})" for k in values),
                )
            )
    head = ("negatives", "true means", "uncorrected", *(f"gamma {g:g}" for g in GAMMAS))
    return [
        "## Sampled candidates: the order of two models",
        "",
        f"{runs} runs a row: how often the better model has the higher mean, and in brackets how "
        "often the worse one is significantly better",
        "(95% interval). Uncorrected, with a hundred negatives of 10,000, the broad model beats "
        "the sharp one each time, significantly, though",
        "its nDCG@10 is a thirtieth; where variance weighs much, too.",
        "",
        *markdown_table(head, rows, text_columns=2),
    ]


def _share(count: int, total: int) -> str:
    return f"{count / total:.0%}"


def _sampled_bounds() -> list[str]:
    runs, rows = 40, []
    for candidates in (*SIZES, Candidates(500, 1_000), Candidates(900, 1_000)):
        ranks = grid(2 * K, candidates)
        aim = _ndcg(ranks)
        bounds: dict[str, list[tuple[float, float]]] = {}
        true = {shape: _truth(shape, candidates.catalogue) for shape in SHAPES}
        for shape, truth in true.items():
            drawn = [truth.draw(generator(len(shape), run), candidates) for run in range(runs)]
            counts = [np.bincount(each - 1, minlength=candidates.negatives + 1) for each in drawn]
            every = [
                mean_bounds(aim, ranks, rank_bounds(n, USERS, candidates, ALPHA / 2))
                for n in counts
            ]
            bounds[shape] = [each or (math.nan, math.nan) for each in every]
        covered = [low <= true[s].mean <= high for s in SHAPES for low, high in bounds[s]]
        ordered, right = 0, 0
        for a, b in PAIRS:
            for of_a, of_b in zip(bounds[a], bounds[b], strict=True):
                is_ordered = of_a[0] > of_b[1] or of_b[0] > of_a[1]
                ordered += is_ordered
                right += is_ordered and (of_a[0] > of_b[1]) == (true[a].mean > true[b].mean)
        spans = (
            f"{np.mean([x[0] for x in bounds[s]]):.3f} to {np.mean([x[1] for x in bounds[s]]):.3f} "
            f"({true[s].mean:.3f})"
            for s in SHAPES
        )
        rows.append(
            (
                f"{candidates.negatives:,} of {candidates.others:,}",
                *spans,
                rate(sum(covered), len(covered)),
                rate(ordered, len(PAIRS) * runs, error=False),
                rate(right, ordered, error=False) if ordered else "",
            )
        )
    head = (
        "negatives",
        *SHAPES,
        "bounds hold the truth",
        "orders called identifiable",
        "of these right",
    )
    return [
        "## Sampled candidates: what can be identified",
        "",
        f"Bounds of nDCG@10 over all full rankings that fit the sampled ranks of {USERS:,} users, "
        f"{runs} runs a row: mean low and high end, the truth",
        "in brackets. Two models are ordered where their bounds lie apart. With one item in a "
        "hundred sampled no order of these",
        "models is identifiable; nothing is promised, and nothing promised is wrong.",
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


PARTS = (_sampled_estimates, _sampled_orders, _sampled_bounds)
