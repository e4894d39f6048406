"""Do the ids of a model's lists mean the same as those of truth and catalogue? Told before any number is made."""

from pathlib import Path
from typing import Any

from concord.metrics_core.checking.id_match import Met, fit_in
from concord.metrics_core.checking.relations import id_views
from concord.pipeline.params.keys import Keys
from concord.pipeline.params.model import Params
from concord.pipeline.running.connections import reading


def refuse_misfit(params: Params, model: str) -> dict[str, Any]:
    """What a model's ids have in common with the truth; see `fit_of`.

    Raises
    ------
    InputError : as `fit_of`
    """
    data, entry = Path(params.results.data), params.models[model]
    lists = Path(params.results.lists) / f"{model}.parquet"
    files = {"lists": lists, "truth": params.truth_of(model)}
    catalogue = params.background.get("items")
    if catalogue:
        files["items"] = data / "items.parquet"
    met = Met(
        entry.path,
        {str(ours): theirs for ours, theirs in entry.columns.items()},
        catalogue.path if catalogue else None,
        params.input.unknown_items,
        Keys(f"models.{model}"),
    )
    with reading(files.values()) as connection:
        id_views(connection, files)
        return fit_in(connection, met, of_requests=bool(params.data.unit))
