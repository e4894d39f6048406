"""`concord calibrate FILE`: offline metrics that agreed with past A/B experiments."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from concord.pipeline.terminal.parser import FilePath, add_force

if TYPE_CHECKING:
    from concord.metrics_core.analyses.calibrate_experiments import Experiment
    from concord.metrics_core.results.comparison import Comparison

HELP = "find offline metrics that agreed with past A/B experiments"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=FilePath,
        metavar="FILE",
        help="CSV: experiment, control, treatment and the lifts of online metrics",
    )
    parser.add_argument(
        "--csv", type=FilePath, metavar="FILE", help="write all rows of the table as CSV"
    )
    add_force(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the metrics that agreed best with each online metric; write all rows to `--csv`."""
    from concord.metrics_core.analyses.calibrate import calibrate_experiments
    from concord.metrics_core.analyses.calibrate_experiments import load_experiments
    from concord.pipeline.dvc.current_results import load_comparison, warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.terminal.arguments import refuse_folder, write_output_table
    from concord.pipeline.terminal.table import print_result

    refuse_folder("--csv", arguments.csv)
    experiments = load_experiments(Path(arguments.file))
    params = read_params()
    current = load_comparison(params)
    revisions = _revision_comparisons(experiments, current)
    result = calibrate_experiments(experiments, {"": current, **revisions})
    warn_if_stale(params)
    if arguments.csv is not None:
        write_output_table("--csv", arguments.csv, result.to_frame(), force=arguments.force)
    print_result(result)


def _revision_comparisons(
    experiments: "Sequence[Experiment]", current: "Comparison"
) -> "dict[str, Comparison]":
    """Read the comparison of every revision once; report all unknown revisions together."""
    from concord.metrics_core.analyses.calibrate_experiments import split_revision
    from concord.metrics_core.errors import InputError, Problem, raise_problems
    from concord.pipeline.dvc.revision import comparison_at

    locations: dict[str, str] = {}
    for experiment in experiments:
        for name in (experiment.control, experiment.treatment):
            _, revision = split_revision(name, current.models)
            locations.setdefault(revision, experiment.location)
    locations.pop("", None)
    comparisons: dict[str, Comparison] = {}
    problems: list[Problem] = []
    for revision, location in locations.items():
        try:
            comparisons[revision] = comparison_at(revision)
        except InputError as error:
            problems += [
                Problem(location, f"{problem.where}: {problem.message}", problem.fix)
                for problem in error.problems
            ]
    raise_problems(problems)
    return comparisons
