"""`concord compare NEW OLD --truth TRUTH`: compare lists in files, without a project."""

import argparse
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from concord.pipeline.commands.evaluate import METRICS_HELP, OPTIONS, add_tables
from concord.pipeline.commands.gate import EXIT_CODES
from concord.pipeline.commands.parser import COMMAND_LINE, FilePath, add_force, parse_effect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from concord.metrics_core.results.comparison import Comparison
    from concord.pipeline.init.named_lists import NamedLists

_OPTIONS = {
    **OPTIONS,
    "primary": "--metrics",
    "baseline": "--baseline",
    "min_effect": "--min-effect",
}
HELP = "compare lists in files, without a project"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "lists",
        nargs="*",
        metavar="LISTS",
        help="lists of a model: a file, or NAME=FILE; the last is the baseline",
    )
    add_tables(parser)
    parser.add_argument("--metrics", metavar="LABELS", help=f"{METRICS_HELP}; the first decides")
    parser.add_argument("--baseline", metavar="NAME", help="compare with this model instead")
    parser.add_argument(
        "--min-effect",
        type=parse_effect,
        metavar="X",
        help="smallest difference that matters: 0.005, or 2%% of the baseline (default: 2%%)",
    )
    parser.add_argument(
        "--gate",
        action="store_true",
        help="exit with 1 if a model is worse, 3 if undecided, 4 if suspicious",
    )
    parser.add_argument("--html", metavar="FILE", type=FilePath, help="write the report")
    parser.add_argument(
        "--save", metavar="FILE", type=FilePath, help="keep the decision, for `concord replay`"
    )
    parser.add_argument("--init", metavar="DIR", help="write the evaluation into a repository")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    add_force(parser)


def run(arguments: argparse.Namespace) -> int | None:
    """Print the comparison; return the exit code of the gate, if one is asked for."""
    from concord.metrics_core.errors import format_count, refuse
    from concord.pipeline.params.repository import find_evaluation_folder
    from concord.pipeline.running.messages import LOG, Progress, is_quiet

    if not arguments.lists:
        fix = "name files: `concord compare new.csv old.csv --truth test.csv`; the results of a "
        raise refuse(COMMAND_LINE, "names no lists", f"{fix}project: `concord leaderboard`")
    if find_evaluation_folder(Path.cwd()) is not None:
        LOG.info("params.yaml is not read: only the named files count")
    with Progress(f"compare {format_count(len(arguments.lists), 'file')}", "files"):
        named, comparison, write_evaluation = _compare(arguments)  # after slow imports
    from concord.pipeline.terminal import print_blocks, print_json
    from concord.reports.text.blocks import show_words
    from concord.reports.text.comparison import answer_blocks
    from concord.reports.text.summary import headline

    if arguments.json:
        print_json(comparison.to_dict())
    elif is_quiet():
        print_blocks(show_words([headline(comparison)], comparison))
    else:
        print_blocks(show_words(answer_blocks(comparison, fixes=False), comparison))
        has_warnings = bool(comparison.prominent)
        print_blocks(_choices_and_next_steps(named, arguments, has_warnings=has_warnings))
    if write_evaluation is not None:
        messages = sys.stderr if arguments.json else sys.stdout
        with redirect_stdout(StringIO() if is_quiet() else messages):
            write_evaluation()
    return EXIT_CODES[comparison.gate.outcome] if comparison.gate else None


def _compare(
    arguments: argparse.Namespace,
) -> "tuple[NamedLists, Comparison, Callable[[], None] | None]":
    """Return the tables, their comparison, and the function that writes an evaluation of them."""
    from zipfile import is_zipfile

    from concord.metrics_core.comparison.compare import compare
    from concord.metrics_core.errors import refuse
    from concord.metrics_core.results.gate import MIN_EFFECT
    from concord.pipeline.init.named_lists import named_lists
    from concord.pipeline.terminal import (
        option_names,
        refuse_folder,
        refuse_other_file,
        write_output,
    )

    outputs = {"--html": arguments.html, "--save": arguments.save}
    for option, path in outputs.items():
        refuse_folder(option, path)
    with option_names(_OPTIONS):
        named = named_lists(arguments)
    for option, path in outputs.items():
        if path and Path(path).resolve() in named.files:
            raise refuse(f"{COMMAND_LINE}: {option}", "is a file that is read", "name another file")
    if arguments.save and not arguments.force:
        refuse_other_file("--save", arguments.save, is_zipfile)
    gate = {"guardrails": {named.options["primary"][0]: MIN_EFFECT}} if arguments.gate else None
    write_evaluation = None
    if arguments.init:
        from concord.pipeline.init.project import prepare_evaluation

        given = {**named.given, **({"gate": gate} if gate else {})}
        write_evaluation = prepare_evaluation(arguments.init, named.discovery, given)
    panel = bool(arguments.html or arguments.json or arguments.save)  # the terminal shows none
    with option_names(_OPTIONS):
        comparison = compare(
            named.models, gate=gate, panel=panel, **named.options, **named.arguments
        )
    if arguments.html:
        write_output("--html", arguments.html, comparison.to_html(), force=arguments.force)
    if arguments.save:
        comparison.save(arguments.save)
    return named, comparison, write_evaluation


def _choices_and_next_steps(
    named: "NamedLists", arguments: argparse.Namespace, *, has_warnings: bool
) -> "Iterator[str]":
    """Yield what was chosen for the user, and what to do next."""
    yield from ("", "chosen:", *(f"  {choice}" for choice in named.choices))
    if arguments.init:  # it prints its own next step
        return
    fixes = ", with what to do about the warnings" if has_warnings else ""
    steps = {
        f"the report{fixes}: add `--html report.html`": not arguments.html,
        "the decision as exit code: add `--gate`": not arguments.gate and len(named.models) > 1,
        "a file that others can verify: add `--save decision.concord`": not arguments.save,
        f"verify the decision: `concord replay {arguments.save} --inputs .`": arguments.save,
        "the users behind it, in a repository: add `--init evaluation`": True,
    }
    yield "next:"
    yield from [f"  {step}" for step, is_open in steps.items() if is_open][:3]
