"""The convention panel as text: values by definition, pairs that flip, verdicts that change."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import (
    Definition,
    ExcludedPreset,
    PanelEntry,
    Verdict,
)
from concord.reports.text.numbers import number
from concord.reports.text.tables import MANY_MODELS

_N_BEST = 5  # models in table and chart if there are many
_MAX_CHANGES = 4  # pairs or verdicts in one cell


@dataclass(frozen=True)
class Entry:
    """A primary metric under all its definitions.

    Attributes
    ----------
    sentence : str
        Number of definitions that keep the order and the verdicts.
    models : list of str
        Models by rank under the pinned definition.
    definitions : list of Definition
        The pinned definition, then the others by distance from it.
    """

    metric: str
    sentence: str
    models: list[str]
    definitions: list[Definition]
    excluded: Sequence[ExcludedPreset]

    @property
    def pinned(self) -> Definition:
        """The definition of the comparison itself."""
        return self.definitions[0]


@dataclass(frozen=True)
class Cell:
    """Value and rank of a model; `moved` if it has another rank under the pinned definition."""

    value: float | None
    text: str
    rank: str
    moved: bool


@dataclass(frozen=True)
class Change:
    """A verdict against the baseline under the pinned and under another definition."""

    model: str
    before: Verdict | None
    after: Verdict


@dataclass(frozen=True)
class Line:
    """A definition, compared with the pinned one.

    Attributes
    ----------
    names : list of str
        Name of the definition, then presets with the same values.
    changes : str
        Conventions that differ from the pinned ones.
    lacks_value : bool
        True if a model has no value.
    top : str
        The best two models and their values.
    flips : list of tuple
        First pairs with another order, the better model first; `more_flips` counts the others.
    verdict_changes : list of Change
        First verdicts that change; `more_verdict_changes` counts the others.
    """

    names: list[str]
    changes: str
    top_two_hold: bool
    lacks_value: bool
    cells: list[Cell]
    top: str
    flips: list[tuple[str, str]]
    more_flips: int
    verdict_changes: list[Change]
    more_verdict_changes: int


def entries(comparison: Comparison) -> list[Entry]:
    """Return an entry per primary metric with a panel."""
    return [_entry(comparison, row) for row in comparison.panel]


def preset_meanings(panel: Sequence[Entry]) -> dict[str, str]:
    """Return preset -> what it stands for; presets without a meaning are left out."""
    definitions = (definition for entry in panel for definition in entry.definitions)
    return dict(
        sorted(
            pair for d in definitions for pair in zip(d.presets, d.meanings, strict=True) if pair[1]
        )
    )


def _entry(comparison: Comparison, row: PanelEntry) -> Entry:
    pinned, *others = row.definitions
    ranked = _by_rank(pinned.ranks, comparison.ranked)
    return Entry(
        metric=row.metric,
        sentence=_sentence(comparison, row.definitions),
        models=ranked if len(ranked) < MANY_MODELS else ranked[:_N_BEST],
        definitions=[pinned, *sorted(others, key=lambda each: _distance(each, pinned))],
        excluded=row.excluded,
    )


def _sentence(comparison: Comparison, definitions: Sequence[Definition]) -> str:
    total = len(definitions)
    n_same_order = sum(each.top_two_hold for each in definitions)
    n_same_verdicts = sum(not each.verdicts_changed for each in definitions)
    if len(comparison.models) == 1:
        return f"{total} definitions, one model: there is no ranking to change."
    if total == 1:
        return "All definitions give the same values."
    orders = {tuple(each.ranks[model] for model in comparison.models) for each in definitions}
    start = f"The order of the top two holds under {n_same_order} of {total} definitions"
    if len(orders) == 1 and any(next(iter(orders))):
        start = f"All {total} definitions give these models the same order"
    return f"{start}; all verdicts against the baseline hold under {n_same_verdicts} of {total}."


def _by_rank(ranks: Mapping[str, int | None], models: Sequence[str]) -> list[str]:
    return sorted(models, key=lambda model: (ranks[model] is None, ranks[model] or 0))


def _distance(definition: Definition, pinned: Definition) -> float:
    """Return the greatest change of a model's value."""
    pairs = [(definition.values[model], value) for model, value in pinned.values.items()]
    changes = (abs(a - b) for a, b in pairs if a is not None and b is not None)
    return max(changes, default=math.inf)


def lines(comparison: Comparison, entry: Entry) -> list[Line]:
    """Return a line per definition."""
    digits = comparison.decimals[entry.metric]
    return [_line(entry, definition, digits) for definition in entry.definitions]


def _line(entry: Entry, definition: Definition, digits: int) -> Line:
    flips = sorted(definition.flips, key=lambda pair: not set(pair) <= set(entry.models))
    changed = sorted(definition.verdicts_changed, key=lambda model: model not in entry.models)
    pinned_order = _by_rank(entry.pinned.ranks, list(definition.ranks))  # decides ties
    top = _by_rank(definition.ranks, pinned_order)[:2]
    return Line(
        names=names_of(definition),
        changes=definition.changed_text,
        top_two_hold=definition.top_two_hold,
        lacks_value=any(definition.ranks[model] is None for model in entry.models),
        cells=[_cell(entry, definition, model, digits) for model in entry.models],
        top=", ".join(f"{model} {number(definition.values[model], digits)}" for model in top),
        flips=[(b, a) for a, b in flips[:_MAX_CHANGES]],
        more_flips=max(0, len(flips) - _MAX_CHANGES),
        verdict_changes=[_change(entry, definition, model) for model in changed[:_MAX_CHANGES]],
        more_verdict_changes=max(0, len(changed) - _MAX_CHANGES),
    )


def names_of(definition: Definition) -> list[str]:
    """Return the name of a definition, then those of other presets with the same values."""
    return list(dict.fromkeys([definition.name, *definition.presets]))


def _cell(entry: Entry, definition: Definition, model: str, digits: int) -> Cell:
    value, rank = definition.values[model], definition.ranks[model]
    pinned = entry.pinned.ranks[model]
    change = f"{rank}" if pinned in {rank, None} else f"{pinned} → {rank}"
    text = "no value" if rank is None else f"rank {change}"
    return Cell(value, number(value, digits), text, moved=rank != pinned)


def _change(entry: Entry, definition: Definition, model: str) -> Change:
    return Change(model, entry.pinned.verdicts.get(model), definition.verdicts[model])
