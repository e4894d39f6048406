"""The history as text: a table a primary metric, one line a revision."""

from concord.metrics_core.results.history import History, Revision
from concord.pipeline.terminal.table import console, print_table
from concord.reports.writing import history as written

HEAD = ("what changed", "best model", "against the baseline", "since the revision before")


def print_history(history: History) -> None:
    """The best model of each revision, how it stands against the baseline, and which models changed."""
    out = console()
    for label in history.labels:
        digits = written.digits(history, label)
        rows = [_row(each, label, digits, first=i == 0) for i, each in enumerate(history.revisions)]
        print_table((label, *HEAD), rows)
        out.print()
    if not history.labels:
        print_table(("revision", HEAD[0]), [(written.name(each), written.changed(each, first=False)) for each in history.revisions])  # fmt: skip
        out.print()
    for note in history.notes:
        out.print(f"note: {note}")
    if history.reuse is not None:
        beware = {"serious": "beware: ", "notice": "notice: ", None: ""}[history.reuse.severity]
        out.print(f"{beware}{history.reuse.sentence}")


def _row(revision: Revision, label: str, digits: int, *, first: bool) -> tuple[str, ...]:
    changed = written.changed(revision, first=first)
    ranked = revision.of(label)
    if not ranked:
        return (written.name(revision), changed, "not a primary metric" if revision.standings else "", "", "")  # fmt: skip
    best = ranked[0]
    return (
        written.name(revision),
        changed,
        written.mean(best, digits),
        written.against_baseline(revision, best, digits),
        _since(revision, label, digits),
    )


def _since(revision: Revision, label: str, digits: int) -> str:
    told = [
        f"{each.model} {written.against_former(each, digits)}"
        for each in revision.changes
        if each.label == label
    ]
    if revision.unpaired and not told:
        return "" if revision.gone else f"not comparable: {revision.unpaired}"
    return "; ".join(told) or "the same for every user" * bool(revision.same)
