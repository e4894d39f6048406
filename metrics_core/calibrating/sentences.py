"""What may be said of an agreement with past experiments, and what not."""

from collections.abc import Iterator, Sequence

from concord.metrics_core.calibrating.agreement import (
    FEWEST_FOR_TAU,
    chance_of_best,
    experiments_needed,
    sign_interval,
)
from concord.metrics_core.calibrating.calibration import Agreement

_LEAST = 0.001  # probability that is written out
_SHARE, _POWER = 0.7, 0.8  # what a plan is told for


def told(rows: Sequence[Agreement], confidence: float) -> tuple[str, ...]:
    """In words; `rows` are those of one online metric, best first."""
    best = rows[0] if rows else None
    if best is None or not best.n:
        return ("No experiment has a settled online sign and an offline difference: nothing can be said of signs.",)  # fmt: skip
    return tuple(_sentences(best, rows, confidence))


def _sentences(best: Agreement, rows: Sequence[Agreement], confidence: float) -> Iterator[str]:
    n, many = best.n, len(rows)
    ends = f"{_percent(best.low or 0.0)} to {_percent(best.high or 0.0)}"
    yield f"{_named(best)} agreed with the sign of {best.online} in {best.agree} of {_experiments(n)} ({ends})."
    alike = sum((row.agree, row.n, row.tau) == (best.agree, n, best.tau) for row in rows) - 1
    if alike:
        yield f"{alike} more did exactly as well: these experiments do not tell them apart."
    least, _ = sign_interval(n, n, confidence)
    needed = experiments_needed(_SHARE, 1 - confidence, _POWER)
    yield (
        f"With {_experiments(n)} even perfect agreement leaves {_percent(least)} to 100 %; "
        f"to tell {_percent(_SHARE)} from 50 % takes {needed} experiments (power {_percent(_POWER)})."
    )
    if best.p_sign_best is not None:
        coins = chance_of_best(best.agree, n, many)
        yield (
            f"It is the best of {many}: if none told anything about {best.online}, the best would agree as often with "
            f"probability {_chance(best.p_sign_best)} (permutation); {many} independent coins would with {_chance(coins)}."
        )
    if best.tau is not None and best.p_tau_best is not None:
        yield f"In order: tau {best.tau:.2f}; the best of {many} would reach it by chance with probability {_chance(best.p_tau_best)}."
    if best.n_unsettled:
        yield f"{_experiments(best.n_unsettled)} whose online interval holds 0 did not count for signs; {best.agree_unsettled} of them agree."
    if best.n_zero:
        yield f"{_experiments(best.n_zero)} with a difference of exactly 0 did not count for signs."
    if best.n_ranked < FEWEST_FOR_TAU:
        yield f"Under {FEWEST_FOR_TAU} experiments there is no interval of tau."


def _named(row: Agreement) -> str:
    return f"{row.label} ({row.definition})"


def _experiments(n: int) -> str:
    return "1 experiment" if n == 1 else f"{n} experiments"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _chance(p: float) -> str:
    return f"below {_LEAST}" if p < _LEAST else f"{p:.2g}"
