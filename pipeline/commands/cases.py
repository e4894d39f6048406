"""`concord cases`: example users and items behind the difference of two models."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from concord.pipeline.commands.parser import COMMAND_LINE, FilePath, add_force

if TYPE_CHECKING:
    from concord.metrics_core.comparison.config import ComparisonConfig

HELP = "show the users and items for which two models differ most"
OPTIONS = {"model": "MODEL", **{name: f"--{name}" for name in ("versus", "segment", "item")}}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model of params.yaml")
    add("--versus", required=True, dest="other", metavar="OTHER", help="model to compare it with")
    add(
        "--worst",
        type=int,
        default=20,
        metavar="N",
        help="number of users, the largest losses of MODEL first (default: 20)",
    )
    add(
        "--metric",
        metavar="LABEL",
        help="metric to sort users by (default: the first primary metric)",
    )
    add("--segment", metavar="NAME=GROUP", help="only users of this group, such as channel=app")
    add("--item", metavar="ID", help="only users with this item in the ground truth or in a list")
    add("--html", type=FilePath, metavar="FILE", help="write a page with filters")
    add_force(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the error analysis; write it as a page to `--html`."""
    from concord.metrics_core.analyses.cases.cases import ExampleSelection
    from concord.metrics_core.errors import refuse
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.running.messages import print_text
    from concord.pipeline.stages.evaluations import load_cases
    from concord.pipeline.terminal import (
        option_names,
        print_result,
        refuse_folder,
        write_output,
    )

    worst, html = arguments.worst, arguments.html
    if worst < 1:
        raise refuse(f"{COMMAND_LINE}: --worst", f"is {worst}", "write a whole number above 0")
    refuse_folder("--html", html)
    params = read_params(needs_lists=True)
    config = params.comparison_config
    config = replace(config, primary=_labels(config, arguments.metric))
    models = (arguments.model, arguments.other)
    selection = ExampleSelection(models, worst, arguments.segment, arguments.item)
    with option_names(OPTIONS):
        cases = load_cases(params, config, selection)
    warn_if_stale(params)
    if html is not None:
        write_output("--html", html, cases.to_html(), force=arguments.force)
    print_result(cases)
    if html is not None:
        print_text(f"wrote {html}")


def _labels(config: "ComparisonConfig", metric: str | None) -> list[str]:
    """Return the primary metrics, preceded by the requested one."""
    from concord.metrics_core.errors import refuse
    from concord.metrics_core.metrics.label import parse
    from concord.pipeline.terminal import evaluated_label

    if metric is None:
        return list(config.of_lists.primary)
    label = evaluated_label(metric, list(map(str, config.of_lists.labels)))
    if parse(label).metric.is_aggregate:
        problem = f"{label} is one number over all users"
        fix = "name a metric that has a value for each user"
        raise refuse(f"{COMMAND_LINE}: --metric", problem, fix)
    return list(dict.fromkeys([label, *config.of_lists.primary]))
