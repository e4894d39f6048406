"""The changes since a revision as sentences and a table."""

from collections.abc import Iterator, Sequence

from concord.metrics_core.results.history import Change
from concord.reports.text.blocks import Block, TextTable
from concord.reports.writing import numbers
from concord.reports.writing.verdicts import VERDICTS

HEADER = ("metric", "model", "then", "now", "difference", "p, adjusted", "users who differ")


def describe_changes(
    revision: str, changes: Sequence[Change], notes: Sequence[str]
) -> Iterator[Block]:
    """Yield the notes, a sentence for each changed model, and the table of their numbers."""
    yield from (f"note: {note}" for note in notes)
    if not changes:
        yield f"nothing to compare with {revision}: no requested metric has values per user in both"
        return
    for label in dict.fromkeys(each.label for each in changes):
        of_label = [each for each in changes if each.label == label]
        yield from (_sentence(revision, each) for each in of_label if each.verdict != "identical")
        if same := [each.model for each in of_label if each.verdict == "identical"]:
            yield f"{label}: the same for every user: {', '.join(same)}"
    if rows := [_cells(each) for each in changes if each.verdict != "identical"]:
        yield ""
        yield TextTable(HEADER, rows)


def _sentence(revision: str, change: Change) -> str:
    """Return such as `nDCG@10: ease, against v1.0: better, +0.012 (+0.008 to +0.016, +4.1 %)`."""
    if change.difference is None:
        return f"{change.label}: {change.model} against {revision}: no user has a value in both"
    digits = _digits(change)
    interval = numbers.signed_interval(change.ci_low, change.ci_high, digits)
    relative = "" if change.relative is None else numbers.relative(change.relative)
    details = ", ".join(filter(None, (interval, relative)))
    size = numbers.signed(change.difference, digits) + (f" ({details})" if details else "")
    word = VERDICTS[change.verdict].word
    return f"{change.label}: {change.model}, against {revision}: {word}, {size}"


def _cells(change: Change) -> tuple[str, ...]:
    digits = _digits(change)
    return (
        change.label,
        change.model,
        numbers.number(change.then, digits),
        numbers.number(change.now, digits),
        numbers.signed(change.difference, digits),
        numbers.p_value(change.p_adjusted),
        f"{change.n_nonzero:,} of {change.n_users:,}",
    )


def _digits(change: Change) -> int:
    return numbers.decimals([change], [change.then, change.now])
