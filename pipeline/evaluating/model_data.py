"""The data of one model as the load stages left it, and its checks before anything is evaluated."""

from pathlib import Path
from typing import Any

from concord.metrics_core.data.id_matching import Met
from concord.metrics_core.data.row_checks import only_row
from concord.metrics_core.errors import InputError
from concord.metrics_core.evaluation.evaluate_model import ModelData, check_ids
from concord.metrics_core.evaluation.grade_fit import misgraded
from concord.metrics_core.evaluation.score import names_users
from concord.pipeline.params.keys import Keys
from concord.pipeline.params.labels import labels_of
from concord.pipeline.params.model import Params
from concord.pipeline.running.connections import reading


def model_data(params: Params, model: str) -> ModelData:
    """Return the files of a model and of the data it is evaluated on."""
    folder = Path(params.results.data)
    train, items, users = (
        folder / f"{name}.parquet" if name in params.background else None
        for name in ("train", "items", "users")
    )
    return ModelData(
        model=model,
        lists=Path(params.results.lists) / f"{model}.parquet",
        truth=params.truth_of(model),
        train=train,
        items=items,
        users=users if names_users(params.pinned) else None,
        connect=reading,
    )


def check_model_ids(params: Params, model: str) -> dict[str, Any]:
    """Return what a model's ids have in common with those of ground truth and catalogue; see `fit_of`.

    Raises
    ------
    InputError
        As `fit_of`.
    """
    entry, catalogue = params.models[model], params.background.get("items")
    met = Met(
        entry.path,
        {str(ours): theirs for ours, theirs in entry.columns.items()},
        catalogue.path if catalogue else None,
        params.input.unknown_items,
        Keys(f"models.{model}"),
    )
    return check_ids(model_data(params, model), met, of_requests=bool(params.data.unit))


def check_grades(params: Params, model: str) -> None:
    """Raise an InputError if no grade reaches the threshold, or one is above what ERR takes; see `misgraded`."""
    truth = params.truth_of(model)
    with reading([truth]) as connection:
        connection.read_parquet(str(truth)).create_view("truth")
        (highest,) = only_row(connection, "SELECT max(grade) FROM truth")
    name, settings = params.data.truth.path, Keys("data.truth")
    if problems := list(misgraded(highest, labels_of(params), params.pinned, name, settings)):
        raise InputError(problems)
