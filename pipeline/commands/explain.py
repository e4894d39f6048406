"""`concord explain`: the derivation of one user's value, under one definition or two."""

import argparse
import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from concord.metrics_core.analyses.explain.result import Derivation, ExplanationDiff
    from concord.reports.text.blocks import Block

_DECIMAL = re.compile(r"[0-9]*\.[0-9]+")  # a number as in a paper; no user has such an id
HELP = "show how a value is computed, or where a number comes from"
_SUBJECT = (
    "the id of a user; numbers with --metric run `concord reconcile`, a CSV table runs `verify`"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("user", help=_SUBJECT)
    add("metric", help="a metric, such as nDCG@10")
    add("--model", required=True, help="a model of params.yaml")
    add(
        "--versus",
        metavar="PRESET",
        help="compare with this preset, on the grade scale of the data",
    )
    add("--markdown", action="store_true", help="print Markdown")


def command_of(words: "Sequence[str]") -> list[str]:
    """Return the command for the words after `concord explain`: a user, a number or a table."""
    options = {word.partition("=")[0] for word in words}
    if "--metric" in options:
        return ["reconcile", *words]
    if len(words) > 1 and _DECIMAL.fullmatch(words[0]) and not words[1].startswith("-"):
        return ["reconcile", words[0], "--metric", *words[1:]]
    has_table = any(word.endswith(".csv") for word in words)
    return ["verify" if has_table and "--model" not in options else "explain", *words]


def run(arguments: argparse.Namespace) -> None:
    """Print the derivation, or that of each replicate."""
    from concord.metrics_core.analyses.explain.explain import explain_loaded, parse_explained
    from concord.metrics_core.conventions.presets import with_data_conventions
    from concord.metrics_core.data.relations import in_memory
    from concord.metrics_core.errors import label_fix
    from concord.pipeline.dvc.current_results import warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.running.messages import print_text
    from concord.pipeline.stages.load import read_conventions
    from concord.pipeline.stages.model_inputs import load_model_inputs
    from concord.pipeline.terminal import (
        argument_error,
        find_preset,
        print_blocks,
        refuse_unknown_model,
    )
    from concord.reports.text.blocks import blocks_of
    from concord.reports.text.markdown import to_markdown

    params = read_params(needs_lists=True)
    try:
        label, model = parse_explained(arguments.metric), arguments.model
    except ValueError as error:
        raise argument_error(error, label_fix(error)) from None
    conventions = params.with_catalogue_size(read_conventions(params))
    versus = arguments.versus and with_data_conventions(find_preset(arguments.versus), conventions)

    def derive(name: str) -> "Derivation | ExplanationDiff":
        try:
            with in_memory() as connection:
                inputs = load_model_inputs(connection, params, name, conventions, [label])
                return explain_loaded(inputs, arguments.user, label, conventions, versus)
        except ValueError as error:
            fix = "give the table, or name a metric of lists and truth"
            raise argument_error(error, fix) from None

    replicates = params.replicate_names.get(model)
    if replicates is None:
        refuse_unknown_model(dict.fromkeys([*params.compared_models, *params.models]), model)
        blocks = blocks_of(derive(model))
    else:
        blocks = _replicate_blocks(model, {name: derive(name) for name in replicates.values()})
    warn_if_stale(params)
    if arguments.markdown:
        print_text(to_markdown(blocks))
    else:
        print_blocks(blocks)


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
