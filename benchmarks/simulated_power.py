"""Whether planned numbers of users give the planned power, beside plans by a wrong formula."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.simulated import Floats, mean_of_pair, pair, skewed
from benchmarks.tabulated import Row, generator, markdown_table, rate
from concord.metrics_core.stats.mean_interval import t_quantile
from concord.metrics_core.stats.paired_difference import PairedTest
from concord.metrics_core.stats.paired_test import UserValues, paired_test
from concord.metrics_core.stats.power import (
    Claim,
    VarianceComponents,
    claim_power,
    difference_claim,
    equivalence_claim,
    min_users,
    non_inferiority_claim,
    seeds_needed,
    superiority_claim,
    users_needed,
    variance_from_error,
)
from concord.metrics_core.stats.verdict import verdict

ALPHA, POWER = 0.05, 0.8
RUNS = 4_000
PILOT = 2_000_000  # users, from whom the spread is known as good as exactly
TESTS = 20
PLANS = 2_000
SEED_RUNS = 4_000
Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]
Criterion = Callable[[PairedTest], bool]


@dataclass(frozen=True)
class Case:
    """Two models, and the true difference of their means."""

    name: str
    draw: Draw
    effect: float

    def spreads(self) -> tuple[float, float]:
        """Standard deviation of users' differences, and of two samples of different users."""
        a, b = self.draw(generator(41), PILOT)
        return float((a - b).std()), math.sqrt(float(a.var() + b.var()))


LIFT, SPARSE_LIFT, GAIN = 0.1, 0.3, 0.02
CASES = (
    Case("half of the users hit", partial(pair, hit_rate=0.5, lift=LIFT), mean_of_pair(0.5, LIFT)),
    Case(
        "5% of the users hit",
        partial(pair, hit_rate=0.05, lift=SPARSE_LIFT),
        mean_of_pair(0.05, SPARSE_LIFT),
    ),
    Case(
        "many gain a little, few lose much",
        lambda rng, users: (skewed(rng, users, GAIN), np.zeros(users)),
        GAIN,
    ),
)


def to_find() -> list[str]:
    """A true difference is significant in 80 % of runs: alone, and as one of twenty tests."""
    rows: list[Row] = []
    for case in CASES:
        sd, unpaired = case.spreads()
        for tests in (1, TESTS):
            level = ALPHA / tests
            plans = [
                _users(difference_claim(level), case.effect, sd),
                _users(difference_claim(2 * level), case.effect, sd),
                _users(difference_claim(level), case.effect, unpaired),
            ]
            criterion = partial(_is_significant, level=level)
            cells = [_measured(case, users, criterion) for users in plans]
            rows.append(
                (
                    case.name,
                    f"{tests}",
                    *(x for c in zip(_counts(plans), cells, strict=True) for x in c),
                )
            )
    return [
        "## Planned users: a difference to be found",
        "",
        f"Users planned for {POWER:.0%} power at the true difference, and how often so many find "
        f"it ({RUNS:,} runs); beside them",
        "the plans of a one-sided test, which are too small, and of the spread of two samples of "
        "other users, which are",
        "too large; where few lose much, as many users as are planned miss some of those who do.",
        "",
        *markdown_table(
            (
                "differences",
                "tests",
                "users",
                "found",
                "one-sided: users",
                "found",
                "unpaired: users",
                "found",
            ),
            rows,
        ),
    ]


def to_call_better() -> list[str]:
    """`better` needs more than significance: the interval must exceed `min_effect`."""
    rows: list[Row] = []
    for case in CASES:
        sd, _ = case.spreads()
        least = case.effect / 2
        for tests in (1, TESTS):
            level = ALPHA / tests
            plans = [
                _users(superiority_claim(least, level), case.effect, sd),
                _users(difference_claim(level), case.effect, sd),
            ]
            criterion = partial(_has_verdict, "better", min_effect=least, level=level)
            cells = [_measured(case, users, criterion) for users in plans]
            rows.append(
                (
                    case.name,
                    f"{tests}",
                    *(x for c in zip(_counts(plans), cells, strict=True) for x in c),
                )
            )
    return [
        "## Planned users: the verdict `better`",
        "",
        f"`min_effect` is half of the true difference. Planned for {POWER:.0%}, and how often "
        "`better` is said; beside it the plan",
        "that forgets the margin. With 20 tests, the interval is that of a family with "
        "Bonferroni's level.",
        "",
        "Changed: the whole interval is at the level of the family, so 20 tests need more users "
        "than one.",
        "",
        *markdown_table(
            ("differences", "tests", "users", "better", "margin forgotten: users", "better"), rows
        ),
    ]


