"""The convention panel in words: what each library would report, which pairs flip, which verdicts change."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Definition, LeftOut, PanelEntry
from concord.reports.sections.tables import MANY_MODELS
from concord.reports.writing import numbers
from concord.reports.writing.verdicts import VERDICTS

_SHOWN_OF_MANY = 5  # models in the table and the chart from MANY_MODELS on
_TOLD = 4  # pairs or verdicts in one cell


@dataclass(frozen=True)
class Entry:
    """One primary metric under all its definitions, the pinned one first, then by distance from it."""

    metric: str
    sentence: str
    models: list[str]
    definitions: list[Definition]
    left_out: list[LeftOut]

    @property
    def pinned(self) -> Definition:
        return self.definitions[0]


@dataclass(frozen=True)
class Cell:
    """The value and rank of one model; `moved` if the rank is not the one as pinned."""

    value: float | None
    text: str
    rank: str
    moved: bool


@dataclass(frozen=True)
class Change:
    """A verdict against the baseline, as pinned and under another definition."""

    model: str
    before: str
    after: str


@dataclass(frozen=True)
class Line:
    """One definition. A flip is (now above, now below); what is beyond the first few flips and changes is counted in `more_…`."""

    names: list[str]
    says: str
    top_two_hold: bool
    without_value: bool
    cells: list[Cell]
    top: str
    flips: list[tuple[str, str]]
    more_flips: int
    changes: list[Change]
    more_changes: int


def entries(comparison: Comparison) -> list[Entry]:
    return [_entry(comparison, row) for row in comparison.panel]


def lines(comparison: Comparison, entry: Entry) -> list[Line]:
    return [_line(comparison, entry, definition) for definition in entry.definitions]


def names_and_meanings(found: Sequence[Entry]) -> dict[str, str]:
    """What the names of the definitions stand for, where the comparison says so."""
    definitions = [definition for entry in found for definition in entry.definitions]
    told = [
        pair
        for definition in definitions
        for pair in zip(definition.presets, definition.stands_for, strict=False)
    ]
    return dict(sorted(told))


def _entry(comparison: Comparison, row: PanelEntry) -> Entry:
    pinned = row.definitions[0]
    ranked = _by_rank(pinned, comparison.ranked)
    return Entry(
        metric=row.metric,
        sentence=row.sentence,
        models=ranked if len(ranked) < MANY_MODELS else ranked[:_SHOWN_OF_MANY],
        definitions=_nearest_first(row.definitions),
        left_out=list(row.left_out),
    )


def _by_rank(definition: Definition, models: Sequence[str]) -> list[str]:
    ranks = definition.ranks
    return sorted(models, key=lambda model: (ranks[model] is None, ranks[model] or 0))


def _nearest_first(definitions: Sequence[Definition]) -> list[Definition]:
    """The pinned definition, then the others by the greatest change that a model's value sees."""
    pinned, *others = definitions
    return [pinned, *sorted(others, key=lambda definition: _distance(definition, pinned))]


def _distance(definition: Definition, pinned: Definition) -> float:
    pairs = [(definition.values[model], there) for model, there in pinned.values.items()]
    return max(
        (abs(here - there) for here, there in pairs if here is not None and there is not None),
        default=math.inf,
    )


def _line(comparison: Comparison, entry: Entry, definition: Definition) -> Line:
    flips = sorted(definition.flips, key=lambda pair: not set(pair) <= set(entry.models))
    changed = sorted(definition.verdicts_changed, key=lambda model: model not in entry.models)
    return Line(
        names=names_of(definition),
        says=definition.says,
        top_two_hold=definition.top_two_hold,
        without_value=any(definition.ranks[model] is None for model in entry.models),
        cells=[_cell(comparison, entry, definition, model) for model in entry.models],
        top=_top(comparison, entry, definition),
        flips=[(now_above, now_below) for now_below, now_above in flips[:_TOLD]],
        more_flips=max(0, len(flips) - _TOLD),
        changes=[_change(entry, definition, model) for model in changed[:_TOLD]],
        more_changes=max(0, len(changed) - _TOLD),
    )


def names_of(definition: Definition) -> list[str]:
    """The definition's own name, then those of all other presets that give these values."""
    return list(dict.fromkeys([definition.name, *definition.presets]))


def _cell(comparison: Comparison, entry: Entry, definition: Definition, model: str) -> Cell:
    value, rank = definition.values[model], definition.ranks[model]
    before = entry.pinned.ranks[model]
    return Cell(
        value=value,
        text=numbers.number(value, numbers.digits_of(comparison, entry.metric)),
        rank=_rank(before, rank),
        moved=rank != before,
    )


def _rank(before: int | None, rank: int | None) -> str:
    if rank is None:
        return "no value"
    return f"rank {rank}" if before in {rank, None} else f"rank {before} → {rank}"


def _top(comparison: Comparison, entry: Entry, definition: Definition) -> str:
    """The two models that stand first, with their values."""
    as_pinned = _by_rank(entry.pinned, list(definition.ranks))
    first = _by_rank(definition, as_pinned)[:2]  # a tie turns nothing round
    digits = numbers.digits_of(comparison, entry.metric)
    return ", ".join(
        f"{model} {numbers.number(definition.values[model], digits)}" for model in first
    )


def _change(entry: Entry, definition: Definition, model: str) -> Change:
    before = entry.pinned.verdicts.get(model)
    return Change(
        model=model,
        before=VERDICTS[before].word if before else numbers.MISSING,
        after=definition.verdicts[model],
    )
