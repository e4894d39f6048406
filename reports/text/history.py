"""A history as text: a table for each primary metric, and notes."""

from collections.abc import Iterator

from concord.metrics_core.results.history import History, Revision
from concord.reports.text.blocks import Block, TextTable
from concord.reports.writing import history as cells

HEADER = ("what changed", "best model", "against the baseline", "since the revision before")
PREFIXES = {"serious": "warning: ", "notice": "notice: ", None: ""}


def describe(history: History) -> Iterator[Block]:
    """Yield the best model of each revision, its difference to the baseline, and the models that changed."""
    revisions = list(enumerate(history.revisions))
    for label in history.labels:
        digits = cells.digits(history, label)
        rows = [_row(each, label, digits, first=i == 0) for i, each in revisions]
        yield TextTable((label, *HEADER), rows)
        yield ""
    if not history.labels:
        rows = [(cells.name(each), cells.changed(each, first=False)) for _, each in revisions]
        yield TextTable(("revision", HEADER[0]), rows)
        yield ""
    yield from (f"note: {note}" for note in history.notes)
    if history.reuse is not None:
        yield f"{PREFIXES[history.reuse.severity]}{history.reuse.sentence}"


def _row(revision: Revision, label: str, digits: int, *, first: bool) -> tuple[str, ...]:
    name, changed = cells.name(revision), cells.changed(revision, first=first)
    ranked = revision.standings_of(label)
    if not ranked:
        return (name, changed, "not a primary metric" if revision.standings else "", "", "")
    best = ranked[0]
    return (
        name,
        changed,
        cells.mean(best, digits),
        cells.against_baseline(revision, best, digits),
        _changes(revision, label, digits),
    )


def _changes(revision: Revision, label: str, digits: int) -> str:
    """Return how each model differs from its version of the revision before."""
    differences = [
        f"{each.model} {cells.against_former(each, digits)}"
        for each in revision.changes
        if each.label == label
    ]
    if revision.unpaired and not differences:
        return "" if revision.gone else f"not comparable: {revision.unpaired}"
    return "; ".join(differences) or ("the same for every user" if revision.same else "")
