"""`concord judge`: what unjudged items can change, and which to judge next."""

import argparse
from dataclasses import replace
from pathlib import Path

from concord.pipeline.commands.leaderboard import METRICS
from concord.pipeline.commands.parser import COMMAND_LINE, FilePath, add_force

HELP = "show what unjudged items can change, and which to judge next"
OPTIONS = {"baseline": "--baseline", "next": "--next", "max_grade": "--max-grade"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--metric", action="append", default=[], metavar="LABEL", help=METRICS)
    add("--baseline", metavar="MODEL", help="compare all with this model (default: all pairs)")
    add("--next", type=int, default=50, metavar="N", help="number of items (default: 50)")
    add(
        "--max-grade",
        type=float,
        metavar="G",
        help="highest grade of an item (default: that of the ground truth)",
    )
    add("--out", type=FilePath, metavar="FILE.csv", help="write the items with an empty grade")
    add_force(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the bounds and the items to judge next; write these to `--out`."""
    from concord.metrics_core.analyses.judge.judge import judge_results
    from concord.metrics_core.errors import refuse
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.running.messages import print_text
    from concord.pipeline.running.outputs import escape_formulas, write_text
    from concord.pipeline.stages.evaluation_data import evaluation_data
    from concord.pipeline.stages.evaluations import read_evaluations
    from concord.pipeline.terminal import evaluated_label, option_names, print_result

    out = None if arguments.out is None else Path(arguments.out)
    if out is not None and out.exists() and not arguments.force:
        fix = "name another file, or add --force to overwrite it"
        raise refuse(f"{COMMAND_LINE}: --out", f"{str(out)!r} exists and may hold grades", fix)
    params = read_params(needs_lists=True)
    config = params.comparison_config.of_lists
    known = list(map(str, config.labels))
    primary = [evaluated_label(each, known) for each in arguments.metric] or [*config.primary]
    config = replace(config, primary=primary)
    config = replace(config, labels=config.primary_labels)
    results, config = read_evaluations(params, config, primary)
    options = {name: getattr(arguments, name) for name in OPTIONS}
    with option_names(OPTIONS):
        judging = judge_results(config, results, evaluation_data(params), **options)
    warn_if_stale(params)
    if out is not None:  # before the text: a closed pipe (`| head`) ends the command
        table = escape_formulas(judging.to_frame(), ids=("user", "item"))
        write_text(out, table.write_csv())
    print_result(judging)
    if out is not None:
        print_text(f"wrote {out}")
