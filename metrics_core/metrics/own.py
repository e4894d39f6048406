"""One's own metrics: decorated functions, found by the names of their labels.

They stand in a Python file that is named, in the notebook or module that decorates them, or in an installed package
that offers them as entry points of the group `concord.metrics`.
"""

import hashlib
import inspect
import re
import sys
import textwrap
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import wraps
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.errors import InputError, Problem, in_words, refuse
from concord.metrics_core.files import open_file
from concord.metrics_core.metrics.judged import Floats, Judged
from concord.metrics_core.metrics.metric import Metric
from concord.metrics_core.metrics.own_code import code_digest
from concord.metrics_core.metrics.spelling import ALSO

GROUP = "concord.metrics"  # of entry points
FAMILY = "own"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,49}")
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,49}")
_OF_FILE = re.compile(r"(?P<file>.+\.py):(?P<label>.*)", re.DOTALL)
_A_LITTLE = 1e-9  # beyond its range a value is wrong, and not rounded
Function = Callable[..., Any]


@dataclass(frozen=True)
class Own:
    """A metric of one's own, and what it is made of: a file, a package and its version, or a function.

    digest : SHA-256 of its code, or of the package and its version
    """

    metric: Metric
    made_of: str
    digest: str


@dataclass
class _Registry:
    """What this process knows: metrics by name, and the file in which a project looks for others."""

    metrics: dict[str, Own] = field(default_factory=dict)
    loaded: dict[Path, str] = field(default_factory=dict)  # file -> the digest of what was loaded
    declared: Path | None = None


_known = _Registry()


def metric(
    *,
    low: float = 0.0,
    high: float = 1.0,
    higher_is_better: bool = True,
    columns: Sequence[str] = (),
    source: str = "",
) -> Callable[[Function], Function]:
    """Make a function a metric that labels may name: `revenue` is then written `revenue@10`.

    The function takes `lists` (`Judged`, with the relevant rows only), the cutoff `k` (None: the whole list) and,
    keyword-only and without defaults, the conventions that it depends on. It returns one value a user, `(users,)`
    float64, NaN where it is undefined. Its name has letters and digits; the first line of its docstring is its formula.

    Parameters
    ----------
    low, high        : the range of its values; a value outside is refused
    higher_is_better : else the lowest value is the best
    columns          : numbers of the catalogue that it reads, as `lists.hit_column(name)`, such as a price
    source           : the paper or page that defines it

    Raises
    ------
    InputError : the function or what is said of it cannot be a metric
    """

    def decorated(function: Function) -> Function:
        how = {"low": low, "high": high, "columns": columns, "source": source}
        if problems := list(_problems(function, **how)):
            raise InputError(problems)
        name = function.__name__
        made = Metric(
            name,
            _checked(function, float(low), float(high)),
            source or "your own",
            low=float(low),
            high=float(high),
            family=FAMILY,
            higher_is_better=higher_is_better,
            columns=tuple(columns),
        )
        _known.metrics[name] = Own(made, _place(function), _digest_of(function))
        return function

    return decorated


def declare(file: Path | None) -> None:
    """Look for metrics that nobody knows in this file; None: nowhere."""
    _known.declared = file


def own_metric(name: str) -> Metric | None:
    """The metric of this name; None where there is none."""
    found = _found(name)
    return None if found is None else found.metric


def known_metrics() -> tuple[Metric, ...]:
    """Those that were loaded or decorated until now."""
    return tuple(own.metric for own in _known.metrics.values())


def digest_of(name: str) -> str | None:
    """SHA-256 of what a metric is made of; None where there is none of this name."""
    found = _found(name)
    return None if found is None else found.digest


def of_file(text: str) -> tuple[Path, str] | None:
    """`./my_metrics.py:revenue@10` -> the file, and `revenue@10`; None for any other text."""
    match = _OF_FILE.fullmatch(text)
    return None if match is None else (Path(match["file"]), match["label"])


