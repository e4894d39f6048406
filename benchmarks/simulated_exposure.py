"""Exposure bias: lists judged by the part of a known truth that came to be observed, popular items rather than others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.simulated import Floats
from benchmarks.tabulated import Row, rate, rng_of, table_of
from concord.metrics_core.metrics.judged import Bools
from concord.metrics_core.scoring.numerics.clusters import Ratio

Sums = tuple[Floats, Floats]  # (users,) of the hits, and of the relevant items

CONFIDENCE = 0.95
RUNS = 1_000
ITEMS, K = 200, 10
POPULARITY = 1 / np.arange(1, ITEMS + 1)
LIKED = (2, 18)  # of Beta: the share of the items that a user likes
SKILL = 1.5
LEANS = {"popular": 1.0, "niche": 0.2}  # of a model's scores towards popular items
BETTER, WORSE = "niche", "popular"
COUNTS: dict[float, dict[str, Floats]] = {  # exponent -> what an item counts, where it is observed
    exponent: {
        "1": np.ones(ITEMS),
        "1 / p": POPULARITY**-exponent,
        **{f"1 / max(p, {c})": 1 / np.maximum(POPULARITY**exponent, c) for c in clips},
    }
    for exponent, clips in ((0.5, (0.2,)), (1.0, (0.02, 0.1)))
}
USERS = (100, 1_000)
OF_TRUTH = 200  # draws of a thousand users of whom everything is known


@dataclass(frozen=True)
class Users:
    """(users, items) what they like, and whether a model shows it in the top k."""

    liked: Bools
    shown: dict[str, Bools]

    @classmethod
    def drawn(cls, rng: np.random.Generator, n: int) -> "Users":
        """Users who like popular items no more than others."""
        liked = rng.random((n, ITEMS)) < rng.beta(*LIKED, (n, 1))
        shown = {}
        for model, lean in LEANS.items():
            scores = SKILL * liked + lean * np.log(POPULARITY) + rng.gumbel(size=liked.shape)
            top = np.argpartition(-scores, K, axis=1)[:, :K]
            shown[model] = np.zeros_like(liked)
            np.put_along_axis(shown[model], top, True, axis=1)
        return cls(liked, shown)

    def sums(self, model: str, seen: Bools, counts: Floats) -> Sums:
        """What the hits that are seen count, and the relevant items."""
        return (seen & self.shown[model]) @ counts, seen @ counts


def _of_sums(above: Floats, _: Floats) -> Ratio:
    """CG@k: the mean of users' sums."""
    return Ratio(above, np.ones(len(above)))


def _per_user(above: Floats, below: Floats) -> Ratio:
    """R@k, a mean over those of whom something is observed."""
    there = below > 0
    return Ratio(above[there] / below[there], np.ones(int(there.sum())))


def _over_all(above: Floats, below: Floats) -> Ratio:
    """R@k over all users' rows."""
    return Ratio(above, below, below * below)


ESTIMATES: dict[str, Callable[[Floats, Floats], Ratio]] = {
    "CG": _of_sums,
    "R per_user": _per_user,
    "R over_all": _over_all,
}


@cache
def _true(model: str) -> dict[str, float]:
    every = [Users.drawn(rng_of(31, run), 1_000) for run in range(OF_TRUTH)]
    sums = [users.sums(model, users.liked, np.ones(ITEMS)) for users in every]
    above, below = (np.concatenate(each) for each in zip(*sums, strict=True))
    return {name: estimate(above, below).value for name, estimate in ESTIMATES.items()}


@dataclass
class Found:
    """Of the runs of a case: rows, effective rows, and by model the sums."""

    rows: list[int]
    effective: list[float]
    sums: dict[str, list[Sums]]


