"""A model's lists and ground truth from their own files, for commands that rank them again."""

from collections.abc import Iterable

from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.evaluation.inputs import LoadedInputs, load_inputs
from concord.metrics_core.evaluation.score import uses_user_table
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.label import Label
from concord.pipeline.params.model import ListsFile, Params
from concord.pipeline.stages.load import (
    additional_files,
    background_file,
    lists_file,
    truth_files,
)


def load_model_inputs(
    connection: DuckDBPyConnection,
    params: Params,
    model: str,
    conventions: Conventions,
    labels: Iterable[Label],
) -> LoadedInputs:
    """Load a model's lists, ground truth and the side data that the labels may read.

    The conventions must have the pairs that `data.exclude` names.

    Raises
    ------
    InputError
        If a file is missing or invalid.
    """
    entry = params.models[model]
    assert isinstance(entry, ListsFile)
    reads_train = any(label.metric.family == "beyond" for label in labels) or conventions.propensity
    reads = {"train": reads_train, "items": True, "users": uses_user_table(conventions)}
    train, items, users = (
        background_file(params, name) if name in params.background and is_read else None
        for name, is_read in reads.items()
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
        users=users,
    )
