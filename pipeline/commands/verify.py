"""`concord verify`: published means next to recomputed ones, and what explains each gap."""

import argparse
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from concord.pipeline.commands.parser import FilePath

HELP = "compare a table of published means with this evaluation"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", type=FilePath, help="CSV file: model, metric, value as printed")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the table; return 0 if the conventions of params.yaml give every mean, else 1."""
    from concord.metrics_core.analyses.verify.verify import read_published, verify_rows
    from concord.metrics_core.data.relations import in_memory
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.stages.load import read_conventions
    from concord.pipeline.stages.model_inputs import load_model_inputs
    from concord.pipeline.terminal import parse_per_user, print_result

    params = read_params(needs_lists=True)
    parse = partial(parse_per_user, feature="verify")
    rows = read_published(Path(arguments.table), params.models, parse)
    conventions = params.with_catalogue_size(read_conventions(params))
    labels = [row.label for row in rows]
    with ExitStack() as connections:
        models = {
            model: load_model_inputs(
                connections.enter_context(in_memory()), params, model, conventions, labels
            )
            for model in dict.fromkeys(row.model for row in rows)
        }
        result = verify_rows(rows, conventions, models)
    warn_if_stale(params)
    print_result(result, as_json=arguments.json)
    return 0 if result.agrees else 1
