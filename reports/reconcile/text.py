"""A reconciliation as text: the definitions that give a number, or the nearest ones."""

from collections.abc import Iterator

from concord.metrics_core.analyses.reconcile.result import Reconciliation
from concord.metrics_core.evaluation.definition_search import ConventionMatch
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import setting
from concord.reports.text.presets import with_null

MAX_MATCHES = 12
_HEADER = ("value", "presets", "differs from the requested conventions")


def describe(result: Reconciliation) -> Iterator[Block]:
    """Yield the definitions that match; without any, the nearest."""
    matches = result.matches
    number = f"{result.label} = {result.value}"
    if matches:
        plural = "s give" if len(matches) > 1 else " gives"
        yield Heading(f"{len(matches)} definition{plural} {number}:")
    else:
        yield Heading(f"No definition gives {number}. The nearest are:")
    visible_matches = matches[:MAX_MATCHES] or result.definitions
    yield TextTable(_HEADER, [_row(each) for each in visible_matches])
    if len(matches) > MAX_MATCHES:
        yield f"… {len(matches) - MAX_MATCHES} more"
    if not matches:
        yield (
            "Other lists, another ground truth or another cutoff give another number too: "
            "compare `concord explain` of one user with the other side."
        )


def _row(match: ConventionMatch) -> tuple[str, str, str]:
    changes = "; ".join(f"{name}: {setting(value)}" for name, value in match.changes.items())
    value = f"{match.mean:.6g}" + (" (cut off, not rounded)" if match.is_cut else "")
    presets = "; ".join([", ".join(match.presets), *with_null(match.presets_with_null)])
    return value, presets.removeprefix("; ") or "none", changes or "nothing"
