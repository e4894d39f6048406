"""The evaluation that a command works on: its folder, from anywhere in the repository."""

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path

from concord.metrics_core.errors import refuse
from concord.pipeline.params.repository import find_evaluation_folder
from concord.pipeline.running.messages import LOG
from concord.pipeline.terminal.parser import COMMAND_LINE, FilePath


@contextmanager
def in_evaluation(arguments: Namespace) -> Iterator[None]:
    """Work in the folder that `--dir` names, or in the nearest evaluation.

    The paths of the command line are changed, so that they name the same files from there.

    Raises
    ------
    InputError
        If `--dir` names no folder.
    """
    start = Path.cwd()
    folder = find_evaluation_folder(start) if arguments.dir is None else start / arguments.dir
    if folder is None or folder == start:
        yield
        return
    if not folder.is_dir():
        fix = "name the folder of an evaluation"
        raise refuse(f"{COMMAND_LINE}: --dir", f"there is no folder {arguments.dir!r}", fix)
    for name, value in vars(arguments).items():
        if isinstance(value, FilePath) and not os.path.isabs(value):  # noqa: PTH117  # a string
            setattr(arguments, name, os.path.relpath(start / value, folder))
    LOG.info("evaluation: %s", os.path.relpath(folder, start))
    with chdir(folder):
        yield
