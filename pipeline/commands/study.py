"""`concord study [study.yaml]`: one report over several evaluated projects."""

import argparse

HELP = "compare models over several evaluated projects"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        nargs="?",
        default="study.yaml",
        metavar="FILE",
        help="settings of the study (default: study.yaml)",
    )


def run(arguments: argparse.Namespace) -> None:
    """Write and print the study."""
    from concord.pipeline.dvc.study import run_study

    run_study(arguments.file)
