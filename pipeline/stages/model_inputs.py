"""A model's lists and ground truth from their own files, for commands that rank them again."""

from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.evaluation.inputs import LoadedInputs, load_inputs
from concord.metrics_core.evaluation.score import uses_user_table
from concord.metrics_core.files import NO_FOLD
from concord.pipeline.params.model import ListsFile, Params
from concord.pipeline.stages.load import (
    additional_files,
    background_file,
    lists_file,
    truth_files,
)


def load_model_inputs(
    connection: DuckDBPyConnection, params: Params, model: str, conventions: Conventions
) -> LoadedInputs:
    """Load a model's lists, ground truth and side data.

    The conventions must have the pairs that `data.exclude` names.

    Raises
    ------
    InputError
        If a file is missing or invalid.
    """
    entry = params.models[model]
    assert isinstance(entry, ListsFile)
    train, items, users = (
        background_file(params, name) if name in params.background else None
        for name in ("train", "items", "users")
    )
    return load_inputs(
        connection,
        lists_file(params, model, entry),
        [truth_files(params)[entry.fold or NO_FOLD], *additional_files(params)],
        conventions,
        policies=params.input.model_dump(exclude={"allow_outside"}),
        unit=params.data.unit,
        train=train,
        items=items,
        users=users if uses_user_table(conventions) else None,
    )