def to_keep_up() -> list[str]:
    """Two equal models: a guardrail passes, and the verdict is `equivalent`, in 80 % of runs."""
    rows: list[Row] = []
    for hit_rate in (0.5, 0.05):
        margin = mean_of_pair(hit_rate, 0.1)
        equal = Case(f"{hit_rate:.0%} of the users hit", partial(pair, hit_rate=hit_rate), 0.0)
        sd, _ = equal.spreads()
        guard = [_users(non_inferiority_claim(margin, a), 0.0, sd) for a in (ALPHA, 2 * ALPHA)]
        tost = [
            _users(equivalence_claim(margin, ALPHA), 0.0, sd),
            _users(non_inferiority_claim(margin, ALPHA), 0.0, sd),
        ]
        above_margin = partial(_above, bound=-margin)
        is_equivalent = partial(_has_verdict, "equivalent", min_effect=margin, level=ALPHA)
        for name, plans, criterion in (
            ("guardrail", guard, above_margin),
            ("equivalent", tost, is_equivalent),
        ):
            cells = [_measured(equal, users, criterion) for users in plans]
            rows.append(
                (equal.name, name, *(x for c in zip(_counts(plans), cells, strict=True) for x in c))
            )
    return [
        "## Planned users: models that are alike",
        "",
        f"Planned for {POWER:.0%}: that a guardrail passes, and that `equivalent` is said, with a "
        "margin of 10% of the mean. Beside",
        "them a guardrail planned with one-sided 5% (the gate has 2.5%), and equivalence planned "
        "with one side alone.",
        "",
        *markdown_table(("models", "shown", "users", "shown", "wrong plan: users", "shown"), rows),
    ]


def from_users() -> list[str]:
    """Plan with the spread of the existing users, as `concord plan` does; then draw others."""
    rows: list[Row] = []
    for case in CASES:
        for known_users in (100, 300, 1_000, 5_000):
            plans = [_from_users(case, known_users, run) for run in range(PLANS)]
            planned = [users for users in plans if users is not None]
            successes = 0
            for run, users in enumerate(planned):
                a, b = case.draw(generator(59, known_users, run), users)
                successes += _is_significant(
                    paired_test(UserValues(a), UserValues(b), confidence=1 - ALPHA), ALPHA
                )
            low, middle, high = (f"{np.quantile(planned, q):,.0f}" for q in (0.05, 0.5, 0.95))
            cells = (f"{low} to {high}", middle, rate(successes, len(planned)))
            rows.append(
                (case.name, f"{known_users:,}", rate(len(planned), PLANS, error=False), *cells)
            )
    return [
        "## Planned users: from the users who are there",
        "",
        f"Each of {PLANS:,} plans takes its spread from other users and is then tried once, on "
        "users of the number that it",
        "names. A single plan from some hundred users may be off by half; over all of them the "
        "power is close to what was",
        f"planned, {POWER:.0%}. Under six users who differ there is no plan: of the pilots of 100 "
        "users of whom 5% are hit, those",
        "that have one vary more than others, so that they ask for too many.",
        "",
        *markdown_table(
            ("differences", "users there", "planned", "users planned, 9 in 10", "median", "found"),
            rows,
        ),
    ]


def _from_users(case: Case, known_users: int, run: int) -> int | None:
    a, b = case.draw(generator(53, known_users, run), known_users)
    test = paired_test(UserValues(a), UserValues(b), confidence=1 - ALPHA)
    if math.isnan(test.p):
        return None
    spread = variance_from_error(test.standard_error, known_users)
    assert spread is not None, "there is a test"
    needed = users_needed(difference_claim(ALPHA), case.effect, spread, power=POWER)
    return None if needed is None else max(needed, min_users(known_users, test.n_nonzero))


