"""`concord audit`: whether the split leaks, what is cold, and what affected users contribute; from the results on disk."""

import json
from collections.abc import Iterator
from dataclasses import replace

from concord.metrics_core.analyses.audit import audit_evaluations, refuse_unit
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.data.relations import files
from concord.metrics_core.errors import InputError, ParamsKeys, Problem, refuse
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.pipeline.commands.stale import warn_if_stale
from concord.pipeline.params.config import config_from_params
from concord.pipeline.params.read import read_params
from concord.pipeline.stages.evaluations import ground_of, read_evaluations
from concord.pipeline.terminal.arguments import refuse_folder, write_named_table
from concord.pipeline.terminal.table import print_result
from concord.reports.text.audit import to_content


def audit(csv: str | None, *, as_json: bool, force: bool) -> None:
    """Print the audit as text or as JSON; write the means with and without affected users to `csv`.

    Raises
    ------
    InputError
        The unit is a request, there is no train, results are missing, or the file may not be written.
    """
    params = read_params()
    config = config_from_params(params)
    refuse_unit(config.conventions)
    if "train" not in params.background:
        problem, fix = config.settings.missing_table("train")
        raise refuse(
            config.settings.location("background"), f"an audit reads the train, {problem}", fix
        )
    refuse_folder("--csv", csv)
    config = replace(config, labels=config.primary_labels)
    lists, config = read_evaluations(params, config, config.primary)
    ground = ground_of(params)
    if missing := list(_missing_files(ground)):
        raise InputError(missing)
    warn_if_stale(params)
    times = [ParamsKeys(key).columns("time") for key in ("data.truth", "background.train")]
    result = audit_evaluations(
        ComparisonInput(config, with_replicates(lists, config), ground),
        times_fix=f"set {' and '.join(times)} and run `dvc repro`",
    )
    if csv is not None:
        write_named_table("--csv", csv, result.effects, force=force)
    if as_json:
        print(json.dumps(to_content(result), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print_result(result)


def _missing_files(ground: EvaluationData) -> Iterator[Problem]:
    """Yield a problem for each table that params.yaml names and no stage has written."""
    tables = (ground.truth, *ground.folds.values(), ground.train, ground.items)
    for path in dict.fromkeys(files(table for table in tables if table is not None)):
        if not path.is_file():
            yield Problem(str(path), "there is no such file", "run `dvc repro`")
