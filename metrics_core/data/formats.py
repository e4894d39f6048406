"""Formats of tables, and checks of paths before a table is read."""

import difflib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from concord.metrics_core.data.object_stores import missing_bucket
from concord.metrics_core.data.paths import AnyPath, RemotePath
from concord.metrics_core.errors import InputError, SettingNames, refuse
from concord.metrics_core.files import STORES, is_address, redact_address, refuse_special


class FileFormat(NamedTuple):
    """A format: endings of its files, the delimiter of columns, and whether columns have names.

    Only text formats can be read from `.gz`.
    """

    endings: tuple[str, ...]
    delimiter: str = ""
    is_text: bool = True
    has_names: bool = True


# `Format` of pipeline/params/model.py has the same names.
FORMATS = {
    "parquet": FileFormat((".parquet",), is_text=False),
    "arrow": FileFormat((".arrow", ".feather", ".ipc"), is_text=False),
    "csv": FileFormat((".csv",), ","),
    "tsv": FileFormat((".tsv",), "\t"),
    "jsonl": FileFormat((".jsonl", ".ndjson")),
    "json": FileFormat((".json",), has_names=False),
    "trec": FileFormat((".run", ".qrels", ".trec"), has_names=False),
}
DELIMITERS = {name: row.delimiter for name, row in FORMATS.items() if row.delimiter}
UNNAMED = tuple(name for name, row in FORMATS.items() if not row.has_names)
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
COPY_AGAIN = "write or copy the file again"
ENDINGS = {ending: name for name, row in FORMATS.items() for ending in row.endings}


def format_by_name(path: AnyPath) -> str | None:
    """Return the format that a file's name shows; parquet for a folder."""
    if path.is_dir():
        return "parquet"
    suffixes = [".", *path.suffixes]
    return ENDINGS.get(suffixes[-2 if suffixes[-1] == ".gz" else -1].lower())


def format_fix(settings: SettingNames, name: str = "") -> str:
    """Return how to set the format of a file: in params.yaml, or by the ending of its name."""
    if setting := settings.of_table("format", value=name or ...):
        return f"set {setting}"
    return f"give the file {f'the ending .{name}' if name else 'another ending'}"


def detect_format(path: AnyPath, setting: str | None, settings: SettingNames) -> str:
    """Return the format that is set, or else that of the file's name.

    Raises
    ------
    InputError
        If there is no format, or it cannot be read from a folder or a compressed file.
    """
    name = setting or format_by_name(path)
    if name is None or (path.suffix == ".gz" and not FORMATS[name].is_text):
        message = f"{name} cannot be read from .gz" if name else "the file name shows no format"
        endings = ", ".join(sorted(ENDINGS))
        fix = f"{format_fix(settings)}; known endings are {endings}, and .gz of the text formats"
        raise refuse(str(path), message, fix)
    if path.is_dir() and name != "parquet":
        message = f"is a folder, but {name} is not read in parts"
        raise refuse(str(path), message, "write one file, or parts in parquet")
    return name


def check_path(path: AnyPath, settings: SettingNames) -> None:
    """Check that a path names a file, a folder or an object that is not empty.

    Raises
    ------
    InputError
        If nothing is there, or it is empty or a special file.
    """
    if isinstance(path, RemotePath):
        _check_object(path, settings)
        return
    try:
        exists = path.exists()
    except OSError as error:
        message = f"is not a valid path: {error.strerror}"
        raise refuse(f"{str(path)[:60]}…", message, settings.path_fix) from None
    if not exists:
        raise _missing_file_error(path, settings)
    refuse_special(path, f"write its content to a file, and {settings.path_fix}")
    if path.is_file() and path.stat().st_size == 0:
        raise _empty_file_error(path)
    if path.is_file() and is_lfs_pointer(path):
        fix = "run `git lfs pull`; in CI, check out with `lfs: true`"
        raise refuse(str(path), "is a pointer of Git LFS, not the data", fix)


def is_lfs_pointer(path: Path) -> bool:
    """True if a file is a pointer of Git LFS, which stands for data that were not fetched."""
    with suppress(OSError), path.open("rb") as file:  # the reader names what cannot be opened
        return file.read(len(_LFS_POINTER)) == _LFS_POINTER
    return False


def _missing_file_error(path: Path, settings: SettingNames) -> InputError:
    if is_address(str(path)):
        stores = ", ".join(f"{scheme}://" for scheme in STORES)
        fix = f"download it, and {settings.path_fix}; only {stores} are read without a download"
        return refuse(redact_address(str(path)), "is an address, not a local file", fix)
    with_slashes = path.as_posix().replace("\\", "/")
    if with_slashes != path.as_posix():  # a path of Windows on another system
        problem = "there is no such file: a backslash separates no folders here"
        return refuse(str(path), problem, f"write {with_slashes!r}")
    in_parent = Path("..") / path
    if not path.is_absolute() and in_parent.exists():
        message = "there is no such file below this folder"
        return refuse(str(path), message, f"write {in_parent.as_posix()!r}")
    folder = path.parent
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    similar = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
    hint = f"; similar names: {', '.join(similar)}" if similar else ""
    return refuse(str(path), f"there is no such file{hint}", settings.path_fix)


def _check_object(path: RemotePath, settings: SettingNames) -> None:
    if not path.exists():
        if not path.bucket_exists():
            raise InputError([missing_bucket(str(path))])
        fix = f"{settings.path_fix}, and check the key"
        raise refuse(str(path), "there is no such object or folder", fix)
    if path.is_file() and path.size == 0:
        raise _empty_file_error(path)


def _empty_file_error(path: AnyPath) -> InputError:
    return refuse(str(path), "is empty (0 bytes)", "check what wrote the file")
