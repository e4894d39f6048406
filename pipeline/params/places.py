"""Where results may go: folders of their own, apart from inputs, code, and what git, DVC and MLflow keep."""

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from concord.metrics_core.errors import InputError
from concord.metrics_core.files import address_of, is_address, is_remote
from concord.pipeline.params.model import Params
from concord.pipeline.params.yaml_lines import Finding

MLFLOW = ("mlruns", "mlartifacts", "mlflow.db")  # what it makes where nothing else is said
Keys = tuple[str, ...]


def place_findings(params: Params, root: Path) -> Iterator[Finding]:
    """Names that no disk takes, and folders of results that are not free."""
    inputs = dict(input_paths(params))
    folders: dict[Keys, str] = {("results", key): at for key, at in vars(params.results).items()}
    unfit = [finding for keys, path in (inputs | folders).items() for finding in _name(keys, path)]
    yield from unfit
    if unfit:
        return
    places = {keys: _real(root, folder) for keys, folder in folders.items()}
    kept = {keys: _real(root, path) for keys, path in inputs.items() if not is_remote(path)}
    if store := _store(params, root):
        kept["mlflow", "tracking_uri"] = store
    for keys, place in places.items():
        fix = f"name a folder of its own, such as results/{keys[1]}"
        yield from ((keys, what, fix) for what in _taken(folders[keys], place, root.resolve()))
        met = [".".join(other) for other, its in kept.items() if _overlap(place, its)]
        before = takewhile(keys.__ne__, places)
        met += [".".join(other) for other in before if _overlap(place, places[other])]
        if met:
            more = f" and {len(met) - 1} more" if len(met) > 1 else ""
            yield keys, f"{folders[keys]!r} is, holds or lies in `{met[0]}`{more}", fix


def input_paths(params: Params) -> Iterator[tuple[Keys, str]]:
    """The keys and paths of truth, background and lists."""
    yield ("data", "truth", "path"), params.data.truth.path
    yield from ((("background", name, "path"), at.path) for name, at in params.background.items())
    yield from ((("models", name, "path"), at.path) for name, at in params.models.items())


def _name(keys: Keys, path: str) -> Iterator[Finding]:
    if not path.strip():
        yield keys, f"is {path!r}", "name a file or folder"
    if is_address(path) and keys[0] == "results":
        yield keys, "is an address", f"name a folder of the project, such as results/{keys[1]}"
    elif is_remote(path):
        try:
            address_of(path)
        except InputError as error:  # which repeats no secret
            yield from ((keys, f"{each.where} {each.what}", each.fix) for each in error.problems)


def _taken(folder: str, place: Path, root: Path) -> Iterator[str]:
    """Why a folder of the project is not free for results."""
    if not place.is_relative_to(root):
        return  # told as what lies outside
    parts = place.relative_to(root).parts
    if any(part.startswith(".") for part in parts):
        yield f"{folder!r} is hidden, as what git, DVC and other tools keep is"
    if parts and parts[0].casefold() in MLFLOW:
        yield f"{folder!r} is where MLflow keeps its own"
    for above in (place, *place.parents):
        if above == root:
            return
        if above.exists() and not above.is_dir():
            yield f"{folder!r} leads through a file, {above.relative_to(root)}"
        elif (above / "__init__.py").exists():
            yield f"{folder!r} is a folder of code"
            return


def _store(params: Params, root: Path) -> Path | None:
    """The database or folder of MLflow, where it lies on this disk; the project itself is none."""
    address = params.mlflow.tracking_uri.partition("?")[0]
    scheme, colon, path = address.partition(":")
    if not colon:
        path = address
    elif scheme not in {"sqlite", "file"}:
        return None
    path = path.removeprefix("//")
    place = _real(root, path.removeprefix("/") if scheme == "sqlite" else path)
    return None if root.resolve().is_relative_to(place) else place


def _real(root: Path, path: str) -> Path:
    """With every link followed; as it is written where a link leads in a circle."""
    try:
        return (root / path).resolve()
    except (OSError, RuntimeError, ValueError):
        return root / path


def _overlap(one: Path, other: Path) -> bool:
    """Is one the other, or within it? On many disks capitals make no difference."""
    first, second = (Path(str(path).casefold()) for path in (one, other))
    return first.is_relative_to(second) or second.is_relative_to(first)