def over_trainings() -> list[str]:
    """Users and trainings both vary: half² = t(n - 1)² s_u² / n + t(R - 1)² s_r² / R."""
    users, effect = 1_000, 0.02
    rows: list[Row] = []
    for of_trainings in (0.003, 0.006, 0.01):
        spread = VarianceComponents(0.15, of_trainings)
        right = seeds_needed(difference_claim(ALPHA), effect, spread, power=POWER, users=users) or 0
        normal = _normal_seeds(effect, spread, users)
        cells = [f"{of_trainings}"]
        for seeds in (right, normal):
            power = claim_power(difference_claim(ALPHA), effect, spread, users=users, seeds=seeds)
            cells += [f"{seeds}", f"{power:.1%}", _over_trainings(spread, effect, users, seeds)]
        rows.append(tuple(cells))
    return [
        "## Planned trainings",
        "",
        f"{users:,} users whose differences have sd 0.15, a true difference of {effect}: "
        "trainings of each model planned for",
        f"{POWER:.0%} at least, the power that so many have, and how often the interval over new "
        "users and new trainings shows it",
        f"({SEED_RUNS:,} runs). Beside it the plan that takes 1.96 for t(R - 1), as if few "
        "trainings told how much they vary.",
        "",
        *markdown_table(
            (
                "sd of trainings",
                "trainings",
                "power",
                "found",
                "with 1.96: trainings",
                "power",
                "found",
            ),
            rows,
        ),
    ]


PARTS = (to_find, to_call_better, to_keep_up, from_users, over_trainings)


def _users(claim: Claim, effect: float, sd: float) -> int:
    needed = users_needed(claim, effect, VarianceComponents(sd), power=POWER)
    assert needed is not None, "every claim here can be shown"
    return needed


def _counts(plans: list[int]) -> list[str]:
    return [f"{users:,}" for users in plans]


def _measured(case: Case, users: int, criterion: Criterion) -> str:
    """Return how often this number of users meets the criterion."""
    count = 0
    for run in range(RUNS):
        a, b = case.draw(generator(43, users, run), users)
        count += criterion(paired_test(UserValues(a), UserValues(b), confidence=1 - ALPHA))
    return rate(count, RUNS)


def _is_significant(test: PairedTest, level: float) -> bool:
    return test.p < level and test.difference > 0


def _above(test: PairedTest, bound: float) -> bool:
    return test.interval(1 - ALPHA)[0] > bound


def _has_verdict(word: str, test: PairedTest, min_effect: float, level: float) -> bool:
    """True if the interval at 1 - `level` has this verdict."""
    decision = verdict(
        test,
        test.interval(1 - level),
        alpha=level,
        min_effect=min_effect,
        higher_is_better=True,
    )
    return decision == word


def _normal_seeds(effect: float, variance: VarianceComponents, users: int) -> int:
    """((1.96 + 0.84) / effect)² · (s_u² / n + s_r² / R) <= 1, solved for R; two at least."""
    allowed = (effect / (1.959964 + 0.841621)) ** 2 - variance.sd_users**2 / users
    return max(math.ceil(variance.sd_seeds**2 / allowed), 2)


def _over_trainings(variance: VarianceComponents, effect: float, users: int, seeds: int) -> str:
    """Return the power with normal means of users and trainings, without a residual."""
    successes = 0
    for run in range(SEED_RUNS):
        rng = generator(47, seeds, run)
        of_users = rng.normal(0, variance.sd_users, users)
        of_trainings = rng.normal(0, variance.sd_seeds, seeds)
        difference = effect + of_users.mean() + of_trainings.mean()
        half = math.hypot(
            t_quantile(users, 1 - ALPHA) * of_users.std(ddof=1) / math.sqrt(users),
            t_quantile(seeds, 1 - ALPHA) * of_trainings.std(ddof=1) / math.sqrt(seeds),
        )
        successes += difference - half > 0
    return rate(successes, SEED_RUNS)
