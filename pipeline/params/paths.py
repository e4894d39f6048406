"""Checks of the paths that params.yaml names."""

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.files import is_address, is_remote, parse_address
from concord.pipeline.params.repository import PARAMS, original_repository, repository

if TYPE_CHECKING:
    from concord.metrics_core.data.paths import AnyPath
    from concord.pipeline.params.model import Params

_GLOB = "*?[]"  # DuckDB would look for other files by these


def check_inside(key: str, path: "AnyPath", *, allow_outside: bool, part: str = "path") -> None:
    """Raise InputError if an input, or a part of it, is outside the repository once every link is followed.

    Parameters
    ----------
    part : str
        The key below `key` that names the path.
    """
    if allow_outside:
        return
    if not isinstance(path, Path):
        problem = "lies in an object store, which is read with the credentials of whoever runs this"
        fix = f"set `input.allow_outside: true` if that is meant, or copy it into the repository and name it in `{key}.{part}`"
        raise refuse(str(path), problem, fix)
    problems = []
    for each in (path, *_links(path)):
        if not _is_inside(each):
            problem = f"lies outside the repository{_leads_to(each)}"
            fix = f"copy it into the repository and name it in `{key}.{part}`, or set `input.allow_outside: true`"
            problems.append(Problem(str(each), problem, fix))
    if problems:
        raise InputError(problems)


def result_problems(params: Path, folders: dict[str, str]) -> Iterator[Problem]:
    """Yield folders of results outside the project, or with characters that stand for other names."""
    for key, folder in folders.items():
        keys = ("results", key)
        path = params.parent / folder
        if not _is_inside(path, (params.parent,)):
            problem = f"{folder!r} lies outside the project{_leads_to(path)}"
            yield Problem(keys, problem, f"name a folder of the project, such as results/{key}")
        elif path.resolve() == params.parent.resolve():
            fix = f"name a folder of its own, such as results/{key}"
            yield Problem(keys, f"{folder!r} is the project itself", fix)
        if wild := sorted(set(folder) & set(_GLOB)):
            problem = (
                f"{folder!r} holds {' and '.join(map(repr, wild))}, which stand for other names"
            )
            yield Problem(keys, problem, "use other characters")


def _links(path: Path) -> Iterator[Path]:
    """Yield the links in a folder."""
    if path.is_dir():
        yield from (part for part in sorted(path.rglob("*")) if part.is_symlink())


def _is_inside(path: Path, roots: tuple[Path, ...] | None = None) -> bool:
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # links that lead in a circle, a NUL
        return False
    return any(real.is_relative_to(root.resolve()) for root in roots or _roots())


def _roots() -> tuple[Path, ...]:
    """Return the repository, and the one that an experiment of DVC is a temporary copy of."""
    return repository(), original_repository()


def _leads_to(path: Path) -> str:
    return " (a link leads out of it)" if _has_link(path) else ""


def _has_link(path: Path) -> bool:
    return any(part.is_symlink() for part in (path, *path.parents))


MLFLOW = ("mlruns", "mlartifacts", "mlflow.db")  # its default files and folders
Keys = tuple[str, ...]


def place_problems(params: "Params", root: Path) -> Iterator[Problem]:
    """Yield paths that no disk accepts, and folders of results that are in use."""
    inputs = dict(input_paths(params))
    folders: dict[Keys, str] = {("results", key): at for key, at in vars(params.results).items()}
    invalid = [
        each for keys, path in (inputs | folders).items() for each in _path_problems(keys, path)
    ]
    yield from invalid
    if invalid:
        return
    targets = {keys: _real(root, folder) for keys, folder in folders.items()}
    in_use = {keys: _real(root, path) for keys, path in inputs.items() if not is_remote(path)}
    if store := _store(params, root):
        in_use["mlflow", "tracking_uri"] = store
    for keys, target in targets.items():
        fix = f"name a folder of its own, such as results/{keys[1]}"
        yield from (
            Problem(keys, problem, fix)
            for problem in _unusable_reasons(folders[keys], target, root.resolve())
        )
        overlapping = [".".join(other) for other, its in in_use.items() if _overlap(target, its)]
        before = takewhile(keys.__ne__, targets)
        overlapping += [".".join(other) for other in before if _overlap(target, targets[other])]
        if overlapping:
            more = f" and {len(overlapping) - 1} more" if len(overlapping) > 1 else ""
            yield Problem(
                keys, f"{folders[keys]!r} is, holds or lies in `{overlapping[0]}`{more}", fix
            )


