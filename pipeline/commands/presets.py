"""`concord presets`: all presets, the conventions of one, or differences of two."""

import argparse
from typing import TYPE_CHECKING

from concord.pipeline.commands.parser import COMMAND_LINE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from concord.reports.text.blocks import Block

HELP = "list presets, show the conventions of one, or `diff A B`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME | diff A B",
        help="a preset such as ir_measures, or two to compare",
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the list of presets, one preset, or a difference."""
    from concord.metrics_core.errors import refuse
    from concord.metrics_core.results.presets import presets
    from concord.pipeline.terminal import find_preset, print_blocks, print_result
    from concord.reports.text.presets import describe

    match arguments.names:
        case []:
            print_result(presets())
        case ["diff", a, b]:
            print_blocks(_differences(a, b))
        case [name]:
            print_blocks(describe(find_preset(name)))
        case names:
            problem = f"`presets {' '.join(names)}` is not a valid command"
            fix = "use `concord presets`, `concord presets NAME` or `concord presets diff A B`"
            raise refuse(COMMAND_LINE, problem, fix)


def _differences(name_a: str, name_b: str) -> "Iterator[Block]":
    """Yield the differences of two presets; the grade scale of params.yaml is that of both."""
    from concord.metrics_core.conventions.presets import with_data_conventions
    from concord.pipeline.params.model import PARAMS
    from concord.pipeline.terminal import find_preset
    from concord.reports.text.presets import describe_differences

    a, b = find_preset(name_a), find_preset(name_b)
    if name_a == PARAMS.name:
        b = with_data_conventions(b, a)
    elif name_b == PARAMS.name:
        a = with_data_conventions(a, b)
    return describe_differences(name_a, a, name_b, b)