@cache
def _found(n: int) -> dict[tuple[float, str], Found]:
    """Exponent and what items count -> all runs; in each the same users, and for an exponent the same observations."""
    found = {
        (exponent, name): Found([], [], {model: [] for model in LEANS})
        for exponent, of_each in COUNTS.items()
        for name in of_each
    }
    for run in range(RUNS):
        rng = rng_of(32, run, n)
        users = Users.drawn(rng, n)
        for exponent, of_each in COUNTS.items():
            seen = users.liked & (rng.random(users.liked.shape) < POPULARITY**exponent)
            times = seen.sum(axis=0)
            for name, counts in of_each.items():
                of_case = found[exponent, name]
                of_case.rows.append(int(times.sum()))
                of_case.effective.append((times @ counts) ** 2 / (times @ (counts * counts)))
                for model, of_model in of_case.sums.items():
                    of_model.append(users.sums(model, seen, counts))
    return found


def _cases() -> Iterator[tuple[list[str], Found]]:
    for exponent, of_each in COUNTS.items():
        for n in USERS:
            for name in of_each:
                yield [f"{exponent:g}", f"{n:,}", name], _found(n)[exponent, name]


def estimates() -> list[str]:
    """The niche model: bias, spread and coverage, unweighed and weighed."""
    rows: list[Row] = [[*told, *_row(found)] for told, found in _cases()]
    head = ("exponent", "users", "each counts", "rows", "effective", *(f"{name}: {what}" for name in ESTIMATES for what in ("bias", "interval holds the truth")))  # fmt: skip
    return [
        "## Exposure bias: estimates",
        "",
        f"Users like a share of {ITEMS} items that is drawn from Beta{LIKED}, popular ones no more than others; of what they like,",
        "an item is observed with its propensity, (1 / popularity rank)^exponent. A model that leans little towards popular items",
        f"is judged by what is observed, at k = {K}, {RUNS:,} runs a row: mean error as a share of the true value, in brackets the",
        "standard deviation, and how often the 95% interval holds the true value. The effective number of rows is (sum of",
        "weights)² / sum of squares. CG is the mean of users' weighed sums; R over all users' rows is one ratio (`over_all`), or a",
        "mean of users' ratios (`per_user`), which has too few rows of a user to be right.",
        "",
        *table_of(head, rows, left=3),
    ]


def _row(found: Found) -> list[str]:
    cells, true = [f"{np.mean(found.rows):,.0f}", f"{np.mean(found.effective):,.0f}"], _true(BETTER)
    for name, estimate in ESTIMATES.items():
        ratios = [estimate(*sums) for sums in found.sums[BETTER]]
        errors = np.array([ratio.value for ratio in ratios]) / true[name] - 1
        ends = [ratio.interval(CONFIDENCE) for ratio in ratios]
        held = sum(low <= true[name] <= high for low, high in ends)
        cells += [f"{errors.mean():+.0%} ({errors.std():.0%})", rate(held, RUNS)]
    return cells


def orders() -> list[str]:
    """Two models: how often the better one is ahead, and how often the worse one is significantly."""
    rows: list[Row] = []
    for told, found in _cases():
        both = zip(found.sums[BETTER], found.sums[WORSE], strict=True)
        gaps = [_over_all(above - other, below) for (above, below), (other, _) in both]
        ahead = sum(gap.value > 0 for gap in gaps)
        wrong = sum(gap.interval(CONFIDENCE)[1] < 0 for gap in gaps)
        rows.append([*told, rate(ahead, RUNS), rate(wrong, RUNS)])
    true = {model: _true(model)["R over_all"] for model in LEANS}
    return [
        "## Exposure bias: the order of two models",
        "",
        f"The same users and two models, of which the niche one is better: R@{K} over all is {true[BETTER]:.4f}, that of the popular",
        f"one {true[WORSE]:.4f}. How often it is ahead (`over_all`), and how often it is significantly worse by the interval of the",
        "difference.",
        "",
        *table_of(("exponent", "users", "each counts", "the better is ahead", "the better is significantly worse"), rows, left=3),
    ]  # fmt: skip


PARTS = (estimates, orders)
