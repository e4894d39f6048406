"""`concord explain`: how one user's number came about, under one definition or two."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from concord.metrics_core.analyses.explain import explain_ranked
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import with_data_conventions
from concord.metrics_core.evaluation.side_data import Background
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.results.explain import Derivation, ExplanationDiff
from concord.pipeline.commands.stale import warn_if_stale
from concord.pipeline.params.config import compared_models, replicates_of
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.terminal.arguments import (
    label_named,
    model_files,
    preset_named,
    refuse_unknown_model,
    refused,
)
from concord.pipeline.terminal.table import console


def explain(user: str, metric: str, model: str, versus: str | None, *, markdown: bool) -> None:
    """Print the derivation, one for each training of a model with replicates; as Markdown if asked."""
    params = read_params()
    label = label_named(metric)
    other = None if versus is None else with_data_conventions(preset_named(versus), params.pinned)
    trainings = replicates_of(params).get(model)
    if trainings is None:
        refuse_unknown_model(dict.fromkeys([*compared_models(params), *params.models]), model)
        texts = [_text(_derived(params, model, user, label, other), markdown=markdown)]
    else:
        derivations = {
            name: _derived(params, name, user, label, other) for name in trainings.values()
        }
        texts = [*_of_trainings(model, derivations, markdown=markdown)]
    warn_if_stale(params)
    for text in texts:
        if markdown:
            print(text)
        else:
            console().print(text)


def _derived(
    params: Params, model: str, user: str, label: Label, versus: Conventions | None
) -> Derivation | ExplanationDiff:
    lists, truth = (pl.read_parquet(path, glob=False) for path in model_files(params, model))
    try:
        return explain_ranked(
            lists,
            truth,
            user=user,
            metric=str(label),
            conventions=params.pinned,
            versus=versus,
            background=_background(params),
        )
    except ValueError as error:
        raise refused(error, "name a user of the data and a metric of lists and truth") from None


def _text(derivation: Derivation | ExplanationDiff, *, markdown: bool) -> str:
    return derivation.to_markdown() if markdown else str(derivation)


def _of_trainings(
    model: str, derivations: Mapping[str, Derivation | ExplanationDiff], *, markdown: bool
) -> Iterator[str]:
    """Each training under its name, and the mean, which is the value of the model."""
    for name, derivation in derivations.items():
        title = f"### {name}\n" if markdown else f"=== {name}"
        yield f"{title}\n{_text(derivation, markdown=markdown)}\n"
    ours = [
        each.ours if isinstance(each, ExplanationDiff) else each for each in derivations.values()
    ]
    values = [each.value for each in ours if each.value is not None and math.isfinite(each.value)]
    line = f"{model}: the value of {ours[0].label} is the mean over its {len(ours)} trainings"
    if len(values) == len(ours):
        terms = " + ".join(f"{value:.6g}" for value in values)
        line += f": ({terms}) / {len(ours)} = {math.fsum(values) / len(ours):.6g}"
    yield line


def _background(params: Params) -> Background:
    """Read where the metric asks for it alone."""
    kept = Path(params.results.data)
    return Background(
        **{
            name: kept / f"{name}.parquet"
            for name in ("train", "items")
            if name in params.background
        }
    )
