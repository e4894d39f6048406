"""The files that params.yaml names, as tables to read."""

from collections.abc import Mapping

from concord.metrics_core.data import load_lists as lists
from concord.metrics_core.data import side_data as background
from concord.metrics_core.data import side_data as truth
from concord.metrics_core.data.input_table import InputTable, columns_of
from concord.metrics_core.data.paths import place_of
from concord.metrics_core.data.policies import Policies
from concord.metrics_core.data.source import format_of, refuse_missing
from concord.metrics_core.files import WHOLE
from concord.pipeline.params.boundaries import refuse_outside
from concord.pipeline.params.keys import Keys
from concord.pipeline.params.model import BackgroundFile, ListsFile, Params, TruthFile

Columns = tuple[tuple[str, ...], tuple[str, ...]]  # must be there, may be there
BACKGROUND: Mapping[str, Columns] = {
    "train": background.TRAIN_COLUMNS,
    "items": background.ITEMS_COLUMNS,
    "users": (("user",), ()),
}


def lists_file(params: Params, model: str) -> InputTable:
    """The lists of a model.

    Raises
    ------
    InputError : the file is not there, is empty, lies outside the project, or its format is not known
    """
    table = _table(params, f"models.{model}", params.models[model], lists.COLUMNS)
    return table.of_requests(params.data.unit)


def truth_files(params: Params) -> dict[str, InputTable]:
    """Fold -> its truth; WHOLE -> the truth, where there is one for all lists. Raises as `lists_file`."""
    entry = params.data.truth
    files = {fold: f"{entry.path}/{file}" for fold, file in entry.folds.items()}
    return {
        fold: _table(
            params, "data.truth", entry.model_copy(update={"path": path}), truth.COLUMNS
        ).of_requests(params.data.unit)
        for fold, path in (files or {WHOLE: entry.path}).items()
    }


def background_file(params: Params, name: str) -> InputTable:
    """Train, catalogue or users; raises as `lists_file`."""
    entry = params.background[name]  # type: ignore[index]
    return _table(params, f"background.{name}", entry, BACKGROUND[name])


def policies(params: Params) -> Policies:
    """What `input` of params.yaml lets pass."""
    return Policies(**params.input.model_dump(exclude={"allow_outside"}))


def _table(
    params: Params, key: str, entry: TruthFile | ListsFile | BackgroundFile, columns: Columns
) -> InputTable:
    path, settings = place_of(entry.path), Keys(key)
    refuse_outside(key, path, allow_outside=params.input.allow_outside)
    refuse_missing(path, settings)
    form = format_of(path, entry.format, settings)
    own = {str(ours): theirs for ours, theirs in entry.columns.items()}
    shared = {str(o): t for o, t in params.data.columns.items() if o in columns[0] and o not in own}
    if form == "trec":  # it has no names of columns
        shared = {}
    needs, may_have, mapped = columns_of(columns, shared | own)
    settings = Keys(key, frozenset(shared))
    return InputTable(str(path), form, needs, may_have, mapped, settings)
