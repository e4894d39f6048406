"""Delta tables: the files with the current rows according to the log."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from concord.metrics_core.data.object_stores import delta_options
from concord.metrics_core.data.paths import AnyPath, RemotePath
from concord.metrics_core.errors import refuse

if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"
_AS_PARQUET = "write its current rows as plain parquet with a reader of Delta Lake"


class Snapshot(NamedTuple):
    """Files of the newest version, each with the partition values of all its rows."""

    version: int
    files: Sequence[tuple[AnyPath, Mapping[str, pa.Scalar]]]


def is_delta(path: AnyPath) -> bool:
    """True if a folder is a Delta table."""
    return path.is_dir() and (path / LOG).is_dir()


def snapshot(path: AnyPath) -> Snapshot:
    """Return the files with the current rows of a table.

    Raises
    ------
    InputError
        If `deltalake` is not installed, the log cannot be read, or the rows of the files differ
        from those of the table.
    """
    table = _open_table(path)
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        message = "is a Delta Lake table whose files use other column names (column mapping)"
        raise refuse(str(path), message, _AS_PARQUET)
    if "deletionVectors" in (table.protocol().reader_features or ()) and any(
        len(batch) for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors())
    ):
        message = (
            "is a Delta Lake table whose files contain rows that are marked as deleted "
            "(deletion vectors)"
        )
        fix = f"rewrite these files (`REORG TABLE … APPLY (PURGE)`), or {_AS_PARQUET}"
        raise refuse(str(path), message, fix)
    # A file that was written before a column was added lacks it: its values are null.
    missing = {f.name: pa.scalar(None, f.type) for f in pa.schema(table.schema().to_arrow())}
    files = [(path / name, missing | keys) for name, keys in sorted(_active_files(path, table))]
    return Snapshot(table.version(), files)


def _open_table(path: AnyPath) -> "DeltaTable":
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ModuleNotFoundError:
        message = "is a Delta Lake table: its log says which rows are current"
        fix = f"`pip install 'concord-eval[delta]'`; or {_AS_PARQUET}"
        raise refuse(str(path), message, fix) from None
    try:
        if isinstance(path, RemotePath):
            return DeltaTable(*delta_options(path.address))
        return DeltaTable(path.absolute())
    except (DeltaError, OSError, ValueError) as error:
        if isinstance(path, RemotePath):  # the answer of a store may hold secrets
            message = f"is a Delta Lake table whose log could not be read ({type(error).__name__})"
            fix = f"check the network, the credentials and the log; if all are fine, {_AS_PARQUET}"
            raise refuse(str(path), message, fix) from None
        detail = " ".join(str(error).split())[:300]
        raise refuse(str(path), f"has a log that cannot be read ({detail})", _AS_PARQUET) from None


def _active_files(path: AnyPath, table: "DeltaTable") -> Iterator[tuple[str, dict[str, pa.Scalar]]]:
    """Yield the path of each file inside the folder and its partition keys."""
    actions = pa.table(table.get_add_actions(flatten=False))
    keys = actions.column("partition") if "partition" in actions.column_names else None
    for number, quoted in enumerate(actions.column("path").to_pylist()):
        name = unquote(quoted)
        if ":" in name.partition("/")[0] or {"..", "/"} & set(PurePosixPath(name).parts):
            message = f"is a Delta Lake table with a file outside its folder: {name!r}"
            raise refuse(str(path), message, _AS_PARQUET)
        yield name, {} if keys is None else dict(keys[number])
