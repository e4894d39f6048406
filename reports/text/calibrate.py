"""A calibration as text: the best labels for each online metric, and how reliable they are."""

from collections.abc import Iterator

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.calibration import (
    MIN_FOR_TAU,
    PINNED,
    POWER,
    SHARE_TO_FIND,
    Agreement,
    Calibration,
    OnlineMetric,
)
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import (
    MISSING,
    PERCENT,
    confidence_level,
    interval,
    number,
    p_value,
    signed,
    signed_interval,
)

MAX_ROWS = 12  # of an online metric
_DIGITS = 2
_REASONS = {
    "conventions_differ": "control and treatment were evaluated under different conventions",
    "truths_differ": "control and treatment were evaluated on different ground truths",
    "truths_unknown": "it is unknown whether control and treatment have the same ground truth",
    "unlike_other_experiments": "evaluated under other conventions than the other experiments",
}


def describe(calibration: Calibration) -> Iterator[Block]:
    """Yield the number of experiments, then table and sentences of each online metric."""
    compared, skipped = len(calibration.experiments), calibration.skipped
    yield Heading(f"{compared} of {format_count(compared + len(skipped), 'experiment')} compared")
    yield from (f"skipped: {each.experiment}: {_REASONS[each.reason]}" for each in skipped)
    for online in calibration.online:
        yield ""
        interval_head = f"{confidence_level(calibration.confidence)} interval"
        header = (online.name, "definition", "signs", interval_head, "tau", interval_head, "p")
        visible_rows = [
            _cells(each)
            for i, each in enumerate(online.agreements)
            if i < MAX_ROWS or (each.label, each.definition) == (calibration.reference, PINNED)
        ]
        yield TextTable(header, visible_rows)
        if more := len(online.agreements) - len(visible_rows):
            yield f"… {more} more: `to_frame()` and `--csv FILE` have all rows"
        yield ""
        yield from _sentences(calibration, online)


def _cells(row: Agreement) -> tuple[str, ...]:
    return (
        row.label,
        row.definition,
        f"{row.agree}/{row.n}",
        interval(row.low, row.high, _DIGITS) or MISSING,
        signed(row.tau, _DIGITS),
        signed_interval(row.tau_low, row.tau_high, _DIGITS) or MISSING,
        p_value(row.p_tau_best),
    )


def _sentences(calibration: Calibration, online: OnlineMetric) -> Iterator[str]:
    best = online.agreements[0] if online.agreements else None
    if best is None or not best.n:
        yield (
            "No experiment has both an online lift of known sign and an offline difference, so "
            "signs cannot be compared."
        )
        return
    experiments, labels = format_count(best.n, "experiment"), len(online.agreements)
    yield (
        f"{best.label} ({best.definition}) agreed with the sign of {online.name} in "
        f"{best.agree} of {experiments} ({_percent(best.low)} to {_percent(best.high)})."
    )
    if online.n_as_good:
        yield (
            f"{online.n_as_good} more agreed equally often: these experiments cannot separate them."
        )
    yield (
        f"With {experiments}, even perfect agreement has the interval "
        f"{_percent(online.perfect_low)} to {_percent(1)}; it takes "
        f"{calibration.experiments_needed} experiments to distinguish {_percent(SHARE_TO_FIND)} "
        f"from {_percent(0.5)} (power {_percent(POWER)})."
    )
    if best.p_sign_best is not None:
        yield (
            f"It is the best of {labels}: if no metric were related to {online.name}, the best "
            f"would still agree this often with probability {p_value(best.p_sign_best)} "
            f"(permutation); the best of {labels} independent coin flips with probability "
            f"{p_value(online.p_coins)}."
        )
    if best.tau is not None and best.p_tau_best is not None:
        yield (
            f"Rank correlation: tau {signed(best.tau, _DIGITS)}; by chance, the best of {labels} "
            f"would reach it with probability {p_value(best.p_tau_best)}."
        )
    if best.n_unsettled:
        yield (
            f"{format_count(best.n_unsettled, 'experiment')} whose online interval contains 0 did "
            f"not count for signs; {best.agree_unsettled} of them agree."
        )
    if best.n_zero:
        yield (
            f"{format_count(best.n_zero, 'experiment')} with a difference of exactly 0 did not "
            "count for signs."
        )
    if best.n_ranked < MIN_FOR_TAU:
        yield f"With fewer than {MIN_FOR_TAU} experiments there is no interval of tau."


def _percent(share: float | None) -> str:
    return number(100 * (share or 0.0), 0) + PERCENT
