"""Arguments and output of commands: the evaluation, models, labels, files to write, tables."""

import difflib
import json
import os
import re
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import preset, presets
from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.metrics.label import Label, parse, suggest_label, to_result_spelling
from concord.metrics_core.results.base import BaseResult, to_plain
from concord.pipeline.commands.parser import COMMAND_LINE, FilePath
from concord.pipeline.params.repository import PARAMS, find_evaluation_folder, relative_path
from concord.pipeline.running.messages import LOG, escape_unprintable, supports_escape_codes
from concord.pipeline.running.outputs import escape_formulas, is_stream, write_text
from concord.reports.text.blocks import Block, blocks_of, to_lines

if TYPE_CHECKING:
    import polars as pl


def refuse_unknown_model(models: Collection[str], model: str) -> None:
    """Raise InputError if the model is unknown, with a similar name."""
    if model not in models:
        near = difflib.get_close_matches(model, models, n=1)
        fix = f"did you mean {near[0]!r}?" if near else f"name one of: {', '.join(models)}"
        raise refuse(COMMAND_LINE, f"{model!r} is not among the models", fix)


def evaluated_label(text: str, evaluated: Collection[str]) -> str:
    """Return a label as the results spell it; raise InputError if it was not evaluated."""
    label, problem = to_result_spelling(text, evaluated), "is not evaluated"
    if label not in evaluated:
        with suppress(ValueError):  # of an unknown metric
            problem = "is of values next to lists" if parse(text).metric.is_of_values else problem
        raise refuse(COMMAND_LINE, f"{text!r} {problem}", suggest_label(text, evaluated))
    return label


def parse_per_user(text: str, *, feature: str) -> Label:
    """Return the parsed label; raise ValueError for one number over all users, and for values."""
    label = parse(text)
    of_values = label.metric.is_of_values
    if label.metric.is_aggregate or of_values:
        kind = "of values of another tool" if of_values else "one number over all users"
        msg = f"{label} is {kind}, which {feature} cannot search"
        raise ValueError(msg)
    return label


def find_preset(name: str) -> Conventions:
    """Return the conventions of a preset, or of this project for `params.yaml`."""
    if name == PARAMS.name:
        from concord.pipeline.params.read import read_params

        return read_params().parsed_conventions
    if name not in presets():
        fix = suggest(name, {*presets(), PARAMS.name})
        raise refuse(COMMAND_LINE, f"{name!r} is not a preset", fix)
    return preset(name)


def argument_error(error: ValueError, fix: str) -> InputError:
    """Return an error of the library as one of the command line."""
    return error if isinstance(error, InputError) else refuse(COMMAND_LINE, str(error), fix)


@contextmanager
def option_names(options: Mapping[str, str]) -> Iterator[None]:
    """Name the options of the command line, not arguments, in errors of the library."""
    try:
        yield
    except InputError as error:
        raise InputError(
            replace(problem, location=f"{COMMAND_LINE}: {options[problem.where]}")
            if problem.where in options
            else problem
            for problem in error.problems
        ) from None
    except ValueError as error:  # a metric lacks its table: `…; give it, or leave …`
        problem, _, fix = str(error).rpartition("; ")
        if not problem or "metrics" not in options:
            raise
        raise refuse(f"{COMMAND_LINE}: {options['metrics']}", problem, fix) from None


# First characters that all files of a kind share: a page, a picture, a table or a comment.
_FILE_START = re.compile(r"<!doctype .*?script-src|<svg .*? width=|[^\n]*", re.DOTALL)


def refuse_folder(option: str, path: str | None) -> None:
    """Raise InputError if the path of an option is a folder."""
    if path is not None and Path(path).is_dir():
        raise refuse(f"{COMMAND_LINE}: {option}", f"{path!r} is a folder", "name a file to write")


def write_output(option: str, path: str, text: str, *, force: bool) -> None:
    """Write the file that an option names.

    Raises
    ------
    InputError
        If the file exists, was not written by Concord, and `force` is not set.
    """
    if not force:
        refuse_other_file(option, path, lambda file: _is_own(file, text))
    write_text(Path(path), text)


def refuse_other_file(option: str, path: str, is_own: Callable[[Path], bool]) -> None:
    """Raise InputError if a file exists that Concord did not write."""
    file = Path(path)
    if file.is_file() and not is_stream(file) and not is_own(file):
        problem = f"{path!r} is not a file that this command writes"
        fix = "name another file, or add --force to overwrite it"
        raise refuse(f"{COMMAND_LINE}: {option}", problem, fix)


def write_output_table(option: str, path: str, table: "pl.DataFrame", *, force: bool) -> None:
    """Write a table as CSV, in which no text is a formula; raises as `write_output`."""
    write_output(option, path, escape_formulas(table).write_csv(), force=force)


def _is_own(file: Path, text: str) -> bool:
    """True if a file is empty or starts like the text."""
    start = _FILE_START.match(text)
    assert start
    expected = start[0].encode()
    with file.open("rb") as stream:
        return stream.read(len(expected)) in {expected, b""}


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
    LOG.info("evaluation: %s", relative_path(folder, start))
    with chdir(folder):
        yield


_CODES = {"bold": 1, "open": 2, "worse": 31, "better": 32}  # of ANSI terminals


def print_result(result: BaseResult, *, as_json: bool = False) -> None:
    """Print the text of a result, or its JSON."""
    if as_json:
        print_json(result)
    else:
        print_blocks(blocks_of(result))


def print_json(result: object) -> None:
    """Print the fields of a result as JSON, in which unprintable characters are escaped."""
    text = json.dumps(to_plain(result), indent=2, ensure_ascii=False, allow_nan=False)
    print(escape_unprintable(text, keep="\n"))


def print_blocks(blocks: Iterable[Block]) -> None:
    """Print sentences and tables; on a terminal, headings are bold and verdicts coloured."""
    for line in terminal_lines(blocks):
        print(line)


def terminal_lines(blocks: Iterable[Block]) -> list[str]:
    """Return the lines to print, which are not longer than the terminal is wide."""
    return [*to_lines(blocks, shutil.get_terminal_size().columns, _styled)]


def link(path: Path) -> str:
    """Return the path of a file; a terminal opens the file by a click on it."""
    if not supports_escape_codes(sys.stdout):
        return f"{path}"
    return f"\x1b]8;;{path.resolve().as_uri()}\x1b\\{path}\x1b]8;;\x1b\\"


def _styled(text: str, style: str) -> str:
    is_plain = not supports_escape_codes(sys.stdout) or os.environ.get("NO_COLOR")
    if not text or style not in _CODES or is_plain:
        return text
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"