def input_paths(params: "Params") -> Iterator[tuple[Keys, str]]:
    """Yield the keys and paths of truth, background and lists."""
    yield ("data", "truth", "path"), params.data.truth.path
    yield from ((("background", name, "path"), at.path) for name, at in params.background.items())
    yield from ((("models", name, "path"), at.path) for name, at in params.models.items())


def _path_problems(keys: Keys, path: str) -> Iterator[Problem]:
    if not path.strip():
        yield Problem(keys, f"is {path!r}", "name a file or folder")
    if is_address(path) and keys[0] == "results":
        fix = f"name a folder of the project, such as results/{keys[1]}"
        yield Problem(keys, "is an address", fix)
    elif is_remote(path):
        try:
            parse_address(path)
        except InputError as error:  # which repeats no secret
            for each in error.problems:
                yield Problem(keys, f"{each.where} {each.message}", each.fix)


def _unusable_reasons(folder: str, target: Path, root: Path) -> Iterator[str]:
    """Yield why a folder of the project cannot hold results."""
    if not target.is_relative_to(root):
        return  # a problem of `result_problems`
    parts = target.relative_to(root).parts
    if any(part.startswith(".") for part in parts):
        yield f"{folder!r} is hidden, as folders of git, DVC and other tools are"
    if parts and parts[0].casefold() in MLFLOW:
        yield f"{folder!r} is a folder or file of MLflow"
    for above in (target, *target.parents):
        if above == root:
            return
        if above.exists() and not above.is_dir():
            yield f"{folder!r} leads through a file, {above.relative_to(root)}"
        elif (above / "__init__.py").exists():
            yield f"{folder!r} is a folder of code"
            return


def _store(params: "Params", root: Path) -> Path | None:
    """Return the local database or folder of MLflow; None if it is remote, or the project itself."""
    address = params.mlflow.tracking_uri.partition("?")[0]
    scheme, colon, path = address.partition(":")
    if not colon:
        path = address
    elif scheme not in {"sqlite", "file"}:
        return None
    path = path.removeprefix("//")
    target = _real(root, path.removeprefix("/") if scheme == "sqlite" else path)
    return None if root.resolve().is_relative_to(target) else target


def _real(root: Path, path: str) -> Path:
    """Return a path with every link followed; as it is if links lead in a circle."""
    try:
        return (root / path).resolve()
    except (OSError, RuntimeError, ValueError):
        return root / path


def _overlap(one: Path, other: Path) -> bool:
    """True if one path is the other or inside it, whatever the case of letters."""
    first, second = (Path(str(path).casefold()) for path in (one, other))
    return first.is_relative_to(second) or second.is_relative_to(first)


_DVC = {"s3": "s3", "gs": "gs", "az": "azure"}  # store -> scheme of DVC, and its extra


def dvc_problems(params: "Params") -> Iterator[Problem]:
    """Yield schemes that DVC does not know, and plug-ins of DVC that are not installed."""
    missing = set()
    for keys, path in input_paths(params):
        if not is_remote(path):
            continue
        address = parse_address(path)
        known = _DVC[address.store]
        if address.scheme != known:
            where = f"{PARAMS}: {'.'.join(keys)}"
            problem = f"begins with {address.scheme}://, which DVC does not know"
            yield Problem(where, problem, f"write {known}://{address.bucket}/{address.key}")
        elif find_spec(f"dvc_{known}") is None:
            missing.add(known)
    for scheme in sorted(missing):
        problem = f"is not installed, and DVC watches {scheme}:// by it"
        yield Problem(f"dvc-{scheme}", problem, f"`pip install 'dvc[{scheme}]'`")