def load(file: Path) -> tuple[str, ...]:
    """Run a file, and tell the names of its metrics.

    Raises
    ------
    InputError : there is no such file, it cannot be run, or it decorates no function
    """
    content = _read(file)
    place, digest = file.resolve(), _digest(content)
    if _known.loaded.get(place) != digest:
        before = dict(_known.metrics)
        _known.metrics = {name: own for name, own in before.items() if own.made_of != str(place)}
        others = set(_known.metrics)
        try:
            _run(place, digest)
        except BaseException:
            _known.metrics = before
            raise
        for name, own in _known.metrics.items():
            if own is not before.get(name) or name not in others:
                code = code_digest(content, name)
                _known.metrics[name] = replace(own, made_of=str(place), digest=code)
        _known.loaded[place] = digest
    names = tuple(name for name, own in _known.metrics.items() if own.made_of == str(place))
    if not names:
        fix = "decorate a function of lists and k: `@concord.metric()`"
        raise refuse(str(file), "holds no metric", fix)
    return names


def _found(name: str) -> Own | None:
    if name not in _known.metrics and _known.declared is not None:
        load(_known.declared)
    if name not in _known.metrics:
        for entry in entry_points(group=GROUP, name=name):
            _install(entry)
    return _known.metrics.get(name)


def _install(entry: EntryPoint) -> None:
    """A metric that a package offers: what it is made of is the package in its version."""
    where = f"entry point {entry.name} of {GROUP}"
    with _refusing(lambda _: where):
        entry.load()
    if entry.name not in _known.metrics:
        fix = f"its package must name a function that is decorated: `@concord.metric()`, and is called {entry.name}"
        raise refuse(where, f"{entry.value} is no metric", fix)
    package = "" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
    own = _known.metrics[entry.name]
    _known.metrics[entry.name] = replace(own, made_of=package, digest=_digest(package.encode()))


def _read(file: Path) -> bytes:
    fix = "name a Python file"
    try:
        with open_file(file, fix) as opened:
            return bytes(opened.read())
    except OSError as error:
        raise refuse(str(file), f"cannot be read: {error.strerror}", fix) from None


class _Uncached(SourceFileLoader):
    """Compiles what the file says now: nothing is kept beside it."""

    def get_code(self, fullname: str) -> CodeType | None:
        return self.source_to_code(self.get_data(self.path), self.path)


