"""`concord explain`: how one user's number came about, under one definition or two."""

from pathlib import Path

import polars as pl

from concord.metrics_core.conventions.presets import beside
from concord.metrics_core.explain import explain_ranked
from concord.metrics_core.scoring.background import Background
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.terminal.arguments import label_named, model_files, preset_named, refused
from concord.pipeline.terminal.table import console


def explain(user: str, metric: str, model: str, versus: str | None, *, markdown: bool) -> None:
    """Prints the derivation; as Markdown if asked."""
    params = read_params()
    label = str(label_named(metric))
    other = None if versus is None else beside(preset_named(versus), params.pinned)
    lists, truth = (pl.read_parquet(path, glob=False) for path in model_files(params, model))
    try:
        found = explain_ranked(
            lists,
            truth,
            user=user,
            metric=label,
            conventions=params.pinned,
            versus=other,
            background=_background(params),
        )
    except ValueError as error:
        raise refused(error, "name a user of the data and a metric of lists and truth") from None
    if markdown:
        print(found.to_markdown())
    else:
        console().print(str(found))


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
