"""`concord pin PRESET`: write a preset's values into params.yaml."""

import argparse

HELP = "write a preset's values into params.yaml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("preset", help="a preset, such as ir_measures")


def run(arguments: argparse.Namespace) -> None:
    """Write the values into params.yaml and print what changed."""
    from concord.pipeline.init.edit import pin

    pin(arguments.preset)
