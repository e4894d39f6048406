"""`concord ppi`: estimates from grades of people for a sample, and of a judge for all queries."""

import argparse
from dataclasses import replace

from concord.pipeline.commands.leaderboard import METRICS

HELP = "estimate metrics from grades of people and of a judge"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--metric", action="append", default=[], metavar="LABEL", help=METRICS)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Print prediction-powered means and differences of the primary or the named metrics."""
    from concord.metrics_core.analyses.ppi.labels import (
        refuse_sample,
        refuse_several,
        unsupported_reason,
    )
    from concord.metrics_core.analyses.ppi.ppi import ppi_tables
    from concord.metrics_core.errors import refuse
    from concord.metrics_core.evaluation.dataset import TableLoader
    from concord.metrics_core.files import NO_FOLD
    from concord.pipeline.params.model import PARAMS, ListsFile
    from concord.pipeline.params.read import read_params
    from concord.pipeline.stages.load import (
        input_policies,
        lists_file,
        read_conventions,
        truth_files,
    )
    from concord.pipeline.terminal import evaluated_label, print_result

    params = read_params(needs_lists=True)
    refuse_sample(params.data.truth.sample, f"{PARAMS}: data.truth.sample")
    refuse_several(params.data.truth.additional, f"{PARAMS}: data.truth.additional")
    conventions = params.with_catalogue_size(read_conventions(params))
    config = params.build_config(params.labels, conventions).of_lists
    named = [evaluated_label(text, list(map(str, config.labels))) for text in arguments.metric]
    chosen = named or config.primary
    needed = {*config.primary}
    if not needed.issuperset(chosen):  # p-values of other metrics are adjusted together
        others = (e for e in config.labels if not unsupported_reason(e, config.conventions))
        needed = {*chosen, *map(str, others)}
    config = replace(config, labels=[each for each in config.labels if str(each) in needed])
    truths = truth_files(params)
    if NO_FOLD not in truths:
        problem = "names a ground truth for each fold, and `concord ppi` reads one"
        raise refuse(f"{PARAMS}: data.truth.folds", problem, "evaluate one fold")
    entries = {name: each for name, each in params.models.items() if isinstance(each, ListsFile)}
    lists = {model: lists_file(params, model, entry) for model, entry in entries.items()}
    loader = TableLoader(config, input_policies(params), {}, is_hashed=False)
    result = ppi_tables(config, loader, lists, truths[NO_FOLD])
    result = replace(
        result,
        means=tuple(each for each in result.means if each.label in chosen),
        differences=tuple(each for each in result.differences if each.label in chosen),
    )
    print_result(result, as_json=arguments.json)
