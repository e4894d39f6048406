"""An input that changes while it is read would give a result of no input at all."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath

from concord.metrics_core.data.paths import Place, RemotePath, states_there
from concord.metrics_core.data.table_files import files_in
from concord.metrics_core.errors import refuse

_State = Mapping[str, tuple[int, ...] | tuple[int, str]]  # name -> size, and what else tells it


@contextmanager
def unchanged(path: Place) -> Iterator[None]:
    """Refuses, when the block ends, a file or folder that is not what it was when the block began.

    Raises
    ------
    InputError : size, time of the last change or identity of a file differs, or the etag of an object; the block's own errors are then
        consequences, and give way to it
    """
    before = _state(path)
    try:
        yield
    finally:
        if before != (after := _state(path)):
            raise refuse(
                str(path), _difference(before, after), "let what writes it finish, then `dvc repro`"
            )


def _state(path: Place) -> _State:
    if isinstance(path, RemotePath):
        now = RemotePath(path.address)  # which remembers nothing
        return {str(at): (each.size, each.etag) for at, each in states_there(files_in(now)).items()}
    files = [part for part in path.rglob("*") if part.is_file()] if path.is_dir() else [path]
    found: dict[str, tuple[int, ...]] = {}
    for file in files:
        try:
            stat = file.stat()
        except FileNotFoundError:
            continue
        found[str(file)] = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
    return found


def _difference(before: _State, after: _State) -> str:
    changed = sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
    name = PurePath(changed[0]).name
    if changed[0] not in after:
        return f"{name} was removed while it was read"
    if changed[0] not in before:
        return f"{name} appeared while it was read"
    sizes = [before[changed[0]][0], after[changed[0]][0]]
    how = f" (from {sizes[0]:,} to {sizes[1]:,} bytes)" if sizes[0] != sizes[1] else ""
    return f"{name} changed while it was read{how}"
