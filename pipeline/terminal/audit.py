"""An audit as text: a line a check, then what each finding means, what it weighs and what to do."""

from collections.abc import Iterator

from concord.metrics_core.auditing.parts import Audit, Finding
from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.comparison.words import one_line, percent
from concord.metrics_core.statistics.paired import FEWEST_INFORMATIVE
from concord.pipeline.terminal.table import console, print_table
from concord.reports.writing.numbers import MISSING, signed

_DIGITS = 4


def print_audit(audit: Audit) -> None:
    """The checks that were made as a table; findings, the most serious first; what could not be checked."""
    out = console()
    made = [finding for finding in audit.findings if finding.count.made]
    out.print(f"{len(audit.found)} of {in_words(len(made), 'check')} found something, {in_words(audit.n_users, 'user')}", style="bold")  # fmt: skip
    labels = list(dict.fromkeys(each.label for finding in made for each in finding.effects))
    print_table(
        ("check", "rows", "users", "items", *labels), [_cells(finding, labels) for finding in made]
    )
    if labels:
        out.print("\nunder a metric: how far it moves without these users, most of all models; turns: so does their order (turns? is not sure)")  # fmt: skip
    for finding in audit.found:
        out.print(f"\n{finding.name} ({finding.count.severity})", style="bold")
        for line in _lines(finding):
            out.print(one_line(line))
    if audit.not_made:
        out.print()
    for finding in audit.not_made:
        out.print(one_line(f"{finding.name}: {_begun(finding.sentence)} {finding.fix}"))
    out.print()
    for note in audit.notes:
        out.print(f"note: {note}")


def _cells(finding: Finding, labels: list[str]) -> tuple[str, ...]:
    count = finding.count
    shares = ((count.rows, count.of_rows), (count.users, count.of_users), (count.items, count.of_items))  # fmt: skip
    return finding.name, *(_share(*each) for each in shares), *(_move(finding, label) for label in labels)  # fmt: skip


def _share(number: int | None, of: int | None) -> str:
    if not number or not of:
        return "0"
    return f"{number:,} ({percent(number / of)})"


def _move(finding: Finding, label: str) -> str:
    """`-0.0123 (als), turns`."""
    moves = [
        (each.shift, each.model)
        for each in finding.effects
        if each.label == label and each.shift is not None and each.n_without >= FEWEST_INFORMATIVE
    ]
    if not moves:
        return MISSING if finding.count.users and finding.count.severity else ""
    shift, model = max(moves, key=lambda move: abs(move[0]))
    turned = [each for each in finding.turns if each.label == label]
    sure = any(each.sure for each in turned)
    turns = ", turns" if sure else ", turns?" if turned else ""
    return f"{signed(shift, _DIGITS)} ({one_line(model)}){turns}"


def _lines(finding: Finding) -> Iterator[str]:
    yield finding.sentence
    yield from finding.weighs
    if finding.fix:
        yield f"do: {finding.fix}"
    for example in finding.examples:
        yield f"e.g. {example}"
    yield f"see: {finding.source}"


def _begun(sentence: str) -> str:
    """In the middle of a line."""
    return f"{sentence[0].lower()}{sentence[1:].rstrip('.')}:"
