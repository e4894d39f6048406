"""Convention panel: one metric on the same lists under the definitions of all presets.

Lists are ranked once, as configured, and grades keep the scale of the data. All other conventions
are those of the preset.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.library_presets import SEARCH_PRESETS
from concord.metrics_core.conventions.presets import (
    UNWEIGHTED,
    defines,
    preset,
    presets,
    with_data_conventions,
)
from concord.metrics_core.conventions.registry import CONVENTION, CONVENTIONS
from concord.metrics_core.evaluation.score import definition_problem
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.scope import depends_on

GIVEN_ORDER = "truth_given_order_at_k"


@dataclass(frozen=True)
class Definition:
    """A definition of a label, and the presets that have it.

    Attributes
    ----------
    label : Label
        The label.
    number : int
        0 for the pinned definition.
    presets : tuple of str
        Presets with this definition; (UNWEIGHTED,) for the pinned one without propensities.
    conventions : Conventions
        Conventions of the definition.
    """

    label: Label
    number: int
    presets: tuple[str, ...]
    conventions: Conventions

    @property
    def column(self) -> str:
        """Name of its column of values."""
        return f"{self.label}#{self.number}"


@dataclass(frozen=True)
class Panel:
    """Definitions of a label.

    Attributes
    ----------
    definitions : tuple of Definition
        The pinned definition first.
    excluded : Mapping[str, str]
        Why a preset cannot be computed, by its name.
    """

    definitions: tuple[Definition, ...]
    excluded: Mapping[str, str]


def panel(label: Label, pinned: Conventions) -> Panel:
    """Return all definitions of a label in the presets; presets with equal definitions share one.

    With propensities, the pinned definition without them is added.
    """
    per_preset = {
        name: _with_data(label, preset(name), pinned)
        for name in presets()
        if defines(name, label.name) and (name not in SEARCH_PRESETS or name == pinned.preset)
    }
    excluded = {
        name: why
        for name, conventions in per_preset.items()
        if (why := panel_problem(label, conventions, pinned))
    }
    groups: dict[str, list[str]] = {definition_content(label, pinned): []}
    for name in per_preset.keys() - excluded.keys():
        groups.setdefault(definition_content(label, per_preset[name]), []).append(name)
    order = list(per_preset)
    preset_groups = [sorted(names, key=order.index) for names in groups.values()]
    preset_groups[1:] = sorted(preset_groups[1:], key=lambda names: order.index(names[0]))
    definitions = [
        Definition(label, number, tuple(names), per_preset[names[0]] if number else pinned)
        for number, names in enumerate(preset_groups)
    ]
    if pinned.propensity is not None and not label.metric.describes_list:
        unweighted = replace(pinned, propensity=None)
        definitions.append(Definition(label, len(definitions), (UNWEIGHTED,), unweighted))
    return Panel(tuple(definitions), excluded)


def changed_conventions(
    label: Label, definition: Conventions, pinned: Conventions
) -> dict[str, Any]:
    """Return a definition's conventions that change a label and differ from the pinned ones."""
    old, new = label.conventions(pinned), label.conventions(definition)
    return {
        each.name: getattr(new, each.name)
        for each in CONVENTIONS
        if getattr(new, each.name) != getattr(old, each.name)
        and depends_on(label.metric, each.name)
    }


def panel_problem(label: Label, conventions: Conventions, pinned: Conventions) -> str:
    """Return why a preset cannot be computed on the loaded tables; empty if it can."""
    needs_order = (
        conventions.ideal == GIVEN_ORDER and label.conventions(pinned).ideal != GIVEN_ORDER
    )
    order = "it needs the order of the ground truth's rows, which is kept only for `ideal`"
    return definition_problem(label, conventions) or (order if needs_order else "")


def _with_data(label: Label, conventions: Conventions, pinned: Conventions) -> Conventions:
    """Return a preset's conventions for one label, with the ranking and the scale of the data."""
    label_pinned = label.conventions(pinned)
    label_conventions = with_data_conventions(label.conventions(conventions), label_pinned)
    return replace(label_conventions, **label_pinned.ranking._asdict())


def definition_content(label: Label, conventions: Conventions) -> str:
    """Return the conventions that determine a label's values as text, to compare definitions.

    The order of the lists is no part of it.
    """
    values = label.conventions(conventions).preset_values()
    relevant = {
        name: value
        for name, value in values.items()
        if depends_on(label.metric, name) and not CONVENTION[name].sets_ranking
    }
    return json.dumps(relevant, sort_keys=True, default=str)
