"""Families of candidates against one baseline: errors of words and joint coverage of intervals."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.families import Family
from benchmarks.simulated import Floats, skewed
from benchmarks.tabulated import generator, markdown_table, rate
from concord.metrics_core.stats.clusters import Clusters

CHECKED = 3  # runs of each row that also go through `concord.compare_values`
GRADES = ((0.1, 1.0), (0.4, 0.5))  # share of users up to which a grade is given
MISSING = 0.2  # share of users whom a model lacks
MEAN_SESSIONS = 5
GAINS = (0.0, 0.1, 0.2, 0.4, 0.8)  # of candidates, as shares of the baseline's mean
Draw = Callable[[np.random.Generator, int, int], Family]  # from users and candidates


def _normals(rng: np.random.Generator, models: int, users: int, correlation: float) -> Floats:
    shared = rng.standard_normal(users)
    own = rng.standard_normal((models, users))
    return math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own


def _gamma(correlation: float) -> Draw:
    """Return a draw of gamma values with shape 2."""

    def draw(rng: np.random.Generator, users: int, candidates: int) -> Family:
        shared = rng.gamma(2 * correlation, 0.1, users)
        return Family(shared + rng.gamma(2 * (1 - correlation), 0.1, (1 + candidates, users)))

    return draw


def _log_normal(rng: np.random.Generator, users: int, candidates: int) -> Family:
    return Family(np.exp(_normals(rng, 1 + candidates, users, 0.5)))


def _luck(rng: np.random.Generator, users: int, candidates: int, correlation: float) -> Floats:
    """Return uniform numbers; hits of two models have about this correlation."""
    is_shared = rng.random((1 + candidates, users)) < math.sqrt(correlation)
    return np.where(is_shared, rng.random(users), rng.random((1 + candidates, users)))


def _hits(share: float, correlation: float = 0.5) -> Draw:
    return lambda rng, users, candidates: Family(
        (_luck(rng, users, candidates, correlation) < share).astype(np.float64)
    )


def _tied(rng: np.random.Generator, users: int, candidates: int) -> Family:
    """Return values of 0, 0.5 and 1, as of grades."""
    luck = _luck(rng, users, candidates, 0.5)
    return Family(np.select([luck < share for share, _ in GRADES], [g for _, g in GRADES]))


def _few_lose(rng: np.random.Generator, users: int, candidates: int) -> Family:
    """Return candidates of whose users 45 % gain 0.1, and 5 % lose 0.9."""
    base = rng.gamma(2, 0.5, users)
    return Family(np.stack([base, *(base + skewed(rng, users) for _ in range(candidates))]))


def _missing(rng: np.random.Generator, users: int, candidates: int) -> Family:
    """Return gamma values; each model lacks 20 % of the users."""
    values = _gamma(0.5)(rng, users, candidates).values
    return Family(np.where(rng.random(values.shape) < MISSING, np.nan, values))


def _sessions(rng: np.random.Generator, users: int, candidates: int) -> Family:
    """Return hits of sessions; a user's own effect on each model makes sessions alike."""
    sessions = rng.geometric(1 / MEAN_SESSIONS, users)
    user = np.repeat(np.arange(users), sessions)
    lift = rng.choice([-0.2, 0.0, 0.2], (1 + candidates, users))
    hit = rng.random((1 + candidates, len(user))) < 0.4 + lift[:, user]
    return Family(hit.astype(np.float64), Clusters(user, users, "requests"))


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    name: str
    draw: Draw
    users: int
    candidates: int
    runs: int


def _cases() -> list[Case]:
    gamma = _gamma(0.5)
    many = [(1, 4_000), (2, 1_000), (5, 800), (20, 300), (50, 150)]
    few = [(10, 1_000), (20, 600), (50, 600), (5_000, 400)]
    values: list[tuple[str, Draw]] = [
        ("log-normal", _log_normal),
        ("hits, 2%", _hits(0.02)),
        ("hits, 10%", _hits(0.1)),
        ("hits, 50%", _hits(0.5)),
        ("grades 0, 0.5, 1", _tied),
        ("gamma, each model lacks 20% of the users", _missing),
        ("sessions of users", _sessions),
    ]
    return [
        *(Case("gamma, correlation 0.5", gamma, 300, m, runs) for m, runs in many),
        *(Case("gamma, correlation 0.5", gamma, n, 5, runs) for n, runs in few),
        *(Case(f"gamma, correlation {c}", _gamma(c), 300, 5, 500) for c in (0.0, 0.9, 0.99)),
        *(Case(name, draw, 300, 5, 1_500) for name, draw in values),
        Case("gamma, correlation 0.5", gamma, 30, 20, 400),
        Case("gamma, each model lacks 20% of the users", _missing, 50, 20, 300),
        Case("sessions of users", _sessions, 30, 5, 200),
        Case("log-normal", _log_normal, 20, 1, 1_000),
        Case("log-normal", _log_normal, 20, 5, 200),
        Case("log-normal", _log_normal, 300, 20, 250),
        Case("hits, 2%", _hits(0.02), 50, 5, 1_000),
        Case("hits, 2%", _hits(0.02), 1_000, 20, 80),
        Case("hits, 2%", _hits(0.02), 5_000, 5, 400),
        Case("hits, 0.2%: about 20 differ", _hits(0.002, 0.0), 5_000, 1, 800),
        Case("hits, 0.2%: about 20 differ", _hits(0.002, 0.0), 5_000, 5, 200),
        Case("hits, 10%", _hits(0.1), 20, 20, 300),
        Case("hits, 50%", _hits(0.5), 20, 5, 300),
        Case("many gain a little, few lose much", _few_lose, 20, 1, 1_000),
        Case("many gain a little, few lose much", _few_lose, 20, 5, 200),
        Case("many gain a little, few lose much", _few_lose, 50, 5, 150),
        Case("many gain a little, few lose much", _few_lose, 300, 1, 2_000),
        Case("many gain a little, few lose much", _few_lose, 300, 5, 500),
        Case("many gain a little, few lose much", _few_lose, 300, 20, 200),
        Case("many gain a little, few lose much", _few_lose, 5_000, 5, 300),
    ]


