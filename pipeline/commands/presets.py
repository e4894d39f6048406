"""`concord presets`: all presets, the conventions of one, or differences of two."""

import argparse

from concord.pipeline.terminal.parser import COMMAND_LINE

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
    from concord.pipeline.terminal.arguments import find_preset
    from concord.pipeline.terminal.presets import diff_presets
    from concord.pipeline.terminal.table import print_blocks, print_result
    from concord.reports.text.presets import describe

    match arguments.names:
        case []:
            print_result(presets())
        case ["diff", a, b]:
            diff_presets(a, b)
        case [name]:
            print_blocks(describe(find_preset(name)))
        case names:
            problem = f"`presets {' '.join(names)}` is not a valid command"
            fix = "use `concord presets`, `concord presets NAME` or `concord presets diff A B`"
            raise refuse(COMMAND_LINE, problem, fix)
