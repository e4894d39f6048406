"""Do the ids of a model's lists mean the same as those of truth and catalogue? Told before any number is made."""

from pathlib import Path
from typing import Any

from metrics_core.checking.id_match import Met, overlap, refuse_strangers
from pipeline.evaluating.id_views import views_of
from pipeline.params.keys import Keys
from pipeline.params.model import Params


def refuse_misfit(params: Params, model: str) -> dict[str, Any]:
    """What a model's ids have in common with the truth.

    users, items  : -> `listed`, `known` to the truth, `alike`: known to it in another case or with other leading zeros
    unknown_items : rows of items that the catalogue lacks; null without a catalogue

    Raises
    ------
    InputError : as `refuse_strangers`
    """
    data, entry = Path(params.results.data), params.models[model]
    lists = Path(params.results.lists) / f"{model}.parquet"
    files = {"lists": lists, "truth": data / "truth.parquet"}
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
    with views_of(files) as connection:
        unknown = refuse_strangers(connection, met)
        found = {f"{column}s": overlap(connection, column) for column in ("user", "item")}
    return found | {"unknown_items": unknown}
