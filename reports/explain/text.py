"""Derivations as text and as Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from concord.metrics_core.analyses.explain.result import (
    ConventionPath,
    Derivation,
    ExplanationDiff,
    ListedItem,
)
from concord.metrics_core.conventions.registry import CONVENTION
from concord.reports.text.blocks import Block, Heading
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
    yield from _lines(theirs, known_lines=_list_lines(ours))
    yield Heading("--- what makes them differ")
    yield from path_sentences(result.path)


def _title(derivation: Derivation) -> str:
    return f"{derivation.label} of user {derivation.user!r}"


def _lines(derivation: Derivation, known_lines: Sequence[str] = ()) -> Iterator[str]:
    """Yield the derivation, without the lines of its list that are known."""
    listed = _list_lines(derivation)
    new = [line for line in listed if line not in known_lines]
    yield from new
    if len(new) < len(listed):
        yield "  the other lines of the list as above" if new else "  the same list"
    yield from derivation.sums
    yield f"{derivation.label} = {_value(derivation.value, 'left out of the mean')}"


def _list_lines(derivation: Derivation) -> list[str]:
    ranks = map(_rank_line, derivation.listed[:MAX_RANKS])
    more = len(derivation.listed) - MAX_RANKS
    omitted = [f"  … {more} more ranks"] if more > 0 else []
    return [_head(derivation), *ranks, *omitted]


def _head(derivation: Derivation) -> str:
    threshold = derivation.threshold
    relevant = "any grade" if threshold is None else f"grade >= {threshold:g}"
    counts = (
        f"relevant items: {derivation.n_relevant} in the ground truth, {derivation.n_listed} in "
        "the list"
    )
    return f"relevant: {relevant}; {counts}"


def _rank_line(row: ListedItem) -> str:
    item = "(a later copy)" if row.item is None else row.item
    grade = "" if row.grade is None else f", grade {row.grade:g}"
    hit = "" if row.grade is None else f": {_judgement(row)}"
    term = f"  [{row.term}]" if row.term and row.term != "hit" else ""
    return f"  rank {row.rank}: {item}{grade}{hit}{term}"


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
