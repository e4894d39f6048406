"""`concord audit`: what leaks from the truth into train, what is cold, and what that weighs; from the results on disk."""

import json
from collections.abc import Iterator
from dataclasses import replace

from concord.metrics_core.auditing.audited import audited, refuse_requests
from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.checking.relations import files
from concord.metrics_core.comparing.evidence.evaluated import Ground
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.evidence.replicated import with_replicates
from concord.pipeline.commands.asking.stale import warn_if_stale
from concord.pipeline.comparing.evaluations import ground_of, read_evaluations
from concord.pipeline.params.asked import asked_of
from concord.pipeline.params.keys import Keys
from concord.pipeline.params.read import read_params
from concord.pipeline.terminal.audit import print_audit
from concord.pipeline.terminal.named_files import refuse_folder, write_named_table


def audit(csv: str | None, *, as_json: bool, force: bool) -> None:
    """Prints what was found, as text or as JSON; the means with and without touched users go to `csv`.

    Raises
    ------
    InputError : values are of requests, there is no train, there are no results yet, or the file may not be written
    """
    params = read_params()
    asked = asked_of(params)
    refuse_requests(asked.conventions)
    if "train" not in params.background:
        what, fix = asked.settings.lacking("train")
        raise refuse(asked.settings.place("background"), f"an audit reads the train, {what}", fix)
    refuse_folder("--csv", csv)
    primary = replace(asked, labels=asked.of_primary)
    lists, primary = read_evaluations(params, primary, primary.primary)
    ground = ground_of(params)
    if missing := list(_missing(ground)):
        raise InputError(missing)
    warn_if_stale(params)
    evidence = Evidence(primary, with_replicates(lists, primary), ground)
    times = [Keys(key).columns("time") for key in ("data.truth", "background.train")]
    found = audited(evidence, times=f"set {' and '.join(times)} and run `dvc repro`")
    if csv is not None:
        write_named_table("--csv", csv, found.effects, force=force)
    if as_json:
        print(json.dumps(found.to_content(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print_audit(found)


def _missing(ground: Ground) -> Iterator[Problem]:
    """Tables that params.yaml names and no stage has left."""
    tables = (ground.truth, *ground.folds.values(), ground.train, ground.items)
    for path in dict.fromkeys(files(table for table in tables if table is not None)):
        if not path.is_file():
            yield Problem(str(path), "there is no such file", "run `dvc repro`")
