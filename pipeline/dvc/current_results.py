"""The results in this folder: the comparison, and whether params.yaml or files have changed since, by dvc.lock."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.dvc.lock import LOCK, DvcLock, as_written
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.read import read_params
from concord.pipeline.params.yaml_files import read_yaml
from concord.pipeline.running.messages import LOG
from concord.pipeline.running.outputs import RERUN_FIX, unreadable_results


def load_comparison(params: Params) -> Comparison:
    """Return the comparison that `dvc repro` wrote; raise an InputError if there is none."""
    file = Path(params.results.comparison) / "comparison.json"
    if not file.exists():
        raise refuse(str(file), "is not there yet", "run `dvc repro` first")
    return read_comparison(file)


def stale_message(params: Params) -> str | None:
    """Return `params.yaml (models) and lists/two.csv have changed since …`, or None if nothing has.

    Changes of `gate` do not count: a decision always uses the gate of now.
    """
    lock = _read_lock()
    if lock.fault is not None:
        return f"{LOCK} {lock.fault}: run `dvc repro` once it is resolved"
    keys = [key for key in _changed_keys(lock) if key != "gate"]
    changed = [f"{PARAMS} ({', '.join(keys)})"] if keys else []
    changed += _changed_files(params, lock)
    if not changed:
        return None
    have = "has" if len(changed) == 1 else "have"
    return f"{' and '.join(changed)} {have} changed since these results were made: run `dvc repro`"


def warn_if_stale(params: Params) -> str | None:
    """Log what `stale_message` returns, and return it."""
    stale = stale_message(params)
    if stale:
        LOG.warning("warning: %s", stale)
    return stale


def damaged_results(error: Exception) -> list[Problem]:
    """Return a problem for each result that cannot be read, differs from its hash in dvc.lock, or is the missing file of an error."""
    try:
        params = read_params()
    except InputError:  # it names no results
        return []
    unreadable = unreadable_results(params.results)
    known_files = {problem.where for problem in unreadable}
    return [
        *unreadable,
        *(each for each in _changed_results(params, str(error)) if each.where not in known_files),
    ]


def _changed_results(params: Params, message: str) -> Iterator[Problem]:
    for name, known in _read_lock().results(params.models, params.background).items():
        path = Path(name)
        if not path.exists():
            if name in message:  # others may be missing because nothing is evaluated here
                yield Problem(name, "there is no such file", RERUN_FIX)
        elif hash_content(path).md5 != known.get("md5"):
            problem = f"is damaged: its content is not that of its hash in {LOCK}"
            yield Problem(name, problem, RERUN_FIX)


def _changed_keys(lock: DvcLock) -> list[str]:
    """Return the keys of params.yaml whose values differ from those that the comparison was made with."""
    params = lock.stage("compare").params
    content = read_yaml(PARAMS).content
    now = as_written({key: _value(content, key) for key in params})
    return [key for key, value in params.items() if now[key] != value]


def _changed_files(params: Params, lock: DvcLock) -> Iterator[str]:
    """Yield the files of ground truth, lists and background that differ from those that were read, and results that differ from those that were written.

    Folders and addresses of input are not compared.
    """
    paths = [params.data.truth.path, *(each.path for each in params.background.values())]
    paths += [each.path for each in params.models.values()]
    loads = (lock.stage(name) for name in lock.stages if name.startswith("load"))
    known = {path: entry for stage in loads for path, entry in stage.deps.items()}
    for path in dict.fromkeys(paths):
        if path in known and Path(path).is_file() and _differs(Path(path), known[path]):
            yield path
    for name, entry in lock.results(params.models, params.background).items():
        if Path(name).exists() and _differs(Path(name), entry):
            yield name


def _differs(path: Path, known: Mapping[str, str]) -> bool:
    """Compare the size; the content only if a file is younger than dvc.lock."""
    files = [each for each in (path, *path.rglob("*")) if each.is_file()]
    states = [file.stat() for file in files]
    size = str(sum(state.st_size for state in states))
    if size != known.get("size", size):
        return True
    locked = Path(LOCK).stat().st_mtime_ns
    if known.get("hash") != "md5" or all(state.st_mtime_ns <= locked for state in states):
        return False
    return hash_content(path).md5 != known.get("md5")


def _read_lock() -> DvcLock:
    path = Path(LOCK)
    return DvcLock(path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "")


def _value(content: Any, key: str) -> Any:
    for name in key.split("."):
        content = content.get(name) if isinstance(content, dict) else None
    return content
