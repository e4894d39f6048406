"""`concord verify`: published means next to recomputed ones, and what explains each gap."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from concord.pipeline.commands.parser import FilePath

if TYPE_CHECKING:
    from concord.metrics_core.metrics.label import Label

HELP = "compare a table of published means with this evaluation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", type=FilePath, help="CSV file: model, metric, value as printed")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the table; return 0 if the conventions of params.yaml give every mean, else 1."""
    from concord.metrics_core.analyses.verify.verify import read_published, verify_rows
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.stages.evaluate import positive_grades
    from concord.pipeline.stages.ranked_again import model_lists
    from concord.pipeline.terminal import model_files, print_result

    params = read_params(needs_lists=True)
    rows = read_published(Path(arguments.table), params.models, _parse_per_user)
    truths = {model_files(params, row.model)[1] for row in rows}

    grades = sorted({grade for truth in truths for grade in positive_grades(truth)})
    with model_lists(params, dict.fromkeys(row.model for row in rows)) as lists:
        result = verify_rows(rows, params.resolved_conventions, lists, grades)
    warn_if_stale(params)
    print_result(result, as_json=arguments.json)
    return 0 if result.agrees else 1


def _parse_per_user(text: str) -> "Label":
    """Return the label; raise a ValueError if it is one number over all users."""
    from concord.metrics_core.metrics.label import parse

    label = parse(text)
    if label.metric.is_aggregate:
        msg = f"{label} is one number over all users, which verify cannot search"
        raise ValueError(msg)
    return label
