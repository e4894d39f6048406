"""Delta tables: the files that hold the current rows according to the log."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from concord.metrics_core.data.object_stores import delta_options
from concord.metrics_core.data.paths import Place, RemotePath
from concord.metrics_core.errors import InputError, Problem, missing_extra, refuse

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"
_PLAIN = "write its current rows as plain parquet with what reads Delta Lake"
_MAPPING = "delta.columnMapping.mode"


@dataclass(frozen=True)
class Snapshot:
    """Files of the newest version by path, each with the partition values of all its rows."""

    version: int
    files: Sequence[tuple[Place, Mapping[str, pa.Scalar]]]


def is_delta(place: Place) -> bool:
    return place.is_dir() and (place / LOG).is_dir()


def snapshot(place: Place) -> Snapshot:
    """Return the files with the current rows of a table.

    Raises
    ------
    InputError : `deltalake` is not installed, the log cannot be read, or rows are not what the files hold
    """
    table = _opened(place)
    _refuse_other_rows(place, table)
    fields = pa.schema(table.schema().to_arrow())
    # A file that was written before a column was added lacks it: nothing is known there.
    unknown = {field.name: pa.scalar(None, field.type) for field in fields}
    files = [(place / name, unknown | keys) for name, keys in sorted(_active(place, table))]
    return Snapshot(table.version(), files)


def _opened(place: Place) -> "DeltaTable":
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ModuleNotFoundError as error:
        if refusal := missing_extra(error):
            what = "is a Delta Lake table: its log says which rows are current"
            raise refuse(str(place), what, f"{refusal.problems[0].fix}; or {_PLAIN}") from None
        raise
    try:
        if isinstance(place, RemotePath):
            return DeltaTable(*delta_options(place.address))
        return DeltaTable(place.absolute())
    except (DeltaError, OSError, ValueError) as error:
        raise InputError([_unreadable(place, error)]) from None


def _unreadable(place: Place, error: Exception) -> Problem:
    """Return the problem; an answer of a store is not repeated, since it may hold secrets."""
    if isinstance(place, RemotePath):
        what = f"is a Delta Lake table whose log could not be read ({type(error).__name__})"
        fix = "check the network, the credentials and the log; if all is well there, "
        return Problem(str(place), what, fix + _PLAIN)
    said = " ".join(str(error).split())[:300]
    return Problem(str(place), f"has a log that cannot be read ({said})", _PLAIN)


def _refuse_other_rows(place: Place, table: "DeltaTable") -> None:
    if table.metadata().configuration.get(_MAPPING, "none") != "none":
        what = "is a Delta Lake table whose files use other column names (column mapping)"
        raise refuse(str(place), what, _PLAIN)
    if "deletionVectors" in (table.protocol().reader_features or ()) and any(
        len(batch) for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors())
    ):
        what = "is a Delta Lake table whose files hold rows that are marked as deleted (deletion vectors)"
        fix = "rewrite these files (`REORG TABLE … APPLY (PURGE)`), or "
        raise refuse(str(place), what, fix + _PLAIN)


def _active(place: Place, table: "DeltaTable") -> Iterator[tuple[str, dict[str, pa.Scalar]]]:
    """Yield the path of each file inside the folder and its partition keys."""
    actions = pa.table(table.get_add_actions(flatten=False))
    keys = actions.column("partition") if "partition" in actions.column_names else None
    for number, written in enumerate(actions.column("path").to_pylist()):
        name = unquote(written)
        if ":" in name.partition("/")[0] or {"..", "/"} & set(PurePosixPath(name).parts):
            what = f"is a Delta Lake table that names a file elsewhere: {name!r}"
            raise refuse(str(place), what, _PLAIN)
        yield name, {} if keys is None else dict(keys[number])
