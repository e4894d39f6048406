"""A verification as text: published next to recomputed means, and what explains the gaps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from concord.metrics_core.analyses.verify.result import PublishedMean, Verification
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import counted, setting
from concord.reports.text.presets import with_null

MAX_PRESETS = 5  # named in one cell or sentence
_CUT = " (cut off, not rounded)"
_HEADER = ("model", "metric", "published", "recomputed", "difference", "given by")


def describe(result: Verification) -> Iterator[Block]:
    """Yield the table of means, then what gives most of it."""
    n_agree = sum(each.agrees for each in result.values)
    yield Heading(f"{n_agree} of {len(result.values)} published means agree:")
    yield TextTable(_HEADER, [_row(each) for each in result.values])
    if result.explanations:
        yield ""
        yield _explanation(result)
    if any(not each.definitions for each in result.values):
        yield (
            "No definition gives a mean marked `nothing`. Check its model, lists, ground truth "
            "and cutoff; `concord reconcile` shows the nearest definitions."
        )


def _row(value: PublishedMean) -> tuple[str, ...]:
    mean = f"{value.mean:.6g}{counted(value.n_units, value.n_truth)}"
    numbers = (value.value, mean, f"{value.mean - value.published:+.2g}")
    return value.model, value.label, *numbers, _given_by(value)


def _given_by(value: PublishedMean) -> str:
    if value.agrees:
        return "your conventions" + _CUT * value.is_cut
    if not value.definitions:
        return "nothing"
    best = value.definitions[0]
    names = [_names(best.presets), *with_null(_limited(best.presets_with_null))]
    return ("; ".join(filter(None, names)) or _changes(best.changes)) + _CUT * best.is_cut


def _explanation(result: Verification) -> str:
    """Return the presets, and the changes, that give the most published means."""
    n_values, total = result.explanations[0].n_values, len(result.values)
    presets = [each.preset for each in result.explanations if each.preset and not each.changes]
    null = [each.preset for each in result.explanations if each.preset and each.changes]
    changes = [each.changes for each in result.explanations if not each.preset]
    plural = "s" if len(presets) > 1 else ""
    parts = [f"preset{plural} {_names(presets)}"] if presets else []
    parts += with_null(_limited(null))
    parts += [f"your conventions with {_changes(changes[0])}"] if changes else []
    explained = ", or ".join(parts)
    if total == 1:
        return f"The mean is explained by {explained}."
    count = f"All {total}" if n_values == total else f"{n_values} of {total}"
    return f"{count} means have a joint explanation: {explained}."


def _names(presets: Sequence[str]) -> str:
    return ", ".join(_limited(presets))


def _limited(presets: Sequence[str]) -> list[str]:
    """Return at most `MAX_PRESETS` names; the last also counts the others."""
    more = len(presets) - MAX_PRESETS
    names = list(presets[:MAX_PRESETS])
    return [*names[:-1], f"{names[-1]} and {more} more"] if more > 0 else names


def _changes(changes: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {setting(value)}" for name, value in changes.items())
