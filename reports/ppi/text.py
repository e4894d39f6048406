"""Prediction-powered estimates as text: means and differences beside people or judge alone."""

from collections.abc import Iterator

from concord.metrics_core.analyses.ppi.result import (
    JudgeAgreement,
    PoweredEstimate,
    PredictionPowered,
)
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS as FEW
from concord.metrics_core.results.text_format import exact, interval_decimals, join_names
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import (
    MINUS,
    MISSING,
    PERCENT,
    confidence_level,
    interval,
    number,
    share,
    signed,
    signed_interval,
    with_details,
)
from concord.reports.text.verdict_styles import phrase

_COLUMNS = ("people and judge", "people alone", "judge alone, uncorrected", "lambda", "worth")
_MAX_GRADES = 10  # of a confusion table


def describe(result: PredictionPowered) -> Iterator[Block]:
    """Yield the means, the differences, what their columns mean, and the judge's agreement."""
    depth = "whole lists" if result.depth is None else f"the top {result.depth}"
    yield Heading(
        f"People judged {depth} for {result.n_sampled:,} of {result.n_queries:,} users, the judge "
        f"for all; {confidence_level(result.confidence)} intervals"
    )
    for warning in result.warnings:
        yield f"Warning: {warning.sentence} What to do: {warning.fix}."
    rows = [[each.label, each.model, *_cells(each)] for each in result.means]
    yield TextTable(["metric", "model", *_COLUMNS], rows)
    if result.differences:
        yield "A difference has its own lambda, so it is not exactly the difference of these means."
        yield ""
        rows = [
            [
                d.label,
                f"{d.model} {MINUS} {d.versus}",
                *_cells(d),
                phrase(d.verdict, exact(d.min_effect)),
            ]
            for d in result.differences
        ]
        yield TextTable(["metric", "difference", *_COLUMNS, "verdict"], rows)
        levels = sorted({d.level for d in result.differences if d.ci_low is not None})
        if any(level > result.confidence for level in levels):
            each = join_names([f"{100 * level:.4g}{PERCENT}" for level in levels])
            yield (
                "The intervals of differences are corrected for the number of comparisons, and the "
                f"verdict is what they say. Their level is {each}."
            )
    yield ""
    estimates = [*result.means, *result.differences]
    yield (
        "worth: number of users whose lists people would have to judge for the same interval "
        "without the judge."
    )
    if any((row.effective_labels or 0) > result.n_queries for row in estimates):
        yield "It is estimated from the sample, so it can exceed the number of all users."
    yield "lambda: weight of the judge's values, from 0 (not used) to 1."
    if any(round(row.tuning, 2) == 0 and row.estimate != row.people for row in estimates):
        yield (
            "Each sampled user has an own lambda, tuned on the others: with a lambda of 0 the "
            "estimate can still differ from people alone."
        )
    if any(row.ci_low is None for row in estimates):
        yield f"Without an interval: fewer than {FEW} sampled users, or who differ, or no spread."
    if any(row.ci_low is not None and row.n_corrected < FEW for row in estimates):
        yield (
            f"Judge and people give different values for fewer than {FEW} sampled users in some "
            "rows: the intervals may miss rare errors of the judge."
        )
    yield ""
    yield from _agreement(result.agreement)


def _cells(row: PoweredEstimate) -> list[str]:
    """Return the cells of an estimate; all numbers have the digits of its interval."""
    value, ends = (signed, signed_interval) if row.versus else (number, interval)
    digits = interval_decimals([row], [row.estimate, row.people, row.judge])
    return [
        with_details(value(row.estimate, digits), ends(row.ci_low, row.ci_high, digits)),
        with_details(value(row.people, digits), ends(row.people_low, row.people_high, digits)),
        value(row.judge, digits),
        number(row.tuning, 2),
        MISSING if row.effective_labels is None else f"{row.effective_labels:,.0f} users",
    ]


def _agreement(agreement: JudgeAgreement) -> Iterator[Block]:
    yield (
        f"Judge and people on {agreement.n_documents:,} items: weighted kappa "
        f"{number(agreement.kappa, 2)}, the same grade for {share(agreement.equal)}."
    )
    grades, predicted = (sorted({row[side] for row in agreement.confusion}) for side in (0, 1))
    if max(len(grades), len(predicted)) > _MAX_GRADES:
        return
    counts = {(people, judge): f"{n:,}" for people, judge, n in agreement.confusion}
    rows = [[f"people {g:g}", *(counts.get((g, p), "0") for p in predicted)] for g in grades]
    yield TextTable(["", *(f"judge {grade:g}" for grade in predicted)], rows)
