"""`concord diff REV`: differences from the results of a git revision, by model and user."""

import argparse

from concord.pipeline.commands.leaderboard import METRICS

HELP = "compare the results with those of a git revision"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("revision", help="commit, branch or tag, such as HEAD or HEAD~1")
    parser.add_argument("--model", action="append", default=[], help="only this model; may repeat")
    parser.add_argument("--metric", action="append", default=[], help=METRICS)
    parser.add_argument(
        "--anyway", action="store_true", help="compare even if conventions or ground truth differ"
    )
    parser.add_argument("--json", action="store_true", help="print all metrics as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print the changes of the primary or named metrics; as JSON, of all metrics."""
    from concord.pipeline.dvc.changes import diff
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.terminal import print_blocks, print_json
    from concord.reports.text.history import describe_changes

    revision = arguments.revision
    params = read_params()
    result = diff(params, revision, arguments.model, arguments.metric, anyway=arguments.anyway)
    warn_if_stale(params)
    if arguments.json:
        print_json(result)
    else:
        changes, training_params = result.requested, result.training_params
        print_blocks(describe_changes(revision, changes, result.notes, training_params))
