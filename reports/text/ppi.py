"""Prediction-powered estimates as text: means and differences beside people or judge alone."""

from collections.abc import Iterator

from concord.metrics_core.results.ppi import JudgeAgreement, PoweredEstimate, PredictionPowered
from concord.metrics_core.results.text_format import interval_decimals
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import (
    MINUS,
    MISSING,
    confidence_level,
    interval,
    number,
    share,
    signed,
    signed_interval,
    with_details,
)
from concord.reports.text.verdict_styles import VERDICTS

_COLUMNS = ("people and judge", "people alone", "judge alone, uncorrected", "lambda", "worth")
_MAX_GRADES = 10  # of a confusion table
_FEW = 10  # sampled queries


def describe(result: PredictionPowered) -> Iterator[Block]:
    """Yield the means, the differences, what their columns mean, and the judge's agreement."""
    depth = "whole lists" if result.depth is None else f"the top {result.depth}"
    yield Heading(
        f"{result.n_sampled:,} of {result.n_queries:,} queries judged by people in {depth}, all by "
        f"the judge; {confidence_level(result.confidence)} intervals"
    )
    rows = [[each.label, each.model, *_cells(each)] for each in result.means]
    yield TextTable(["metric", "model", *_COLUMNS], rows)
    yield ""
    if result.differences:
        rows = [
            [d.label, f"{d.model} {MINUS} {d.versus}", *_cells(d), VERDICTS[d.verdict].word]
            for d in result.differences
        ]
        yield TextTable(["metric", "difference", *_COLUMNS, "verdict"], rows)
        yield ""
    yield "worth: queries judged by people that would give the same interval without the judge."
    yield "lambda: weight of the judge's values, from 0 (not used) to 1."
    estimates = [*result.means, *result.differences]
    if any(row.ci_low is None for row in estimates):
        yield f"Without an interval: fewer than {_FEW} sampled queries, or {_FEW} that differ."
    if any(row.ci_low is not None and row.n_corrected < _FEW for row in estimates):
        yield (
            f"Judge and people give different values for fewer than {_FEW} sampled queries in some "
            "rows: the intervals may miss rare errors of the judge."
        )
    yield ""
    yield from _agreement(result.agreement)


def _cells(row: PoweredEstimate) -> list[str]:
    """Return the cells of an estimate; all numbers have the digits of its interval."""
    value, ends = (signed, signed_interval) if row.versus else (number, interval)
    digits = interval_decimals([row], [row.estimate, row.human, row.judge])
    return [
        with_details(value(row.estimate, digits), ends(row.ci_low, row.ci_high, digits)),
        with_details(value(row.human, digits), ends(row.human_low, row.human_high, digits)),
        value(row.judge, digits),
        number(row.tuning, 2),
        MISSING if row.effective_labels is None else f"{row.effective_labels:,.0f} queries",
    ]


def _agreement(agreement: JudgeAgreement) -> Iterator[Block]:
    yield (
        f"Judge and people on {agreement.n_documents:,} documents: weighted kappa "
        f"{number(agreement.kappa, 2)}, the same grade for {share(agreement.equal)}."
    )
    grades, predicted = (sorted({row[side] for row in agreement.confusion}) for side in (0, 1))
    if max(len(grades), len(predicted)) > _MAX_GRADES:
        return
    counts = {(human, judge): f"{n:,}" for human, judge, n in agreement.confusion}
    rows = [[f"people {g:g}", *(counts.get((g, p), "0") for p in predicted)] for g in grades]
    yield TextTable(["", *(f"judge {grade:g}" for grade in predicted)], rows)
