"""A reconciliation as text: the definitions that give the numbers, or the nearest ones."""

from collections.abc import Iterator

from concord.metrics_core.analyses.reconcile.result import Reconciliation
from concord.metrics_core.evaluation.definition_search import ConventionMatch
from concord.metrics_core.results.text_format import percent
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import counted, setting
from concord.reports.text.presets import with_null

MAX_MATCHES = 12
HIGH_CHANCE = 0.01  # advice is given above it


def describe(result: Reconciliation) -> Iterator[Block]:
    """Yield the definitions that match; without any, the nearest."""
    matches = result.matches
    numbers = " and ".join(f"{label} = {text}" for label, text in result.values.items())
    if matches:
        plural = "s give" if len(matches) > 1 else " gives"
        yield Heading(f"{len(matches)} definition{plural} {numbers}:")
    else:
        yield Heading(f"No definition gives {numbers}. The nearest are:")
    visible_matches = matches[:MAX_MATCHES] or result.definitions
    values = [*result.values] if len(result.values) > 1 else ["value"]
    chance = ["by chance"] if matches else []
    header = [*values, *chance, "presets", "differs from the requested conventions"]
    yield TextTable(tuple(header), [_row(each, result.n_units) for each in visible_matches])
    if len(matches) > MAX_MATCHES:
        yield f"… {len(matches) - MAX_MATCHES} more"
    if matches:
        yield ""
        yield _chance_sentence(matches[0].chance or 0.0)
    else:
        yield (
            "Other lists, another ground truth or another cutoff give another number too: "
            "compare `concord explain` of one user with the other side."
        )


def _row(match: ConventionMatch, n_units: int) -> tuple[str, ...]:
    changes = "; ".join(f"{name}: {setting(value)}" for name, value in match.changes.items())
    means = [
        f"{mean:.6g}{counted(match.n_units[label], n_units)}" for label, mean in match.means.items()
    ]
    means[-1] += " (cut off, not rounded)" if match.is_cut else ""
    chance = [] if match.chance is None else [percent(match.chance)]
    presets = "; ".join([", ".join(match.presets), *with_null(match.presets_with_null)])
    return (*means, *chance, presets.removeprefix("; ") or "none", changes or "nothing")


def _chance_sentence(chance: float) -> str:
    """Return what the chance of the first match means, and how to lower it."""
    text = (
        "By chance: random numbers with as many digits, within ± 20 % of the given, would have a "
        f"match as close as the first in {percent(chance)} of cases"
    )
    advice = " Give more digits, or a further number of the same source."
    return f"{text}.{advice if chance > HIGH_CHANCE else ''}"
