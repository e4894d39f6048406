"""Derivations as text and as Markdown."""

from collections.abc import Iterator, Mapping
from typing import Any

from concord.metrics_core.analyses.explain.result import (
    ConventionPath,
    Derivation,
    ExplanationDiff,
    ListedItem,
)
from concord.metrics_core.conventions.registry import CONVENTION
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import conventions_name, setting

MAX_RANKS = 20


def describe(result: Derivation | ExplanationDiff) -> Iterator[Block]:
    """Yield the list rank by rank and the formula; for two definitions, also why they differ."""
    if isinstance(result, Derivation):
        yield f"{_title(result)}, conventions {conventions_name(result.conventions)}"
        yield from _lines(result)
        return
    ours, theirs = result.ours, result.theirs
    yield Heading(f"--- {conventions_name(ours.conventions)}")
    yield _title(ours)
    yield from _lines(ours)
    yield Heading(f"--- {conventions_name(theirs.conventions)}")
    yield from _lines(theirs, known=ours)
    yield Heading("--- what makes them differ")
    yield from path_sentences(result.path)


def _title(derivation: Derivation) -> str:
    return f"{derivation.label} of user {derivation.user!r}"


def _lines(derivation: Derivation, known: Derivation | None = None) -> Iterator[Block]:
    """Yield the derivation; of its list only the ranks that differ from a known one."""
    rows = list(map(_row, derivation.listed))
    known_rows = [] if known is None else list(map(_row, known.listed))
    if len(known_rows) != len(rows):  # a copy is left out: the whole list is shown again
        known_rows = []
    new = [row for row in rows if row not in known_rows]
    if known is None or _head(derivation) != _head(known):
        yield _head(derivation)
    if new:
        header = ("rank", "item", "grade", "judged", "adds")
        n_columns = 5 if any(adds for *_, adds in rows) else 4
        yield TextTable(header[:n_columns], [row[:n_columns] for row in new[:MAX_RANKS]])
    if len(new) > MAX_RANKS:
        yield f"… {len(new) - MAX_RANKS} more ranks"
    if len(new) < len(rows):
        yield "the other ranks as above" if new else "the same list"
    yield from derivation.sums
    yield f"{derivation.label} = {_value(derivation.value, 'left out of the mean')}"


def _head(derivation: Derivation) -> str:
    threshold = derivation.threshold
    relevant = "any grade" if threshold is None else f"grade >= {threshold:g}"
    counts = (
        f"relevant items: {derivation.n_relevant} in the ground truth, {derivation.n_listed} in "
        "the list"
    )
    return f"relevant: {relevant}; {counts}"


def _row(row: ListedItem) -> tuple[str, ...]:
    grade, mark = ("", "") if row.grade is None else (f"{row.grade:g}", _judgement(row))
    item = "(a later copy)" if row.item is None else f"{row.item}"
    return f"{row.rank}", item, grade, mark, "" if row.term == "hit" else row.term


def _judgement(row: ListedItem) -> str:
    if row.grade is not None and row.grade < 0:
        return "pooled, not judged"
    return "hit" if row.relevant else "not relevant"


def _value(value: float | None, missing: str = "left out") -> str:
    return missing if value is None else f"{value:.6g}"


def path_sentences(path: ConventionPath) -> Iterator[str]:
    """Yield the effect of each decisive convention, then of all of them together."""
    if not path.changed:
        yield "nothing: both define this metric in the same way"
        return
    if not path.decisive:
        yield f"nothing on this list: both give {_value(path.ours)}"
        return
    result = f"{_value(path.ours)} becomes {_value(path.theirs)}"
    if len(path.decisive) == 1:
        (name,) = path.decisive
        yield f"{_change(name, *path.changed[name])}: {result}"
    else:
        for name in path.decisive:
            change = _change(name, *path.changed[name])
            yield f"{change}; alone it gives {_value(path.alone[name])}"
        yield f"{' and '.join(path.decisive)}: {result}"
    if others := [name for name in path.changed if name not in path.decisive]:
        yield f"without effect here: {', '.join(others)}"


def _change(name: str, before: Any, after: Any) -> str:
    """Return `gain: linear → exp2 (2^grade - 1)`."""
    meaning = CONVENTION[name].explain(after) if name in CONVENTION else ""
    explanation = f" ({meaning})" if meaning else ""
    return f"{name}: {setting(_dict(before))} → {setting(_dict(after))}{explanation}"


def _dict(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
