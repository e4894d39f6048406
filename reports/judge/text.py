"""What unjudged items can change as text: bounds by metric, and what to judge next."""

from collections.abc import Iterator

from concord.metrics_core.analyses.judge.result import Judging, ScoreBounds
from concord.metrics_core.errors import format_count
from concord.metrics_core.results.text_format import percent
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import number, signed

_SHOWN = 10  # items to judge; the table has all
_DIGITS = 4
_OUTER = "*"  # marks a bound that may not be attained


def describe(judging: Judging) -> Iterator[Block]:
    """Yield the bounds by metric, and the first items to judge."""
    yield (
        f"{format_count(judging.n_unjudged, 'unjudged item')} in the lists for "
        f"{format_count(judging.n_users, 'user')}: each may get a grade up to "
        f"{judging.max_grade:g}. Items that no list holds count as not relevant."
    )
    for label in dict.fromkeys(each.label for each in judging.scores):
        yield ""
        yield Heading(label)
        scores = [each for each in judging.scores if each.label == label]
        yield _score_table(scores)
        if scores[0].n_users < judging.n_users:
            yield (
                f"now: over {scores[0].n_users:,} of {format_count(judging.n_users, 'user')}; the "
                "others have no relevant item so far."
            )
        if pairs := [each for each in judging.differences if each.label == label]:
            header = ["difference", "now", "lowest", "highest", "once all are judged"]
            yield TextTable(header, [_difference_row(each) for each in pairs])
    if not all(each.is_exact for each in judging.differences):
        yield f"{_OUTER} No judgement leads beyond this bound, but perhaps none leads to it."
    yield ""
    if not judging.next:
        reason = ": no judgement reverses a difference on the first metric"
        yield f"There is nothing to judge{reason if judging.differences else ''}."
        return
    yield Heading(f"To judge next: {format_count(len(judging.next), 'item')}")
    shown = judging.next[:_SHOWN]
    header = ["user", "item", "weight", "ranks"]
    rows = [[each.user, each.item, f"{each.weight:.2g}", each.ranks] for each in shown]
    if any(each.title for each in shown):
        header.append("title")
        rows = [[*row, each.title or ""] for row, each in zip(rows, shown, strict=True)]
    yield TextTable(header, rows)
    if len(judging.next) > _SHOWN:
        yield f"and {len(judging.next) - _SHOWN} more"


def _score_table(scores: list[ScoreBounds]) -> TextTable:
    header = ["model", "now", "lowest", "highest", "judged", "residual"]
    rows = [
        [
            each.model,
            *(number(value, _DIGITS) for value in (each.current, each.low, each.high)),
            percent(each.judged or 0.0),
            *([] if each.residual is None else [number(each.residual, _DIGITS)]),
        ]
        for each in scores
    ]
    return TextTable(header[: len(rows[0])], rows)


def _difference_row(bounds: ScoreBounds) -> list[str]:
    mark = "" if bounds.is_exact else _OUTER
    ends = [signed(bounds.low, _DIGITS) + mark, signed(bounds.high, _DIGITS) + mark]
    names = f"{bounds.model} - {bounds.versus}"
    return [names, signed(bounds.current, _DIGITS), *ends, _outcome(bounds)]


def _outcome(bounds: ScoreBounds) -> str:
    """Return who can win once all are judged."""
    if bounds.is_open:
        return "open"
    if bounds.low == bounds.high == 0:
        return "equal"
    winner = bounds.model if bounds.low >= 0 else bounds.versus
    return f"{winner}, or equal" if 0 in {bounds.low, bounds.high} else f"{winner}"
