"""`concord init`: write an evaluation into a folder of a repository, or upgrade it."""

import argparse

from concord.pipeline.terminal.parser import COMMAND_LINE

HELP = "write an evaluation into your repository"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="folder to write (default: evaluation), or to upgrade (default: the nearest)",
    )
    parser.add_argument(
        "--truth", metavar="PATH", help="ground truth, if it cannot be detected by its name"
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="recommendations of a model, instead of the detected ones; may repeat",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the files, write nothing")
    parser.add_argument(
        "--no-dvc", action="store_true", help="write params.yaml alone, for `concord run`"
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--force", action="store_true", help="write again; existing files are kept as backups"
    )
    mode.add_argument(
        "--upgrade", action="store_true", help="upgrade the project to the installed Concord"
    )


def run(arguments: argparse.Namespace) -> None:
    """Print what was detected and which files are written, and write them."""
    from concord.metrics_core.errors import refuse
    from concord.pipeline.init.project import init, upgrade

    if not arguments.upgrade:
        init(
            arguments.dir,
            arguments.truth,
            arguments.model,
            dry_run=arguments.dry_run,
            force=arguments.force,
            dvc=not arguments.no_dvc,
        )
        return
    if arguments.truth is not None or arguments.model:
        problem = "--upgrade keeps the tables of params.yaml, so --truth and --model have no effect"
        raise refuse(COMMAND_LINE, problem, "remove them, and change params.yaml")
    upgrade(arguments.dir, dry_run=arguments.dry_run, dvc=not arguments.no_dvc)
