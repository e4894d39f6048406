"""Presets as text: the list of all, or the conventions of one."""

from collections.abc import Iterator

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.results.presets import PresetList, convention_values
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import setting


def describe(result: Conventions | PresetList) -> Iterator[Block]:
    """Yield one line per preset, or the name of the preset and one line per convention."""
    if isinstance(result, PresetList):
        rows = []
        for preset in result.descriptions:
            package = f" Checked against {preset.package}." if preset.package else ""
            rows.append((preset.name, preset.sentence + package))
        yield TextTable(("preset", "meaning"), rows)
        return
    yield Heading(f"Conventions of {result.preset}")
    values = convention_values(result)
    table = [
        (each.convention, setting(each.value), each.meaning)
        for each in values
        if each.metric is None
    ]
    yield TextTable(("convention", "value", "meaning"), table)
    for each in values:
        if each.metric is not None:
            yield (
                f"but for {each.metric}: {each.convention}: {setting(each.value)} ({each.meaning})"
            )
