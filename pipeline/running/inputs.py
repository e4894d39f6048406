"""States of input files: an input that changes while it is read is refused."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from concord.metrics_core.data.columnar_files import files_in
from concord.metrics_core.data.paths import AnyPath, RemotePath, existing_object_states
from concord.metrics_core.errors import refuse
from concord.pipeline.params.repository import rerun_command

# File -> size, and either times and inode or ETag.
_FileStates = Mapping[str, tuple[int, ...] | tuple[int, str]]


@contextmanager
def refuse_changes(path: AnyPath) -> Iterator[None]:
    """Raise InputError if a file or folder changes during the block.

    The error replaces errors of the block, which the change may have caused.

    Raises
    ------
    InputError
        If the size, a time or the inode of a file changes, or the ETag of an object.
    """
    before = _file_states(path)
    try:
        yield
    finally:
        if before != (after := _file_states(path)):
            fix = f"wait until the file is written, then `{rerun_command()}`"
            raise refuse(str(path), _describe_change(before, after), fix)


def _file_states(path: AnyPath) -> _FileStates:
    if isinstance(path, RemotePath):
        current = RemotePath(path.address)  # a new one: states are cached
        return {
            str(file): (state.size, state.etag)
            for file, state in existing_object_states(files_in(current)).items()
        }
    states: dict[str, tuple[int, ...]] = {}
    for file in visible_files(path) if path.is_dir() else [path]:
        with suppress(OSError):
            states[str(file)] = file_state(file)
    return states


def file_state(path: Path) -> tuple[int, ...]:
    """Return size, times and inode of a file: one of them changes if its content does.

    Unlike the modification time, no tool sets back the time of the last change of the inode.
    """
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino


def visible_files(folder: Path) -> list[Path]:
    """Return the files of a folder, without hidden ones and compiled code."""
    files = ((path, path.relative_to(folder).parts) for path in sorted(folder.rglob("*")))
    return [
        path
        for path, parts in files
        if path.is_file() and not any(part.startswith((".", "__pycache__")) for part in parts)
    ]


def _describe_change(before: _FileStates, after: _FileStates) -> str:
    changed = sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
    name = PurePath(changed[0]).name
    if changed[0] not in after:
        return f"{name} was removed while it was read"
    if changed[0] not in before:
        return f"{name} appeared while it was read"
    sizes = [before[changed[0]][0], after[changed[0]][0]]
    change = f" (from {sizes[0]:,} to {sizes[1]:,} bytes)" if sizes[0] != sizes[1] else ""
    return f"{name} changed while it was read{change}"