def _run(file: Path, digest: str) -> ModuleType:
    """The file as a module that nothing can import, so that its functions travel to other processes by value."""
    name = f"concord_own_{digest[:12]}"
    spec = spec_from_loader(name, _Uncached(name, str(file)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module

    def where(error: BaseException) -> str:
        line = _line(error, str(file)) or getattr(error, "lineno", None)
        return str(file) if line is None else f"{file}: line {line}"

    try:
        with _refusing(where):
            spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


@contextmanager
def _refusing(where: Callable[[BaseException], str]) -> Iterator[None]:
    """Refuse what user code raises while it is imported, exits included; Ctrl-C passes."""
    try:
        with np.errstate():  # which it may set
            yield
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        fix = "correct it; `python` runs it alone"
        raise refuse(where(error), f"raises {_told(error)}", fix) from error


def _problems(
    function: Function, *, low: Any, high: Any, columns: Any, source: Any
) -> Iterator[Problem]:
    name = getattr(function, "__name__", repr(function))
    where = f"metric {name}"
    if not inspect.isfunction(inspect.unwrap(function)):
        yield Problem(
            where, "is not a function", "write `def revenue(lists, k):` below the decorator"
        )
        return
    if not _NAME.fullmatch(name):
        fix = "give the function a name of letters and digits, at most 50, as in `def revenue`: labels are written `revenue@10`"
        yield Problem(where, "is no name of a metric", fix)
    elif meant := next((known for known in ALSO if known.casefold() == name.casefold()), None):
        yield Problem(where, f"{meant} is in the catalogue", "give the function another name")
    if not (inspect.getdoc(function) or "").strip():
        fix = 'write its formula as the first line: """revenue@k = sum of the prices of the hits in the top k."""'
        yield Problem(where, "has no docstring", fix)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (low, high))
    if not numbers or not low < high:
        yield Problem(where, f"its range is {low!r} to {high!r}", "name two numbers, low < high; float('inf') is one")  # fmt: skip
    if isinstance(columns, str) or not all(
        isinstance(c, str) and _COLUMN.fullmatch(c) for c in columns
    ):
        fix = "name a list of columns, as in columns=['price']: letters, digits and _"
        yield Problem(where, f"reads the columns {columns!r}", fix)
    if not isinstance(source, str):
        yield Problem(where, f"its source is {source!r}", "write a text")
    yield from _of_arguments(function, where)


def _of_arguments(function: Function, where: str) -> Iterator[Problem]:
    named = list(inspect.signature(function).parameters.values())
    plain = [p for p in named if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    if [p.name for p in plain] != ["lists", "k"]:
        yield Problem(where, f"takes ({', '.join(p.name for p in plain)})", "let it take (lists, k), then `*` and conventions")  # fmt: skip
    for other in (p for p in named if p not in plain):
        if (
            other.kind is not other.KEYWORD_ONLY
            or other.name not in CONVENTION
            or CONVENTION[other.name].describes_data
        ):
            fix = "keyword-only arguments are conventions, such as `gain`: docs/reference/conventions.md"
            yield Problem(where, f"{str(other)!r} is no convention", fix)
        elif other.default is not other.empty:
            yield Problem(where, f"{other.name} has a default", "leave it out: conventions are pinned")  # fmt: skip


def _checked(function: Function, low: float, high: float) -> Callable[..., Floats]:
    """The function on lists of its own, whose values are refused where they are none."""
    code = inspect.unwrap(function).__code__
    file = _shown_path(code.co_filename)

    def refused(what: str, fix: str) -> InputError:
        return refuse(file, f"{function.__name__} {what}", fix)

    @wraps(function)
    def values(lists: Judged, k: int | None, **conventions: Any) -> Floats:
        try:
            with np.errstate():  # which it may set
                result = np.asanyarray(function(lists.copied(), k, **deepcopy(conventions)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            line = _line(error, code.co_filename)
            where = f", line {line}" if line else ""
            raise refused(f"raises {_told(error)}{where}", _fix(error)) from error
        if result.dtype.kind not in "biuf":
            fix = "return float64, NaN where undefined"
            raise refused(f"gives values of type {result.dtype}", fix)
        found = np.asarray(np.ma.filled(result.astype(np.float64), np.nan))
        if found.shape != (lists.n_users,):
            what = f"gives values of shape {found.shape} for {in_words(lists.n_users, 'user')}"
            raise refused(what, "return one a user: `lists.total(…)`, or NaN where there is none")
        wrong = (found < low - _A_LITTLE) | (found > high + _A_LITTLE) | np.isinf(found)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            what = f"is {found[first]:.6g} for user {lists.users[first]!r}"
            what += f", and its range is {low:g} to {high:g}"
            raise refused(what, "correct the function or its `low` and `high`")
        return found

    return values


def _shown_path(file: str) -> str:
    """The path of a file, relative to the working directory where it lies in it."""
    path = Path(file)
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _fix(error: BaseException) -> str:
    if "read-only" in str(error):
        return "change a copy, as in `lists.n_relevant.copy()`: other metrics read these lists, too"
    return "correct the function: `concord check-metric` tries it on random lists"


def _line(error: BaseException, file: str) -> int | None:
    """The last line of the file that the error went through."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)


def _told(error: BaseException) -> str:
    said = str(error).split("\n", 1)[0]
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _place(function: Function) -> str:
    return f"{function.__module__}.{function.__qualname__}"


def _digest_of(function: Function) -> str:
    """The digest of a function's source; of what it was compiled to where there is none."""
    try:
        return code_digest(textwrap.dedent(inspect.getsource(function)), function.__name__)
    except (OSError, TypeError, SyntaxError):
        code = inspect.unwrap(function).__code__
        return _digest(code.co_code + repr(code.co_consts).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digests(names: Collection[str]) -> dict[str, str]:
    """Name -> digest, for those that are one's own."""
    found = {name: digest_of(name) for name in sorted(names)}
    return {name: digest for name, digest in found.items() if digest is not None}
