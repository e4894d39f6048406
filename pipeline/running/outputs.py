"""Results on disk: atomic writes, tables, temporary files, damaged results, removed models."""

import ctypes
import json
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.errors import InputError, Problem, format_count, raise_problems
from concord.metrics_core.files import SIDE_TABLES, load_json
from concord.pipeline.params.model_names import MODEL_NAME
from concord.pipeline.params.paths import ModelFiles
from concord.pipeline.params.repository import rerun_command
from concord.pipeline.running.failures import explain_disk_errors, refuse_unwritable
from concord.pipeline.running.messages import LOG, print_line

if TYPE_CHECKING:
    import polars as pl

    from concord.pipeline.params.model import Params, Results

_TEMPORARY = re.compile(r"\..+\.(\d{1,9})\.part")
_QUERY_PROCESS, _ACCESS_DENIED = 0x1000, 5  # of Windows
_SPILL = f"concord-duckdb-{socket.gethostname()}-"  # hosts may share a folder but not processes


def remove_stale_files(folder: Path) -> None:
    """Remove half-written files of processes that have ended."""
    for file in folder.glob(".*.part"):
        match = _TEMPORARY.fullmatch(file.name)
        if match and not _is_running(int(match[1])):
            remove_path(file)


@contextmanager
def spill_folder() -> Iterator[str]:
    """Yield a folder for DuckDB's temporary files; remove those of processes that have ended."""
    for stale in Path(tempfile.gettempdir()).glob(f"{_SPILL}*"):
        process = stale.name.removeprefix(_SPILL).partition("-")[0]
        if process.isdecimal() and not _is_running(int(process)):
            remove_path(stale)
    folder = Path(tempfile.mkdtemp(prefix=f"{_SPILL}{os.getpid()}-"))
    try:
        yield str(folder)
    finally:
        remove_path(folder)


