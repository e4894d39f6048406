"""Are the results those of params.yaml and of the files as they are now? By what dvc.lock says they were made with."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from concord.metrics_core.reading.hashes import hashes
from concord.pipeline.diffing.dvc_lock import LOCK, DvcLock, as_written
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.yaml_lines import read_yaml


def told_stale(params: Params) -> str | None:
    """`params.yaml (models) and lists/two.csv have changed since …`; None where nothing has.

    `gate` is left out: whoever asks for a decision has it by the gate of now.
    """
    lock = _read_lock()
    if lock.fault is not None:
        return f"{LOCK} {lock.fault}: run `dvc repro` once it is resolved"
    keys = [key for key in changed_keys(lock) if key != "gate"]
    changed = [f"{PARAMS} ({', '.join(keys)})"] if keys else []
    changed += _changed_files(params, lock)
    if not changed:
        return None
    have = "has" if len(changed) == 1 else "have"
    return f"{' and '.join(changed)} {have} changed since these results were made: run `dvc repro`"


def changed_keys(lock: DvcLock | None = None) -> list[str]:
    """Return the keys of params.yaml whose values differ from those that the comparison was made with."""
    params = (lock or _read_lock()).stage("compare").params
    content = read_yaml(PARAMS).content
    now = as_written({key: _value(content, key) for key in params})
    return [key for key, value in params.items() if now[key] != value]


def _changed_files(params: Params, lock: DvcLock) -> Iterator[str]:
    """Yield the files of ground truth, lists and background that differ from those that were read; folders and addresses are not compared."""
    paths = [params.data.truth.path, *(each.path for each in params.background.values())]
    paths += [each.path for each in params.models.values()]
    loads = (lock.stage(name) for name in lock.stages if name.startswith("load"))
    known = {path: entry for stage in loads for path, entry in stage.deps.items()}
    for path in dict.fromkeys(paths):
        if path in known and Path(path).is_file() and _differs(Path(path), known[path]):
            yield path


def _differs(path: Path, known: Mapping[str, str]) -> bool:
    """Compare the size; the content only if the file is younger than dvc.lock."""
    size = str(path.stat().st_size)
    if size != known.get("size", size):
        return True
    lock = Path(LOCK)
    if known.get("hash") != "md5" or path.stat().st_mtime_ns <= lock.stat().st_mtime_ns:
        return False
    return hashes(path).md5 != known.get("md5")


def _read_lock() -> DvcLock:
    path = Path(LOCK)
    return DvcLock(path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "")


def _value(content: Any, key: str) -> Any:
    for name in key.split("."):
        content = content.get(name) if isinstance(content, dict) else None
    return content
