"""`concord init`: write an evaluation into a folder of a repository, or upgrade it."""

import argparse

from concord.pipeline.commands.parser import COMMAND_LINE, add_columns

INCOMPLETE = 3  # exit code if values of params.yaml are to be filled in
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
    add_columns(parser, "als.item=articles")
    parser.add_argument("--dry-run", action="store_true", help="show the files, write nothing")
    parser.add_argument(
        "--no-dvc", action="store_true", help="write no dvc.yaml, for `concord run`"
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--force", action="store_true", help="write again; existing files are kept as backups"
    )
    mode.add_argument(
        "--upgrade", action="store_true", help="upgrade the project to the installed Concord"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print what was detected and which files are written, and write them.

    Return 3 if values of params.yaml are to be filled in.
    """
    from concord.metrics_core.errors import refuse
    from concord.pipeline.init.project import init, upgrade

    if not arguments.upgrade:
        places = init(
            arguments.dir,
            arguments.truth,
            arguments.model,
            arguments.column,
            dry_run=arguments.dry_run,
            force=arguments.force,
            dvc=not arguments.no_dvc,
        )
        return INCOMPLETE if places else 0
    if arguments.truth is not None or arguments.model or arguments.column:
        options = "--truth, --model and --column"
        problem = f"--upgrade keeps the tables of params.yaml, so {options} have no effect"
        raise refuse(COMMAND_LINE, problem, "remove them, and change params.yaml")
    upgrade(arguments.dir, dry_run=arguments.dry_run, dvc=not arguments.no_dvc)
    return 0
