"""Margins that are a share of the baseline's mean, and what texts say about power."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import concord
from benchmarks.families import ALPHA, Family
from benchmarks.simulated import Floats
from benchmarks.tabulated import Row, generator, markdown_table, rate
from concord.metrics_core.comparison.min_effect import margin_interval
from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.paired_test import UserValues, paired_test
from concord.metrics_core.stats.power import (
    detectable_difference,
    users_to_decide,
)
from concord.metrics_core.stats.verdict import verdict

CHECKED = 3  # runs of each row that also go through `concord.compare_values`
SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
CONFIDENCE = 1 - ALPHA
POWER = 0.8
MARGIN, PILOTS, MOST_USERS = 0.02, 500, 20_000  # of undecided guardrails
Draw = Callable[[np.random.Generator, int, float], tuple[Floats, Floats]]


def _gamma(rng: np.random.Generator, users: int, ratio: float) -> tuple[Floats, Floats]:
    return ratio * rng.gamma(2, 0.1, users), rng.gamma(2, 0.1, users)


def _correlated(rng: np.random.Generator, users: int, ratio: float) -> tuple[Floats, Floats]:
    shared = rng.gamma(2, 0.1, users)
    return (
        ratio * shared * rng.gamma(4, 0.25, users),
        shared * rng.gamma(4, 0.25, users),
    )


def _hits(rng: np.random.Generator, users: int, ratio: float) -> tuple[Floats, Floats]:
    a, b = rng.random((2, users)) < np.array([[0.1 * ratio], [0.1]])
    return a.astype(np.float64), b.astype(np.float64)


def _heavy(rng: np.random.Generator, users: int, ratio: float) -> tuple[Floats, Floats]:
    """Return a model that serves users the better, the more the baseline gains from them."""
    base = rng.gamma(0.5, 0.2, users)
    return ratio * base * base / 0.3, base  # E[b²] / E[b] = 0.3


def _few_keep(rng: np.random.Generator, users: int, ratio: float) -> tuple[Floats, Floats]:
    """Return a model that gives one user in four four times as much, and others nothing."""
    base = rng.gamma(0.5, 0.2, users)
    return ratio * base * 4 * (rng.random(users) < 1 / 4), base


@dataclass
class _Counts:
    """Words and intervals of the runs of one row."""

    beyond: int = 0
    equivalent: int = 0
    with_interval: int = 0
    covered: int = 0


def shares() -> list[str]:
    """The true ratio is exactly 1 + m, or 1 - m: a word on the margin is an error."""
    worlds: list[tuple[str, Draw]] = [
        ("gamma", _gamma),
        ("gamma, correlated", _correlated),
        ("hits, 10%", _hits),
    ]
    rows: list[Row] = []
    for name, draw in worlds:
        for users, runs in ((300, 600), (40, 150)):
            for share in SHARES:
                above = _at_the_margin(draw, share, 1, users, runs)
                cells = _cells(above, runs)
                if share < 1:
                    cells += _cells(_at_the_margin(draw, share, -1, users, runs), runs)
                else:
                    cells += ["–"] * len(cells)  # a model without any value
                tested = rate(above.with_interval, runs, error=False)
                rows.append((name, f"{users}", f"{share:.0%}", *cells, tested))
    head = (
        "values",
        "users",
        "margin m",
        "ratio 1 + m: better",
        "equivalent",
        "coverage",
        "ratio 1 − m: worse",
        "equivalent",
        "coverage",
        "with interval, 1 + m",
    )
    return [
        "## Margins in percent",
        "",
        "`min_effect` is the share m of the baseline's mean, and the true ratio of the means is "
        "exactly 1 + m or 1 − m, so each of these words",
        "is an error; nominal 2.5% each. Coverage is that of the ratio by the interval, of the "
        "runs that have one: there is none if the",
        "baseline's mean may be 0, or under six users who differ. 600 runs a row with 300 users, "
        "150 with 40.",
        "",
        *SHARES_TEXT,
        "",
        *markdown_table(head, rows, text_columns=1),
        "",
        *_guardrails(),
    ]


def _cells(counts: _Counts, runs: int) -> list[str]:
    return [
        rate(counts.beyond, runs),
        rate(counts.equivalent, runs),
        rate(counts.covered, counts.with_interval),
    ]


def _at_the_margin(draw: Draw, share: float, sign: int, users: int, runs: int) -> _Counts:
    counts = _Counts()
    text = f"{100 * share:g}%"
    for run in range(runs):
        values = draw(generator(97, users, run), users, 1 + sign * share)
        test, (low, high), effect = _with_share(values, text)
        word = verdict(test, (low, high), alpha=ALPHA, min_effect=effect, higher_is_better=True)
        if run < CHECKED:
            _check(values, text, word)
        counts.beyond += word == ("better" if sign > 0 else "worse")
        counts.equivalent += word == "equivalent"
        if not math.isnan(low):
            counts.with_interval += 1
            counts.covered += low <= sign * effect <= high
    return counts


def _with_share(
    values: tuple[Floats, Floats], text: str
) -> tuple[PairedTest, tuple[float, float], float]:
    """Return the test, the interval that is compared with the margin, and the margin."""
    a, b = (UserValues(each) for each in values)
    test = paired_test(a, b, confidence=CONFIDENCE, share_of=b)
    interval, effect = margin_interval(test, text, b.mean, CONFIDENCE)
    return test, interval, effect


def _check(values: tuple[Floats, Floats], text: str, word: str) -> None:
    models = {
        name: {"m": dict(enumerate(column.tolist()))}
        for name, column in zip("ab", values, strict=True)
    }
    row = concord.compare_values(models, baseline="b", min_effect=text, resamples=99).pairs[0]
    assert row.verdict == word, (row, word)


def _guardrails() -> list[str]:
    """The model is worse by exactly the margin of a guardrail: a pass is an error."""
    worlds: list[tuple[str, Draw]] = [
        ("gamma", _gamma),
        ("hits, 10%", _hits),
        ("best for those who gain most", _heavy),
        ("one user in four keeps all", _few_keep),
    ]
    rows: list[Row] = []
    for name, draw in worlds:
        for users, runs in ((300, 1_000), (1_000, 500)):
            for share in (0.2, 0.5):
                passed = worse = 0
                for run in range(runs):
                    values = draw(generator(101, users, run), users, 1 - share)
                    _, (low, high), margin = _with_share(values, f"{100 * share:g}%")
                    passed += low > -margin
                    worse += high < -margin
                rows.append(
                    (name, f"{users:,}", f"{share:.0%}", rate(passed, runs), rate(worse, runs))
                )
    head = ("values", "users", "margin", "pass", "worse")
    return [
        "A guardrail with such a margin, and a model that is worse by exactly the margin: how "
        "often the interval passes it, or calls it worse;",
        "nominal 2.5% each. 1,000 runs a row with 300 users, 500 with 1,000. It passes in 2.8% at "
        "most. Limit: where few users have most of the",
        "gain, they are easily missed, and `worse` is said in up to 11%.",
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


Shifted = Callable[[np.random.Generator, int, int, float], Family]  # users, candidates, gain


def _normal(rng: np.random.Generator, users: int, candidates: int, gain: float) -> Family:
    base = rng.beta(1, 3, users)
    return Family(np.stack([base, *(base + rng.normal(gain, 0.2, (candidates, users)))]))


def _exponential(rng: np.random.Generator, users: int, candidates: int, gain: float) -> Family:
    base = rng.beta(1, 3, users)
    noise = 0.2 * (rng.exponential(1, (candidates, users)) - 1)
    return Family(np.stack([base, *(base + gain + noise)]))


def _more_hits(rng: np.random.Generator, users: int, candidates: int, gain: float) -> Family:
    shares = np.array([0.1, *[0.1 + gain] * candidates])
    return Family((rng.random((1 + candidates, users)) < shares[:, np.newaxis]).astype(np.float64))


def detectable() -> list[str]:
    """The smallest detectable difference of some users is the true one of others."""
    worlds: list[tuple[str, Shifted]] = [
        ("normal", _normal),
        ("exponential", _exponential),
        ("hits, 10% and more", _more_hits),
    ]
    rows: list[Row] = []
    for name, draw in worlds:
        for users, candidates, runs in (
            (20, 1, 200),
            (100, 1, 600),
            (400, 1, 600),
            (400, 5, 600),
        ):
            named, shown, count = [], 0, 0
            for run in range(runs):
                pilot = draw(generator(103, users, run), users, candidates, 0.0)
                gain = detectable_difference(pilot.tests[0].paired, pilot.alphas[0])
                if math.isnan(gain):
                    continue
                named.append(gain)
                family = draw(generator(107, users, run), users, candidates, gain)
                shown += family.words[0].startswith("better")
                count += 1
            median = f"{np.median(named):.3f}" if named else "–"
            rows.append((name, f"{users}", f"{candidates}", median, rate(shown, count)))
    head = ("differences", "users", "candidates", "detectable, median", "shown")
    return [
        "## What texts say about power: the detectable difference",
        "",
        "`detectable` of users without a true difference, and how often as many other users, whose "
        "true difference is that number, show it;",
        f"nominal {POWER:.0%}. With five candidates, the level is that of their family.",
        "",
        *DETECTABLE_TEXT,
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


def undecided_guardrails() -> list[str]:
    """The users that an undecided guardrail names decide it in 80 %."""
    worlds: list[tuple[str, Shifted, int]] = [
        ("normal", _normal, 100),
        ("normal", _normal, 300),
        ("exponential", _exponential, 100),
        ("hits, 10%", _more_hits, 300),
    ]
    rows: list[Row] = []
    for name, draw, users in worlds:
        factors, decided, passed = [], 0, 0
        for run in range(PILOTS):
            pilot = draw(generator(109, users, run), users, 1, 0.0).tests[0].paired
            gain, (low, high) = pilot.difference, pilot.interval(CONFIDENCE)
            if not low <= -MARGIN <= high:
                continue
            needed = users_to_decide(
                gain, (low, high), MARGIN, n_users=users, confidence=CONFIDENCE
            )
            if needed is None or needed > MOST_USERS:
                continue
            factors.append(needed / users)
            others = generator(113, users, run), generator(127, users, run)
            as_observed = draw(others[0], needed, 1, gain).tests[0].paired.interval(CONFIDENCE)
            decided += as_observed[0] > -MARGIN if gain > -MARGIN else as_observed[1] < -MARGIN
            equal = draw(others[1], needed, 1, 0.0).tests[0].paired.interval(CONFIDENCE)
            passed += equal[0] > -MARGIN
        n = len(factors)
        rows.append(
            (
                name,
                f"{users}",
                rate(n, PILOTS, error=False),
                f"{np.median(factors):.1f}",
                rate(decided, n),
                rate(passed, n),
            )
        )
    head = (
        "differences",
        "users",
        "undecided",
        "times as many, median",
        "decided, observed gain is true",
        "passed, models are equal",
    )
    return [
        "## What texts say about power: an undecided guardrail",
        "",
        f"Two equal models, a margin of {MARGIN}, and {PILOTS:,} runs a row. Where the guardrail "
        "is undecided, it names the users that decide it",
        f"(up to {MOST_USERS:,} here); so many others are then drawn. Nominal {POWER:.0%} if the "
        "observed gain is the true one.",
        "",
        *GUARDRAILS_TEXT,
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


SHARES_TEXT = [
    "Both words keep 2.5% to within the errors of the table, at any m, since the interval counts "
    "the error of the baseline's mean; hits are a",
    "little skewed, and their exact rates lie between 1.8 and 3.5%. Limit: 40 users of whom 10% "
    "are hit have an interval in few runs. Rows of",
    "one world share their draws, so they err alike.",
]
DETECTABLE_TEXT = [
    "It holds where the spread of differences does not depend on their mean. Limit: more hits "
    "spread more, so that users without a difference",
    "name too small a number: 58 to 70% show it.",
]
GUARDRAILS_TEXT = [
    "It holds to within the error of a spread that is estimated from 100 users. Its limit: the "
    "observed gain is a guess. If the models are truly",
    "equal, the same numbers of users pass in 62 to 93%.",
]

PARTS = (shares, detectable, undecided_guardrails)
