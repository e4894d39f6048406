"""Prediction-powered estimates as text: means and differences beside people or judge alone."""

from collections.abc import Iterator, Sequence

from concord.metrics_core.results.ppi import (
    JudgeAgreement,
    PoweredDifference,
    PoweredEstimate,
    PredictionPowered,
)
from concord.metrics_core.results.text_format import interval_decimals
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import (
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
_FEW = 10  # sampled queries with a correction


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
            [each.label, f"{each.model} − {each.versus}", *_cells(each), _verdict(each)]
            for each in result.differences
        ]
        yield TextTable(["metric", "difference", *_COLUMNS, "verdict"], rows)
        yield ""
    yield from _legend([*result.means, *result.differences])
    yield ""
    yield from _agreement(result.agreement)


def _cells(row: PoweredEstimate) -> list[str]:
    """Return the cells of an estimate; all numbers have the digits of the narrowest interval."""
    is_mean = row.versus is None
    value, ends = (number, interval) if is_mean else (signed, signed_interval)
    digits = interval_decimals([row], [row.estimate, row.human, row.judge])
    estimates = (
        (row.estimate, row.ci_low, row.ci_high),
        (row.human, row.human_low, row.human_high),
        (row.judge, row.judge_low, row.judge_high),
    )
    worth = row.effective_labels
    return [
        *(
            with_details(value(mean, digits), ends(low, high, digits))
            for mean, low, high in estimates
        ),
        number(row.tuning, 2),
        MISSING if worth is None else f"{worth:,.0f} queries",
    ]


def _verdict(row: PoweredDifference) -> str:
    return VERDICTS[row.verdict].word


def _legend(rows: Sequence[PoweredEstimate]) -> Iterator[str]:
    yield "worth: queries judged by people that would give the same interval without the judge."
    yield "lambda: weight of the judge's values, from 0 (not used) to 1."
    if any(row.ci_low is None for row in rows):
        yield (
            f"Without an interval: fewer than {_FEW} sampled queries, or fewer than {_FEW} whose "
            "values by people differ."
        )
    if any(row.ci_low is not None and row.n_corrected < _FEW for row in rows):
        yield (
            f"Judge and people give different values for fewer than {_FEW} sampled queries in some "
            "rows: the intervals may miss rare errors of the judge."
        )


def _agreement(agreement: JudgeAgreement) -> Iterator[Block]:
    yield (
        f"Judge and people on {agreement.n_documents:,} documents: weighted kappa "
        f"{number(agreement.kappa, 2)}, the same grade for {share(agreement.equal)}."
    )
    grades, predicted = (sorted({row[side] for row in agreement.confusion}) for side in (0, 1))
    if len(grades) > _MAX_GRADES or len(predicted) > _MAX_GRADES:
        return
    counts = {(human, judge): n for human, judge, n in agreement.confusion}
    rows = [
        [f"people {human:g}", *(f"{counts.get((human, judge), 0):,}" for judge in predicted)]
        for human in grades
    ]
    yield TextTable(["", *(f"judge {grade:g}" for grade in predicted)], rows)
