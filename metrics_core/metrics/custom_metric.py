"""User-defined metrics: decorated functions, by the names of their labels.

They come from files, notebooks, modules, or entry points `concord.metrics` of packages.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.errors import InputError, Problem, format_count, raise_problems, refuse
from concord.metrics_core.files import open_file
from concord.metrics_core.metrics.catalogue import find_metric
from concord.metrics_core.metrics.code_digest import file_digest, function_digest
from concord.metrics_core.metrics.judged import Floats, Judged
from concord.metrics_core.metrics.metric import Metric

GROUP = "concord.metrics"  # of entry points
FAMILY = "own"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,49}")
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,49}")
_FILE_LABEL = re.compile(r"(?P<file>.+\.py):(?P<label>.*)", re.DOTALL)
_TOLERANCE = 1e-9  # rounding errors that may exceed the range
Function = Callable[..., Any]


@dataclass(frozen=True)
class OwnMetric:
    """A user-defined metric.

    Attributes
    ----------
    metric : Metric
        The metric, as in the catalogue.
    origin : str
        Its file, its package and version, or its function.
    digest : str
        SHA-256 of its code, or of its package and version.
    """

    metric: Metric
    origin: str
    digest: str


@dataclass
class Registry:
    """User-defined metrics of this process.

    Attributes
    ----------
    metrics : dict of str to OwnMetric
        Metrics by name.
    loaded : dict of Path to str
        Digest of the content of each loaded file.
    """

    metrics: dict[str, OwnMetric] = field(default_factory=dict)
    loaded: dict[Path, str] = field(default_factory=dict)


_registry = Registry()


def metric(
    *,
    low: float = 0.0,
    high: float = 1.0,
    higher_is_better: bool = True,
    columns: Sequence[str] = (),
    subtopics: bool = False,
    source: str = "",
) -> Callable[[Function], Function]:
    """Register a function as a metric: labels of `revenue` are written `revenue@10`.

    The function takes `lists` (`Judged`, relevant rows only), the cutoff `k` (None: the whole list)
    and, keyword-only and without defaults, the conventions that it depends on.
    It returns an array of shape (n_users,), float64, NaN where undefined.
    Its name consists of letters and digits. The first line of its docstring is its formula.

    Parameters
    ----------
    low, high : float
        Range of its values; a value outside raises an error.
    higher_is_better : bool, default=True
        False if lower values are better.
    columns : sequence of str
        Numeric columns of the catalogue, such as a price, that it reads with
        `lists.hit_column(name)`.
    subtopics : bool, default=False
        True if it reads `lists.hit_subtopics` or `lists.truth_subtopics`.
    source : str
        Paper or page that defines it.

    Returns
    -------
    callable
        The decorator; it returns the function unchanged.

    Raises
    ------
    InputError
        If the function or an argument is invalid; all problems at once.

    Examples
    --------
    >>> import concord as cc
    >>> @cc.metric(high=float("inf"))
    ... def hits(lists, k):
    ...     '''hits@k = number of relevant items in the top k.'''
    ...     return lists.count(k)
    ...
    >>> result = cc.evaluate({"u1": ["a", "b", "c"]}, {"u1": ["b", "c"]}, metrics=["hits@2"])
    >>> result["hits@2"]
    1.0
    """

    def register(function: Function) -> Function:
        raise_problems(_problems(function, low=low, high=high, columns=columns, source=source))
        registered = Metric(
            function.__name__,
            _checked(function, float(low), float(high)),
            source or "your own",
            low=float(low),
            high=float(high),
            family=FAMILY,
            higher_is_better=higher_is_better,
            columns=tuple(columns),
            reads_subtopics=bool(subtopics),
        )
        origin = f"{function.__module__}.{function.__qualname__}"
        _registry.metrics[registered.name] = OwnMetric(
            registered, origin, function_digest(function)
        )
        return function

    return register


def find_own_metric(name: str) -> Metric | None:
    """Return the user-defined metric of this name, or None."""
    entry = _find(name)
    return None if entry is None else entry.metric


def known_metrics() -> tuple[Metric, ...]:
    """Return the user-defined metrics of this process."""
    return tuple(entry.metric for entry in _registry.metrics.values())


def split_file_label(text: str) -> tuple[Path, str] | None:
    """Return file and label of `./my_metrics.py:revenue@10`; None for any other text."""
    match = _FILE_LABEL.fullmatch(text)
    return None if match is None else (Path(match["file"]), match["label"])


def load_metrics(file: Path) -> tuple[str, ...]:
    """Run a file and return the names of its metrics.

    Raises
    ------
    InputError
        If the file does not exist, cannot be run or decorates no function.
    """
    content = _read(file)
    path, digest = file.resolve(), _digest(content)
    if _registry.loaded.get(path) != digest:
        before = dict(_registry.metrics)
        _registry.metrics = {
            name: entry for name, entry in before.items() if entry.origin != str(path)
        }
        others = set(_registry.metrics)
        try:
            _run(path, content)
        except BaseException:
            _registry.metrics = before
            raise
        for name, entry in _registry.metrics.items():
            if entry is not before.get(name) or name not in others:
                code = file_digest(content, name)
                _registry.metrics[name] = replace(entry, origin=str(path), digest=code)
        _registry.loaded[path] = digest
    names = tuple(name for name, entry in _registry.metrics.items() if entry.origin == str(path))
    if not names:
        fix = "decorate a function of lists and k with `@concord.metric()`"
        raise refuse(str(file), "defines no metric", fix)
    return names


def loaded_digest(file: Path) -> str | None:
    """Return the SHA-256 of the content that `load_metrics` ran; None for other files."""
    return _registry.loaded.get(file.resolve())


def _find(name: str) -> OwnMetric | None:
    if name not in _registry.metrics and find_metric(name) is None:
        for entry in _entry_points(_package_folders()).select(name=name):
            _install(entry)
    return _registry.metrics.get(name)


def _package_folders() -> tuple[tuple[str, int], ...]:
    """Return the folders of packages with the times of their last change."""
    folders = filter(Path.is_dir, (Path(folder).absolute() for folder in sys.path))
    return tuple((str(folder), folder.stat().st_mtime_ns) for folder in folders)


@lru_cache(maxsize=1)  # it reads a file of every installed package
def _entry_points(folders: tuple[tuple[str, int], ...]) -> EntryPoints:
    """Return the metrics of packages; the argument makes it read them again after a change."""
    return entry_points(group=GROUP)


def _install(entry: EntryPoint) -> None:
    """Load a metric of a package."""
    location = f"entry point {entry.name} of {GROUP}"
    with _as_input_error(lambda _: location):
        entry.load()
    if entry.name not in _registry.metrics:
        fix = f"name a function {entry.name} that is decorated with `@concord.metric()`"
        raise refuse(location, f"{entry.value} is not a metric", fix)
    package = "" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
    _registry.metrics[entry.name] = replace(
        _registry.metrics[entry.name], origin=package, digest=_digest(package.encode())
    )


def _read(file: Path) -> bytes:
    fix = "name a Python file"
    try:
        with open_file(file, fix) as stream:
            return bytes(stream.read())
    except OSError as error:
        raise refuse(str(file), f"cannot be read: {error.strerror}", fix) from None


class _ContentLoader(SourceFileLoader):
    """Loader that compiles the content that was read from a file, and writes no bytecode."""

    def __init__(self, name: str, path: str, content: bytes) -> None:
        super().__init__(name, path)
        self._content = content

    def get_code(self, fullname: str) -> CodeType | None:
        return self.source_to_code(self._content, self.path)


def _run(file: Path, content: bytes) -> ModuleType:
    """Run a file as a module that cannot be imported, so that functions are pickled by value."""
    name = f"concord_own_{_digest(content)[:12]}"
    spec = spec_from_loader(name, _ContentLoader(name, str(file), content))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module

    def locate(error: BaseException) -> str:
        line = _line(error, str(file)) or getattr(error, "lineno", None)
        return str(file) if line is None else f"{file}: line {line}"

    try:
        with _as_input_error(locate):
            spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


@contextmanager
def _as_input_error(locate: Callable[[BaseException], str]) -> Iterator[None]:
    """Convert errors and exits of imported user code to InputError, except KeyboardInterrupt."""
    try:
        with np.errstate():  # user code may change it
            yield
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        fix = "correct it; `python` runs it alone"
        if isinstance(error, ModuleNotFoundError):
            fix = f"install {error.name}, or add its folder to the variable PYTHONPATH"
        raise refuse(locate(error), f"raises {_error_text(error)}", fix) from error


def _problems(
    function: Function, *, low: Any, high: Any, columns: Any, source: Any
) -> Iterator[Problem]:
    name = getattr(function, "__name__", repr(function))
    location = f"metric {name}"
    if not inspect.isfunction(inspect.unwrap(function)):
        yield Problem(
            location, "is not a function", "write `def revenue(lists, k):` below the decorator"
        )
        return
    if not _NAME.fullmatch(name):
        fix = (
            "name the function with at most 50 letters and digits, as in `def revenue`: "
            "labels are written `revenue@10`"
        )
        yield Problem(location, "is not a valid name of a metric", fix)
    elif same := find_metric(name):
        problem = f"is a name of {same.name} in the catalogue"
        yield Problem(location, problem, "give the function another name")
    if not (inspect.getdoc(function) or "").strip():
        fix = (
            "write its formula as the first line: "
            '"""revenue@k = sum of the prices of the hits in the top k."""'
        )
        yield Problem(location, "has no docstring", fix)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (low, high))
    if not numbers or not low < high:
        fix = "write two numbers with low < high; float('inf') is a number"
        yield Problem(location, f"its range is {low!r} to {high!r}", fix)
    if isinstance(columns, str) or not all(
        isinstance(c, str) and _COLUMN.fullmatch(c) for c in columns
    ):
        fix = "write a list of names of letters, digits and _, as in columns=['price']"
        yield Problem(location, f"its columns are {columns!r}", fix)
    if not isinstance(source, str):
        yield Problem(location, f"its source is {source!r}", "write it as text")
    yield from _signature_problems(function, location)


def _signature_problems(function: Function, location: str) -> Iterator[Problem]:
    parameters = list(inspect.signature(function).parameters.values())
    plain = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    if [p.name for p in plain] != ["lists", "k"]:
        fix = "change its parameters to (lists, k), then `*` and conventions"
        yield Problem(location, f"takes ({', '.join(p.name for p in plain)})", fix)
    for other in (p for p in parameters if p not in plain):
        if (
            other.kind is not other.KEYWORD_ONLY
            or other.name not in CONVENTION
            or CONVENTION[other.name].describes_data
        ):
            fix = "use keyword-only conventions such as `gain`: docs/reference/conventions.md"
            yield Problem(location, f"{str(other)!r} is not a convention", fix)
        elif other.default is not other.empty:
            fix = "remove the default: the value is pinned by the conventions"
            yield Problem(location, f"{other.name} has a default", fix)


def _checked(function: Function, low: float, high: float) -> Callable[..., Floats]:
    """Return the function with copied lists as its input, and InputError for invalid values."""
    code = inspect.unwrap(function).__code__
    file = _shown_path(code.co_filename)

    def input_error(problem: str, fix: str) -> InputError:
        return refuse(file, f"{function.__name__} {problem}", fix)

    @wraps(function)
    def values(lists: Judged, k: int | None, **conventions: Any) -> Floats:
        try:
            with np.errstate():  # user code may change it
                result = np.asanyarray(function(lists.copy(), k, **deepcopy(conventions)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            line = _line(error, code.co_filename)
            at_line = f", line {line}" if line else ""
            raise input_error(f"raises {_error_text(error)}{at_line}", _fix(error)) from error
        if result.dtype.kind not in "biuf":
            fix = "return float64, NaN where undefined"
            raise input_error(f"returns values of type {result.dtype}", fix)
        per_user = np.asarray(np.ma.filled(result.astype(np.float64), np.nan))
        if per_user.shape != (lists.n_users,):
            problem = f"returns shape {per_user.shape} for {format_count(lists.n_users, 'user')}"
            fix = "return one value per user: `lists.total(…)`, NaN where undefined"
            raise input_error(problem, fix)
        invalid = (per_user < low - _TOLERANCE) | (per_user > high + _TOLERANCE)
        invalid |= np.isinf(per_user)
        if invalid.any():
            first = int(np.flatnonzero(invalid)[0])
            problem = (
                f"is {per_user[first]:.6g} for user {lists.users[first]!r}, "
                f"and its range is {low:g} to {high:g}"
            )
            raise input_error(problem, "correct the function or its `low` and `high`")
        return per_user

    return values


def _shown_path(file: str) -> str:
    """Return the path of a file, relative to the working directory if it is inside."""
    path = Path(file)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _fix(error: BaseException) -> str:
    if "read-only" in str(error):
        return "change a copy, as in `lists.n_relevant.copy()`: other metrics read these lists, too"
    return "correct the function: `concord check-metric` tries it on random lists"


def _line(error: BaseException, file: str) -> int | None:
    """Return the number of the file's last line in the traceback, or None."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)


def _error_text(error: BaseException) -> str:
    text = str(error).split("\n", 1)[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def metric_digests(names: Collection[str]) -> dict[str, str]:
    """Return the digests of the user-defined metrics among the names, by name."""
    entries = {name: _find(name) for name in sorted(names)}
    return {name: entry.digest for name, entry in entries.items() if entry is not None}
