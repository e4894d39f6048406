"""The files of a table: one file, or a folder of parquet parts with all that lies in it, partitions included."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

import pyarrow as pa

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.reading.columns.input_table import InputTable
from concord.metrics_core.reading.files.delta import LOG, is_delta, snapshot
from concord.metrics_core.reading.stores.places import Place

_FIX = "keep nothing but `*.parquet` files of one table in the folder"
_LAKES = {LOG: "Delta Lake", ".hoodie": "Hudi", "metadata": "Iceberg"}
_MISSING = "__HIVE_DEFAULT_PARTITION__"
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def paths_of(file: InputTable) -> Sequence[tuple[Place, Mapping[str, pa.Scalar]]]:
    """The file, or all parts of the folder in the order of their paths; each with the values that all of its rows have."""
    if not file.path.is_dir():
        return [(file.path, {})]
    if is_delta(file.path):
        found = snapshot(file.path).files
        if not found:
            raise refuse(file.name, "holds no rows", "check what wrote the table")
        return found
    paths = _paths(file)
    partitions = [_partition_of(file, path) for path in paths]
    whole = _whole_keys(partitions)
    return [
        (path, {key: _scalar(value, whole=key in whole) for key, value in keys.items()})
        for path, keys in zip(paths, partitions, strict=True)
    ]


def files_in(place: Place) -> list[Place]:
    """The file, or all in the folder, whatever they are; of a Delta table those that hold its current rows."""
    if not place.is_dir():
        return [place]
    if is_delta(place):
        return [path for path, _ in snapshot(place).files]
    return [each for each in place.rglob("*") if each.is_file()]


def _paths(file: InputTable) -> list[Place]:
    found = sorted(_parts(file, file.path), key=lambda part: part.relative_to(file.path).parts)
    if not found:
        raise refuse(file.name, "holds no part", _FIX)
    return found


def part_name(file: InputTable, path: Place) -> str:
    """What messages call a part: its path inside the folder."""
    return path.relative_to(file.path).as_posix() if path != file.path else path.name


def _parts(file: InputTable, folder: Place) -> Iterator[Place]:
    for entry in folder.iterdir():
        _refuse_lake(file, entry)
        if entry.name.startswith(("_", ".")):
            _refuse_hidden(file, entry)
            continue
        name = entry.relative_to(file.path).as_posix()
        if entry.is_dir() and entry.is_symlink():
            what = f"holds {name!r}, a link to a folder, which DVC does not follow"
            raise refuse(file.name, what, "put the folder itself there, or name it as the path")
        if entry.is_dir():
            yield from _parts(file, entry)
        elif entry.suffix != ".parquet" or not entry.is_file():
            raise refuse(file.name, f"holds {name!r}, which is no part", _FIX)
        else:
            yield entry


def _refuse_hidden(file: InputTable, entry: Place) -> None:
    """What writers of folders leave beside the parts (`_SUCCESS`, `.crc`) is no part; a table is."""
    parts = entry.rglob("*.parquet") if entry.is_dir() else [entry]
    if any(part.suffix == ".parquet" for part in parts):
        what = f"holds {entry.name!r}, a name that readers of folders skip, with rows in it"
        raise refuse(file.name, what, "rename it, or take it out of the folder")


def _refuse_lake(file: InputTable, entry: Place) -> None:
    lake = _LAKES.get(entry.name)
    if lake is None or not entry.is_dir():
        return
    if lake == "Iceberg" and not any(entry.glob("*.metadata.json")):
        return
    article = "an" if lake == "Iceberg" else "a"
    what = (
        f"is {article} {lake} table: its files also hold rows that were deleted or replaced since"
    )
    raise refuse(file.name, what, f"write its current rows as plain parquet with what reads {lake}")


def _partition_of(file: InputTable, path: Place) -> dict[str, str | None]:
    """The keys and values of the folders `key=value` that a part lies in."""
    found: dict[str, str | None] = {}
    for folder in path.relative_to(file.path).parts[:-1] if path != file.path else ():
        key, equals, value = folder.partition("=")
        if equals and key:
            found[unquote(key)] = None if value == _MISSING else unquote(value)
    return found


def _whole_keys(partitions: Sequence[Mapping[str, str | None]]) -> set[str]:
    """The keys all of whose values are integers, as these are written."""
    keys = {key for values in partitions for key in values}
    return {
        key
        for key in keys
        if all(
            value is None or _INTEGER.fullmatch(value)
            for values in partitions
            for value in [values.get(key)]
        )
    }


def _scalar(value: str | None, *, whole: bool) -> pa.Scalar:
    if whole:
        return pa.scalar(None if value is None else int(value), pa.int64())
    return pa.scalar(value, pa.string())
