"""`concord explain`: the derivation of one user's value, under one definition or two."""

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from concord.metrics_core.analyses.explain.result import Derivation, ExplanationDiff
    from concord.metrics_core.conventions.conventions import Conventions
    from concord.metrics_core.metrics.label import Label
    from concord.pipeline.params.model import Params
    from concord.reports.text.blocks import Block

HELP = "show how one user's value is computed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("user", help="a user's id")
    add("metric", help="a metric, such as nDCG@10")
    add("--model", required=True, help="a model of params.yaml")
    add(
        "--versus",
        metavar="PRESET",
        help="compare with this preset, on the grade scale of the data",
    )
    add("--markdown", action="store_true", help="print Markdown")


def run(arguments: argparse.Namespace) -> None:
    """Print the derivation, or that of each replicate."""
    from concord.metrics_core.conventions.presets import with_data_conventions
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.running.messages import print_text
    from concord.pipeline.terminal import (
        find_preset,
        parse_label,
        print_blocks,
        refuse_unknown_model,
    )
    from concord.reports.text.blocks import blocks_of
    from concord.reports.text.markdown import to_markdown

    params = read_params(needs_lists=True)
    label, model = parse_label(arguments.metric), arguments.model
    versus = arguments.versus and with_data_conventions(
        find_preset(arguments.versus), params.resolved_conventions
    )
    replicates = params.replicate_names.get(model)
    if replicates is None:
        refuse_unknown_model(dict.fromkeys([*params.compared_models, *params.models]), model)
        blocks = blocks_of(_derivation(params, model, arguments.user, label, versus))
    else:
        derivations = {
            name: _derivation(params, name, arguments.user, label, versus)
            for name in replicates.values()
        }
        blocks = _replicate_blocks(model, derivations)
    warn_if_stale(params)
    if arguments.markdown:
        print_text(to_markdown(blocks))
    else:
        print_blocks(blocks)


def _derivation(
    params: "Params", model: str, user: str, label: "Label", versus: "Conventions | None"
) -> "Derivation | ExplanationDiff":
    from contextlib import ExitStack

    import polars as pl

    from concord.metrics_core.analyses.explain.explain import explain_ranked
    from concord.metrics_core.evaluation.side_data import SideData
    from concord.metrics_core.files import load_json
    from concord.pipeline.params.repository import rerun_command
    from concord.pipeline.running.outputs import spill_folder
    from concord.pipeline.stages.ranked_again import ListFiles
    from concord.pipeline.terminal import argument_error, model_files

    lists, truth = (pl.read_parquet(path, glob=False) for path in model_files(params, model))
    data, quality = Path(params.results.data), Path(params.results.quality) / "truth.json"
    tables = {
        name: data / f"{name}.parquet" for name in ("train", "items") if name in params.background
    }
    with ExitStack() as stack:
        rank_again = None
        if versus is not None:
            folder = Path(stack.enter_context(spill_folder()))
            rank_again = ListFiles(params, model, folder).frame
        try:
            return explain_ranked(
                lists,
                truth,
                user=user,
                metric=str(label),
                conventions=params.resolved_conventions,
                versus=versus,
                background=SideData(**tables),
                words=load_json(quality, f"run `{rerun_command()}`").get("words"),
                rank_again=rank_again,
            )
        except ValueError as error:
            fix = "name a user of the data and a metric of lists and truth"
            raise argument_error(error, fix) from None


def _replicate_blocks(
    model: str, derivations: "Mapping[str, Derivation | ExplanationDiff]"
) -> "Iterator[Block]":
    """Yield the derivation of each replicate under its name, then the mean of their values."""
    from concord.metrics_core.analyses.explain.result import ExplanationDiff
    from concord.reports.text.blocks import Heading, blocks_of

    for name, derivation in derivations.items():
        yield Heading(f"=== {name}")
        yield from blocks_of(derivation)
        yield ""
    replicates = [
        derivation.ours if isinstance(derivation, ExplanationDiff) else derivation
        for derivation in derivations.values()
    ]
    values = [
        each.value for each in replicates if each.value is not None and math.isfinite(each.value)
    ]
    n, label = len(replicates), replicates[0].label
    line = f"{model}: the value of {label} is the mean over its {n} replicates"
    if len(values) == n:
        terms = " + ".join(f"{value:.6g}" for value in values)
        line += f": ({terms}) / {n} = {math.fsum(values) / n:.6g}"
    yield line
