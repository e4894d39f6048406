"""`concord calibrate FILE`: which offline metric, cutoff and definition agreed with past A/B experiments?"""

from collections.abc import Sequence
from pathlib import Path

from concord.metrics_core.analyses.calibrate import calibrate_experiments
from concord.metrics_core.analyses.calibrate_experiments import (
    Experiment,
    read_experiment_file,
    split_revision,
)
from concord.metrics_core.errors import InputError, Problem
from concord.metrics_core.results.comparison import Comparison
from concord.pipeline.commands.leaderboard import comparison_of
from concord.pipeline.commands.stale import warn_if_stale
from concord.pipeline.dvc.revision import comparison_at
from concord.pipeline.params.read import read_params
from concord.pipeline.terminal.arguments import refuse_folder, write_named_table
from concord.pipeline.terminal.table import print_result


def calibrate(file: str, csv: str | None, *, force: bool) -> None:
    """Print the labels that agreed best with each online metric; write all rows to `csv`.

    Raises
    ------
    InputError
        If the file cannot be read or names an unknown model or revision, or `csv` must not be written.
    """
    refuse_folder("--csv", csv)
    experiments = read_experiment_file(Path(file))
    params = read_params()
    current = comparison_of(params)
    revisions = _revision_comparisons(experiments, current)
    result = calibrate_experiments(experiments, {"": current, **revisions})
    warn_if_stale(params)
    if csv is not None:
        write_named_table("--csv", csv, result.to_frame(), force=force)
    print_result(result)


def _revision_comparisons(
    experiments: Sequence[Experiment], current: Comparison
) -> dict[str, Comparison]:
    """Read the comparison of every revision once; all unknown revisions are reported together."""
    locations: dict[str, str] = {}
    for each in experiments:
        for name in (each.control, each.treatment):
            _, revision = split_revision(name, current.models)
            locations.setdefault(revision, each.location)
    locations.pop("", None)
    comparisons: dict[str, Comparison] = {}
    problems: list[Problem] = []
    for revision, location in locations.items():
        try:
            comparisons[revision] = comparison_at(revision)
        except InputError as error:
            problems += [
                Problem(location, f"{each.where}: {each.what}", each.fix) for each in error.problems
            ]
    if problems:
        raise InputError(problems)
    return comparisons
