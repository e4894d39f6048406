"""`concord cases`: example users and items behind the difference of two models, from the results on disk."""

from dataclasses import replace

from concord.metrics_core.analyses.error_analysis import ExampleSelection
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.metrics.catalogue import parse
from concord.pipeline.commands.stale import warn_if_stale
from concord.pipeline.params.config import config_from_params
from concord.pipeline.params.read import read_params
from concord.pipeline.stages.evaluations import load_cases
from concord.pipeline.terminal.arguments import (
    PLACE,
    as_options,
    evaluated_label,
    refuse_folder,
    write_named,
)
from concord.pipeline.terminal.table import console, print_result

OPTIONS = {"model": "MODEL", **{name: f"--{name}" for name in ("versus", "segment", "item")}}


def print_cases(
    selection: ExampleSelection, metric: str | None, html: str | None, *, force: bool
) -> None:
    """Print the error analysis; write it as a page if `html` names a file.

    Raises
    ------
    InputError
        A model, metric, segment or item is unknown, results are missing, or the file may not be written.
    """
    if selection.worst < 1:
        raise refuse(f"{PLACE}: --worst", f"is {selection.worst}", "write a whole number from 1 on")
    refuse_folder("--html", html)
    params = read_params()
    config = config_from_params(params)
    config = replace(config, primary=_labels(config, metric))
    try:
        cases = load_cases(params, config, selection)
    except InputError as error:
        raise as_options(error, OPTIONS) from None
    warn_if_stale(params)
    if html is not None:
        write_named("--html", html, cases.to_html(), force=force)
    print_result(cases)
    if html is not None:
        console().print(f"wrote {html}")


def _labels(config: ComparisonConfig, metric: str | None) -> list[str]:
    """Return the primary metrics, after the requested one."""
    if metric is None:
        return config.primary
    label = evaluated_label(metric, list(map(str, config.labels)))
    if parse(label).metric.of_catalogue:
        problem = f"{label} is one number over all users"
        raise refuse(f"{PLACE}: --metric", problem, "name a metric that has a value for each user")
    return list(dict.fromkeys([label, *config.primary]))
