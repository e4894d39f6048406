"""Results on disk: the comparison, and whether anything has changed since it was made."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import read_comparison
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.dvc.lock import LOCK, DvcLock, to_lock_values
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.paths import input_paths
from concord.pipeline.params.read import read_params
from concord.pipeline.params.repository import rerun_command
from concord.pipeline.params.yaml_files import value_at
from concord.pipeline.running.messages import LOG
from concord.pipeline.running.outputs import rerun_fix, unreadable_results
from concord.pipeline.stages.run_state import STATE, RunState, select_stages, stage_specs


def load_comparison(params: Params) -> Comparison:
    """Return the comparison that the last evaluation wrote.

    Raises
    ------
    InputError
        If there is no comparison, or it cannot be read.
    """
    file = Path(params.results.comparison) / "comparison.json"
    if not file.exists():
        raise refuse(str(file), "does not exist yet", f"run `{rerun_command()}` first")
    return read_comparison(file, rerun_fix())


def stale_results(params: Params, stage: str = "compare") -> Problem | None:
    """Return what has changed since the results of a stage were made; None without changes.

    Changes of `gate` do not count: a decision always uses the current gate.
    """
    state = Path(params.results.comparison).parent / STATE
    changed: list[str] = []
    if state.exists():
        specs = select_stages(stage_specs(params.content), [stage])
        changed = _describe(*RunState(state, params).changes(specs))
        if not changed:
            return None
    if Path(LOCK).is_file():  # `dvc repro` may have made them
        lock = _read_lock()
        if lock.fault is not None:
            return Problem(LOCK, lock.fault, f"run `{rerun_command()}` once it is resolved")
        changed = _describe(_changed_keys(params, lock), [*_changed_files(params, lock)])
    if not changed:
        return None
    have = "has" if len(changed) == 1 else "have"
    message = f"{have} changed since these results were made"
    return Problem(join_names(changed), message, f"run `{rerun_command()}`")


def stale_message(params: Params) -> str | None:
    """Return `params.yaml (models) and lists/two.csv have changed since …: run …`, or None."""
    problem = stale_results(params)
    return None if problem is None else f"{problem.where} {problem.message}: {problem.fix}"


def _describe(keys: Sequence[str], paths: Sequence[str]) -> list[str]:
    keys = [key for key in keys if key.partition(".")[0] != "gate"]
    return [*([f"{PARAMS} ({', '.join(keys)})"] if keys else []), *paths]


def warn_if_stale(params: Params) -> str | None:
    """Log the message of `stale_message`, and return it."""
    stale = stale_message(params)
    if stale:
        LOG.warning("warning: %s", stale)
    return stale


def damaged_results(error: Exception) -> list[Problem]:
    """Return a problem for each damaged result.

    A result is damaged if it cannot be read, does not match its hash in dvc.lock, or is a missing
    file that the error names.
    """
    try:
        params = read_params()
    except InputError:  # the folders of results are unknown
        return []
    unreadable = unreadable_results(params.results)
    known_files = {problem.where for problem in unreadable}
    changed = _changed_results(params, str(error))
    return [*unreadable, *(problem for problem in changed if problem.where not in known_files)]


def _changed_results(params: Params, message: str) -> Iterator[Problem]:
    for name, entry in _read_lock().results(params.models, params.background).items():
        path = Path(name)
        if not path.exists():
            if name in message:  # other files may be missing because they were never made
                yield Problem(name, "there is no such file", rerun_fix())
        elif hash_content(path).md5 != entry.get("md5"):
            problem = f"is damaged: its content does not match its hash in {LOCK}"
            yield Problem(name, problem, rerun_fix())


def _changed_keys(params: Params, lock: DvcLock) -> list[str]:
    """Return the keys of params.yaml whose values differ from those of the comparison."""
    known = lock.stage("compare").params
    current = to_lock_values({key: value_at(params.content, key) for key in known})
    return [key for key, value in known.items() if current[key] != value]


def _changed_files(params: Params, lock: DvcLock) -> Iterator[str]:
    """Yield input files that changed since they were read, and results that changed.

    Folders and addresses of inputs are not compared.
    """
    paths = [path for _, path in input_paths(params)]
    loads = (stage for name, stage in lock.stages.items() if name.startswith("load"))
    known = {path: entry for stage in loads for path, entry in stage.deps.items()}
    for path in dict.fromkeys(paths):
        if path in known and Path(path).is_file() and _differs(Path(path), known[path]):
            yield path
    for name, entry in lock.results(params.models, params.background).items():
        if Path(name).exists() and _differs(Path(name), entry):
            yield name


def _differs(path: Path, known: Mapping[str, str]) -> bool:
    """True if the size differs, or the content of a file that changed after dvc.lock."""
    files = [file for file in (path, *path.rglob("*")) if file.is_file()]
    states = [file.stat() for file in files]
    size = str(sum(state.st_size for state in states))
    if size != known.get("size", size):
        return True
    lock_time = Path(LOCK).stat().st_mtime_ns
    if known.get("hash") != "md5" or all(state.st_ctime_ns <= lock_time for state in states):
        return False
    return hash_content(path).md5 != known.get("md5")


def _read_lock() -> DvcLock:
    path = Path(LOCK)
    return DvcLock(path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "")