def no_difference() -> list[str]:
    """All true differences are 0: any word of better or worse is an error."""
    rows = []
    for number, case in enumerate(_cases()):
        errors = uncorrected = too_few = 0
        for run in range(case.runs):
            family = case.draw(generator(61, number, run), case.users, case.candidates)
            if run < CHECKED and family.clusters is None:
                family.check()
            errors += family.has_finding
            uncorrected += any(each.paired.p <= 0.05 for each in family.tests)  # noqa: PLR2004
            too_few += family.words.count("too_few_users")
        rows.append(
            (
                case.name,
                f"{case.users:,}",
                f"{case.candidates}",
                f"{case.runs:,}",
                rate(errors, case.runs),
                rate(uncorrected, case.runs, error=False),
                rate(too_few, case.runs * case.candidates, error=False),
            )
        )
    head = (
        "values",
        "users",
        "candidates",
        "runs",
        "any false word",
        "any p <= 0.05, uncorrected",
        "too few users",
    )
    return [
        "## Families: no difference",
        "",
        "Candidates against one baseline, and all true means are equal. How often any candidate is "
        "called better or worse;",
        f"nominal is 5% at most. The first {CHECKED} runs of each row also go through "
        "`concord.compare_values`, which must give the same",
        "words and intervals (sessions, which it does not take, excepted).",
        "",
        *NO_DIFFERENCE,
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


def true_differences() -> list[str]:
    """Candidates truly differ: the printed intervals contain all true differences at once."""
    worlds: list[tuple[str, Draw, float, int, int]] = [
        ("gamma, correlation 0.5", _gamma(0.5), 0.2, 300, 600),
        ("gamma, correlation 0.5", _gamma(0.5), 0.2, 50, 600),
        ("gamma, correlation 0.5", _gamma(0.5), 0.2, 20, 200),
        ("gamma, correlation 0.9", _gamma(0.9), 0.2, 300, 600),
        ("log-normal", _log_normal, math.exp(0.5), 300, 600),
        ("log-normal", _log_normal, math.exp(0.5), 20, 200),
        ("log-normal", _log_normal, math.exp(0.5), 5_000, 1_000),
        ("hits, 50%, times 1 + gain", _hits(0.5), 0.5, 300, 600),
        ("hits, 10%, times 1 + gain", _hits(0.1), 0.1, 300, 500),
        ("hits, 10%, times 1 + gain", _hits(0.1), 0.1, 5_000, 1_000),
        ("hits, 2%, times 1 + gain", _hits(0.02), 0.02, 1_000, 200),
    ]
    rows = []
    for number, (name, draw, mean, users, runs) in enumerate(worlds):
        together = alone = with_interval = 0
        for run in range(runs):
            drawn = draw(generator(67, number, run), users, len(GAINS))
            family = Family(drawn.values * np.array([1.0, *(1 + gain for gain in GAINS)])[:, None])
            if run < CHECKED:
                family.check()
            covered = [
                low <= gain * mean <= high
                for (low, high), gain in zip(family.intervals, GAINS, strict=True)
                if not math.isnan(low)
            ]
            alone += sum(covered)
            with_interval += len(covered)
            together += all(covered)
        intervals = f"{with_interval / runs:.1f}"
        rows.append(
            (name, f"{users:,}", intervals, rate(together, runs), rate(alone, with_interval))
        )
    gains = ", ".join(f"{gain:.0%}" for gain in GAINS)
    head = ("values", "users", "intervals of 5", "all at once", "each")
    return [
        "## Families: true differences",
        "",
        f"Five candidates, whose values are multiplied so that they gain {gains} of the "
        "baseline's mean. How often the printed",
        "intervals contain all true differences at once, nominal 95%, and each its own.",
        "",
        *TRUE_DIFFERENCES,
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


NO_DIFFERENCE = [
    "It holds to within the errors of the table for symmetric differences: also rare hits, ties,",
    "few users, missing users and sessions. Limit: where many gain a little and few lose much, one",
    "candidate fails with few users, and more candidates fail more often, as each has a chance.",
]
TRUE_DIFFERENCES = [
    "With 50 users or more, coverage is 94% to within the errors of the table. Limit: skewed",
    "values of 20 users.",
]

PARTS = (no_difference, true_differences)
