"""`concord presets`: all presets, the conventions of one, or where two differ."""

import argparse

HELP = "list presets, show the conventions of one, or `diff A B`"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME | diff A B", help="such as ir_measures")


def run(arguments: argparse.Namespace) -> None:
    """Print the list of presets, one preset, or a difference."""
    from concord.metrics_core.errors import refuse
    from concord.pipeline.terminal.presets import diff_presets, list_presets, show_preset

    match arguments.names:
        case []:
            list_presets()
        case ["diff", one, other]:
            diff_presets(one, other)
        case [name]:
            show_preset(name)
        case names:
            problem = f"`presets {' '.join(names)}` is not understood"
            fix = "use `concord presets`, `concord presets NAME` or `concord presets diff A B`"
            raise refuse("command line", problem, fix)
