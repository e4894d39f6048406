"""`concord evaluate LISTS --truth TRUTH`: evaluate the lists of one model, without a project."""

import argparse
from typing import TYPE_CHECKING

from concord.pipeline.commands.parser import COMMAND_LINE, FilePath, add_columns, add_force

if TYPE_CHECKING:
    from concord.metrics_core.results.evaluation import Evaluation
    from concord.pipeline.init.named_lists import NamedLists

HELP = "evaluate the lists of one model in a file"
OPTIONS = {"metrics": "--metrics", "conventions.preset": "--preset"}
METRICS_HELP = "metrics, such as nDCG@10,R@20 (default: as many as the lists are long)"


def add_tables(parser: argparse.ArgumentParser) -> None:
    """Add the options that name tables, their columns and the conventions."""
    add = parser.add_argument
    add("--truth", metavar="FILE", required=True, help="ground truth: what users really chose")
    add("--train", metavar="FILE", help="what the models learned from")
    add("--items", metavar="FILE", help="the catalogue")
    add_columns(parser, "truth.grade=stars")
    add("--preset", metavar="NAME", help="conventions of a text or library, without a change")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("lists", nargs=1, metavar="LISTS", help="lists of a model: a file")
    add_tables(parser)
    parser.add_argument("--metrics", metavar="LABELS", help=METRICS_HELP)
    help_text = "write the values of each user as CSV"
    parser.add_argument("--per-user", metavar="FILE", type=FilePath, help=help_text)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    add_force(parser)
    parser.set_defaults(baseline=None, min_effect=None)


def run(arguments: argparse.Namespace) -> None:
    """Print the means of one model, and write its values per user if asked."""
    from concord.pipeline.running.messages import Progress, is_quiet

    with Progress("evaluate 1 file", "files"):
        named, evaluation = _evaluate(arguments)  # after slow imports
    from concord.pipeline.terminal import print_blocks, print_json, print_result

    if arguments.json:
        print_json(evaluation.to_dict())
    else:
        print_result(evaluation)
        print_blocks([] if is_quiet() else ["", "chosen:", *(f"  {c}" for c in named.choices)])


def _evaluate(arguments: argparse.Namespace) -> "tuple[NamedLists, Evaluation]":
    """Return the tables and the evaluation, whose values per user are written if asked."""
    from concord.metrics_core.errors import refuse
    from concord.metrics_core.evaluation.evaluate import evaluate
    from concord.metrics_core.results.text_format import join_names
    from concord.pipeline.init.named_lists import named_lists
    from concord.pipeline.terminal import option_names, refuse_folder, write_output_table

    refuse_folder("--per-user", arguments.per_user)
    with option_names(OPTIONS):
        named = named_lists(arguments)
    if len(named.models) > 1:
        problem = f"the file has the lists of several models: {join_names([*named.models])}"
        raise refuse(
            COMMAND_LINE, problem, "compare them: `concord compare`, with the same options"
        )
    (lists,) = named.models.values()
    with option_names(OPTIONS):
        evaluation = evaluate(lists, **named.arguments)
    if arguments.per_user:
        table, force = evaluation.per_user, arguments.force
        write_output_table("--per-user", arguments.per_user, table, force=force)
    return named, evaluation
