"""`concord audit`: leakage, cold users and items, and their effect on the ranking."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from concord.pipeline.commands.parser import FilePath, add_force

if TYPE_CHECKING:
    from collections.abc import Iterator

    from concord.metrics_core.errors import Problem
    from concord.metrics_core.evaluation.model_result import EvaluationData

HELP = "check the split for leakage and its effect on the ranking"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--csv",
        type=FilePath,
        metavar="FILE",
        help="write the means with and without affected users as a table",
    )
    parser.add_argument("--json", action="store_true", help="print all findings as JSON")
    add_force(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the audit as text or JSON; write means with and without affected users to `--csv`."""
    from concord.metrics_core.analyses.audit.audit import audit_evaluations, refuse_unit
    from concord.metrics_core.comparison.inputs import ComparisonInput
    from concord.metrics_core.comparison.replicates import with_replicates
    from concord.metrics_core.errors import params_keys, raise_problems, refuse
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.params.repository import rerun_command
    from concord.pipeline.stages.evaluation_data import evaluation_data
    from concord.pipeline.stages.evaluations import read_evaluations
    from concord.pipeline.terminal import print_result, refuse_folder, write_output_table

    params = read_params(needs_lists=True)
    config = params.comparison_config.of_lists
    refuse_unit(config.conventions)
    if "train" not in params.background:
        problem = "an audit needs the training set, which is missing"
        raise refuse("params.yaml: background", problem, "name its file as `background.train`")
    refuse_folder("--csv", arguments.csv)
    config = replace(config, labels=config.primary_labels)
    lists, config = read_evaluations(params, config, config.primary)
    data = evaluation_data(params)
    raise_problems(_missing_files(data))
    warn_if_stale(params)
    times = [
        params_keys(key).of_table("columns", "time") for key in ("data.truth", "background.train")
    ]
    result = audit_evaluations(
        ComparisonInput(config, with_replicates(lists, config), data),
        times_fix=f"set {' and '.join(times)} and run `{rerun_command()}`",
    )
    if arguments.csv is not None:
        write_output_table("--csv", arguments.csv, result.effects, force=arguments.force)
    print_result(result, as_json=arguments.json)


def _missing_files(data: "EvaluationData") -> "Iterator[Problem]":
    """Yield a problem for each table of params.yaml that no stage has written."""
    from concord.metrics_core.data.tables import file_paths
    from concord.metrics_core.errors import Problem
    from concord.pipeline.params.repository import rerun_command

    tables = (data.truth, *data.folds.values(), data.train, data.items)
    for path in dict.fromkeys(file_paths(table for table in tables if table is not None)):
        if not path.is_file():
            yield Problem(str(path), "there is no such file", f"run `{rerun_command()}`")
