"""The convention panel: the values of one metric on the same lists under the definition of every text and library.

Lists are ranked once, as pinned, and grades keep the scale of the data; all other conventions are the preset's.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import (
    UNWEIGHED,
    defines,
    preset,
    presets,
    with_data_conventions,
)
from concord.metrics_core.conventions.registry import CONVENTION, CONVENTIONS
from concord.metrics_core.evaluation.score import why_not
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.scope import affected_metrics

GIVEN_ORDER = "truth_given_order_at_k"


@dataclass(frozen=True)
class Definition:
    """One way of computing a label, and the presets that compute it so.

    number  : 0 is the definition that is pinned; it may be that of no preset
    presets : or UNWEIGHED alone
    """

    label: Label
    number: int
    presets: tuple[str, ...]
    conventions: Conventions

    @property
    def column(self) -> str:
        """The name of its column of values."""
        return f"{self.label}#{self.number}"


@dataclass(frozen=True)
class Panel:
    """A label's definitions, the pinned one first, and the presets that cannot be computed: {name: why}."""

    definitions: tuple[Definition, ...]
    left_out: Mapping[str, str]


def panel(label: Label, pinned: Conventions) -> Panel:
    """Return every definition of a label in the presets; presets with equal definitions share one.

    If relevant items count by their propensities, the pinned definition without them is added.
    """
    per_preset = {
        name: _on_these_lists(label, preset(name), pinned)
        for name in presets()
        if defines(name, label.name)
    }
    left_out = {
        name: why
        for name, conventions in per_preset.items()
        if (why := _why_not(label, conventions, pinned))
    }
    groups: dict[str, list[str]] = {_content(label, pinned): []}
    for name in per_preset.keys() - left_out.keys():
        groups.setdefault(_content(label, per_preset[name]), []).append(name)
    order = list(per_preset)
    preset_groups = [sorted(names, key=order.index) for names in groups.values()]
    preset_groups[1:] = sorted(preset_groups[1:], key=lambda names: order.index(names[0]))
    definitions = [
        Definition(label, number, tuple(names), per_preset[names[0]] if number else pinned)
        for number, names in enumerate(preset_groups)
    ]
    if pinned.propensity is not None and not label.metric.describes_list:
        plain = replace(pinned, propensity=None)
        definitions.append(Definition(label, len(definitions), (UNWEIGHED,), plain))
    return Panel(tuple(definitions), left_out)


def differing(label: Label, definition: Conventions, pinned: Conventions) -> dict[str, Any]:
    """Return the conventions of a definition that change a label and differ from the pinned ones."""
    pinned_here, defined_here = label.conventions(pinned), label.conventions(definition)
    return {
        each.name: getattr(defined_here, each.name)
        for each in CONVENTIONS
        if getattr(defined_here, each.name) != getattr(pinned_here, each.name)
        and label.name in affected_metrics(each.name)
    }


def _why_not(label: Label, conventions: Conventions, pinned: Conventions) -> str:
    needs_order = (
        conventions.ideal == GIVEN_ORDER and label.conventions(pinned).ideal != GIVEN_ORDER
    )
    return why_not(label, conventions) or (
        "the order of the truth's rows is kept only where it is pinned" if needs_order else ""
    )


def _on_these_lists(label: Label, conventions: Conventions, pinned: Conventions) -> Conventions:
    """Return a preset's conventions for one label, with the ranking and the scale of the data."""
    pinned_here = label.conventions(pinned)
    defined_here = with_data_conventions(label.conventions(conventions), pinned_here)
    return replace(defined_here, **pinned_here.ranking._asdict())


def _content(label: Label, conventions: Conventions) -> str:
    """Return what decides the values of a label, as text: equal texts are equal definitions."""
    values = label.conventions(conventions).preset_values()
    relevant = {
        name: value
        for name, value in values.items()
        if label.name in affected_metrics(name) and not CONVENTION[name].sets_ranking
    }
    return json.dumps(relevant, sort_keys=True, default=str)
