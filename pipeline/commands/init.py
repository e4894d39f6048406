"""`concord init`: write an evaluation into a folder of a DVC repository, or upgrade it."""

import argparse

from concord.pipeline.terminal.parser import COMMAND_LINE

HELP = "write an evaluation into your DVC repository"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dir", default="evaluation", metavar="DIR", help="folder to write (default: evaluation)"
    )
    parser.add_argument(
        "--truth", metavar="PATH", help="ground truth, if its name does not show what it is"
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="recommendations of a model, instead of the detected ones; may repeat",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the files, write nothing")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--force", action="store_true", help="write again; existing files are kept as backups"
    )
    mode.add_argument(
        "--upgrade", action="store_true", help="upgrade the project to the installed Concord"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print what was detected and is written, and write it."""
    from concord.metrics_core.errors import refuse
    from concord.pipeline.init.project import init, upgrade

    if not arguments.upgrade:
        init(
            arguments.dir,
            arguments.truth,
            arguments.model,
            dry_run=arguments.dry_run,
            force=arguments.force,
        )
        return
    if arguments.truth is not None or arguments.model:
        problem = "--upgrade keeps the tables that params.yaml names, so --truth and --model have no effect"  # fmt: skip
        raise refuse(COMMAND_LINE, problem, "leave them out, and change params.yaml")
    upgrade(arguments.dir, dry_run=arguments.dry_run)