def _is_running(process: int) -> bool:
    if sys.platform == "win32":  # where `os.kill` would send it Ctrl-C
        kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
        if handle := kernel32.OpenProcess(_QUERY_PROCESS, False, process):
            kernel32.CloseHandle(handle)
            return True
        return ctypes.get_last_error() == _ACCESS_DENIED  # another user's
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def remove_path(path: Path) -> None:
    """Remove a file or folder if possible; those of other users stay."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def rerun_fix() -> str:
    """Return the fix of a result that is missing or damaged."""
    return f"run `{rerun_command()}`, which makes it again"


def logged_view(results: "Results") -> str | None:
    """Return where MLflow shows the last results; None if nothing was logged."""
    runs = Path(results.mlflow) / "runs.json"
    return load_json(runs, rerun_fix()).get("view") if runs.exists() else None


def prepare_folders(results: "Results", *folders: str) -> None:
    """Check that folders are writable; remove temporary files of killed runs from all results."""
    for folder in vars(results).values():
        remove_stale_files(Path(folder))
    for folder in folders:
        refuse_unwritable(Path(folder))


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path, which replaces `path` after the block; a stream's own path."""
    if is_stream(path):
        with explain_disk_errors(path, path):
            yield path
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with explain_disk_errors(path, temporary):
            path.parent.mkdir(parents=True, exist_ok=True)
            yield temporary
            with temporary.open("rb+") as file:  # Windows flushes only what can be written
                os.fsync(file.fileno())
            temporary.replace(path)
            LOG.debug("wrote %s", path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """True for a device, a pipe or a link to an open file: a rename would replace it."""
    if path.is_symlink() and path.parent.resolve().parts[1:2] in {("dev",), ("proc",)}:
        return True
    return path.exists() and not path.is_file() and not path.is_dir()


def refuse_irregular(files: Iterable[Path], outs: Iterable[Path] = ()) -> None:
    """Raise InputError for links, folders, pipes and devices in place of files.

    An output of a stage may be a link, as of DVC, and that of folds is a folder.
    """
    special = [file for file in files if file.is_symlink() or file.is_dir() or is_stream(file)]
    special += [
        o for o in outs if is_stream(o) or (o.is_dir() and o.suffix not in {"", ".parquet"})
    ]
    problem = "is a link, a folder or a pipe, and must be a regular file"
    raise_problems(Problem(str(path), problem, "remove it") for path in special)


def write_text(path: Path, text: str) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, content: Any) -> None:
    """Write JSON with keys in their order; NaN and infinity are refused."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_parquet(path: Path, table: "pl.DataFrame") -> None:
    with atomic_write(path) as temporary:
        table.write_parquet(temporary, row_group_size=131_072)


def write_csv(path: Path, table: "pl.DataFrame") -> None:
    with atomic_write(path) as temporary:
        table.write_csv(temporary)


def unreadable_results(results: "Results") -> list[Problem]:
    """Return a problem for each result that is not valid JSON or parquet."""
    folders = {*vars(results).values()} - {results.report, results.mlflow}
    files = [path for folder in sorted(folders) for path in sorted(Path(folder).rglob("*"))]
    return [problem for path in files if not _has_files(path) and (problem := _read_problem(path))]


def _has_files(path: Path) -> bool:
    """True for a folder with files, such as the ground truth of folds."""
    return path.is_dir() and any(path.iterdir())


def _read_problem(path: Path) -> Problem | None:
    try:
        if path.suffix == ".json":
            load_json(path, rerun_fix())
        elif path.suffix == ".parquet":
            file = pq.ParquetFile(path)
            for group in range(file.num_row_groups):
                file.read_row_group(group).validate(full=True)
    except InputError as error:
        return error.problems[0]
    except (pa.ArrowException, OSError) as error:
        problem = f"is damaged: it is not valid parquet: {' '.join(str(error).split())}"
        return Problem(str(path), problem, rerun_fix())
    return None


_INPUT_KEYS = {"path", "format", "sha256", "md5", "bytes", "rows"}  # in the summary of every input


def remove_models(params: "Params") -> None:
    """Remove the results of models that params.yaml no longer names, and print a line.

    Only models whose quality or summary file names them are removed: a user's files stay.
    """
    folders = params.results
    files = [*Path(folders.quality).glob("*.json"), *Path(folders.summary).glob("*.json")]
    models = {
        path.stem
        for path in files
        if re.fullmatch(MODEL_NAME, path.stem) and _read_json(path).get("model") == path.stem
    }
    for model in sorted(models - set(params.models)):
        _remove_results(model, *vars(ModelFiles.of_model(folders, model)).values())


def remove_background(params: "Params") -> None:
    """Remove the side data that params.yaml no longer names, and print a line."""
    for name in SIDE_TABLES:
        path = Path(params.results.data) / f"{name}.json"
        if name not in params.background and _read_json(path).keys() >= _INPUT_KEYS:
            _remove_results(name, path.with_suffix(".parquet"), path)


def _remove_results(name: str, *paths: Path) -> None:
    """Remove files, also if another stage removes them meanwhile, and print a line."""
    removed = [path for path in paths if path.is_file()]
    for path in removed:
        path.unlink(missing_ok=True)
    if removed:
        files = format_count(len(removed), "result file")
        print_line(f"removed {files} of {name}, which params.yaml no longer names")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


_FORMULA_START = r"^[=+\-@\t\r]"


def escape_formulas(table: "pl.DataFrame", ids: Sequence[str] = ()) -> "pl.DataFrame":
    """Return the table with a quote before texts that start like a formula, for CSV.

    Columns of `ids` are read again, and stay.
    """
    import polars as pl  # slow: most commands write no table

    texts = [
        pl.when(column.str.contains(_FORMULA_START))
        .then("'" + column)
        .otherwise(column)
        .alias(column.name)
        for column in table.drop(ids)
        if column.dtype == pl.String
    ]
    return table.with_columns(texts)


ROWS_PER_GROUP = 32_768  # small, so that most are written during the computation
METADATA_KEY = b"concord"


class PerUserWriter:
    """Writer of frames in row groups of a fixed size, in a separate thread."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = pq.ParquetWriter(path, schema, compression="zstd")
        self._pending = pa.Table.from_batches([], schema)
        self._thread = ThreadPoolExecutor(1)
        self._write: Future[None] | None = None

    def write(self, values: "pl.DataFrame") -> None:
        table = values.to_arrow().cast(self._schema)
        self._pending = pa.concat_tables([self._pending, table])
        while len(self._pending) >= ROWS_PER_GROUP:
            self._flush(ROWS_PER_GROUP)

    def close(self) -> None:
        try:
            with self._thread:
                if len(self._pending):
                    self._flush(len(self._pending))
                self._wait()
        finally:
            self._file.close()

    def _flush(self, rows: int) -> None:
        self._wait()
        group, self._pending = self._pending.slice(0, rows), self._pending.slice(rows)
        self._write = self._thread.submit(self._file.write_table, group.combine_chunks())

    def _wait(self) -> None:
        """Wait for the last row group; raise its error."""
        if self._write is not None:
            self._write.result()


@contextmanager
def per_user_writer(
    path: Path, id_type: pa.DataType, labels: list[str], content: dict[str, Any]
) -> Iterator[PerUserWriter]:
    """Yield a writer of user and metrics; `content` becomes the metadata of the file."""
    fields = [pa.field("user", id_type), *(pa.field(label, pa.float64()) for label in labels)]
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    schema = pa.schema(fields, metadata={METADATA_KEY: text.encode()})
    with atomic_write(path) as temporary:
        writer = PerUserWriter(temporary, schema)
        try:
            yield writer
        finally:
            writer.close()


def read_metadata(path: Path) -> dict[str, Any]:
    """Return the metadata that `per_user_writer` wrote."""
    metadata = pq.read_schema(path).metadata or {}
    content: dict[str, Any] = json.loads(metadata[METADATA_KEY])
    return content
