"""Paths of a project: checks of those that params.yaml names, and files that stages write."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from concord.metrics_core.errors import InputError, Problem, raise_problems, refuse
from concord.metrics_core.files import is_address, is_remote, load_json, parse_address
from concord.pipeline.params.repository import PARAMS, original_repository, repository

if TYPE_CHECKING:
    from concord.metrics_core.data.paths import AnyPath
    from concord.pipeline.params.model import Params, Results


MAX_NAME = 255  # bytes of the name of a file
_GLOB = "*?[]"  # wildcards of DuckDB


def check_inside(key: str, path: "AnyPath", *, allow_outside: bool, part: str = "path") -> None:
    """Raise InputError if an input or a file in it is outside the repository, links resolved.

    Parameters
    ----------
    key : str
        The key of params.yaml that names the input.
    path : Path or address
        The input.
    allow_outside : bool
        Whether any path is allowed.
    part : str, default="path"
        The key below `key` that names the path.
    """
    if allow_outside:
        return
    fix = (
        f"copy it into the repository and name it in `{key}.{part}`, "
        "or set `input.allow_outside: true`"
    )
    if not isinstance(path, Path):
        problem = "is in an object store, which is read with the credentials of whoever runs this"
        raise refuse(str(path), problem, fix)
    raise_problems(
        Problem(str(file), f"is outside the repository{_link_hint(file)}", fix)
        for file in (path, *_links(path))
        if not _is_inside(file)
    )


def result_folder_problems(params: Path, folders: dict[str, str]) -> Iterator[Problem]:
    """Yield folders of results that are outside the project or contain wildcards."""
    for key, folder in folders.items():
        keys = ("results", key)
        path = params.parent / folder
        if not _is_inside(path, (params.parent,)):
            link, fix = _link_hint(path), f"name a folder of the project, such as results/{key}"
            fix = "remove the link" if link else fix
            yield Problem(keys, f"{folder!r} is outside the project{link}", fix)
        elif path.resolve() == params.parent.resolve():
            fix = f"name a separate folder, such as results/{key}"
            yield Problem(keys, f"{folder!r} is the project itself", fix)
        if wildcards := sorted(set(folder) & set(_GLOB)):
            characters = " and ".join(map(repr, wildcards))
            problem = f"{folder!r} contains {characters}, which are wildcards"
            yield Problem(keys, problem, "use other characters")


def _links(path: Path) -> Iterator[Path]:
    """Yield the links in a folder and its subfolders."""
    if path.is_dir():
        yield from (file for file in sorted(path.rglob("*")) if file.is_symlink())


def _is_inside(path: Path, roots: tuple[Path, ...] | None = None) -> bool:
    resolved = _resolve(path)
    if resolved is None:
        return False
    roots = roots or (repository(), original_repository())  # the same, but in a DVC experiment
    return any(resolved.is_relative_to(root.resolve()) for root in roots)


def _link_hint(path: Path) -> str:
    has_link = any(part.is_symlink() for part in (path, *path.parents))
    return " (a link leads out of it)" if has_link else ""


MLFLOW = ("mlruns", "mlartifacts", "mlflow.db")  # default files and folders of MLflow
Keys = tuple[str, ...]


def path_problems(params: "Params", root: Path) -> Iterator[Problem]:
    """Yield paths that no disk accepts, and folders of results that are in use."""
    inputs = dict(input_paths(params))
    folders: dict[Keys, str] = {
        ("results", key): folder for key, folder in vars(params.results).items()
    }
    invalid = [
        problem
        for keys, path in (inputs | folders).items()
        for problem in _path_syntax_problems(keys, path)
    ]
    yield from invalid
    if invalid:
        return

    in_use = {keys: _real_path(root, path) for keys, path in inputs.items() if not is_remote(path)}
    if store := _tracking_store(params, root):
        in_use["mlflow", "tracking_uri"] = store
    for keys, folder in folders.items():
        target = _real_path(root, folder)
        path, fix = root / folder, f"name a separate folder, such as results/{keys[1]}"
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            kind = "a link, not a folder" if path.is_symlink() else "not a folder"
            yield Problem(keys, f"{folder!r} is {kind}", "name another folder, or remove it")
        yield from (
            Problem(keys, problem, fix)
            for problem in _unusable_reasons(folder, target, root.resolve())
        )
        overlapping = [".".join(user) for user, path in in_use.items() if _overlap(target, path)]
        in_use[keys] = target
        if overlapping:
            more = f" and {len(overlapping) - 1} more" if len(overlapping) > 1 else ""
            problem = f"{folder!r} is, contains or is in `{overlapping[0]}`{more}"
            yield Problem(keys, problem, fix)


def input_paths(params: "Params") -> Iterator[tuple[Keys, str]]:
    """Yield the keys and the path of the ground truth, of side data, and of lists or values."""
    from concord.pipeline.params.model import ListsFile

    if params.has_values:
        yield from ((("models", name, "values"), at.path) for name, at in params.models.items())
        return
    yield ("data", "truth", "path"), params.data.truth.path
    for number, path in enumerate(params.data.truth.additional):
        yield ("data", "truth", "additional", str(number)), path
    if params.excluded_file:
        yield ("data", "exclude", "path"), params.excluded_file.path
    yield from ((("background", name, "path"), at.path) for name, at in params.background.items())
    for name, at in params.models.items():
        yield ("models", name, "path"), at.path
        if isinstance(at, ListsFile) and at.values:
            yield ("models", name, "values", "path"), at.values.path


def _path_syntax_problems(keys: Keys, path: str) -> Iterator[Problem]:
    if not path.strip():
        yield Problem(keys, f"is {path!r}", "name a file or folder")
    names = () if is_address(path) else path.encode(errors="surrogatepass").split(b"/")
    if any(len(name) > MAX_NAME for name in names):
        yield Problem(keys, f"has a name of more than {MAX_NAME} bytes", "name a shorter path")
    if is_address(path) and keys[0] == "results":
        fix = f"name a folder of the project, such as results/{keys[1]}"
        yield Problem(keys, "is an address", fix)
    elif is_remote(path):
        try:
            parse_address(path)
        except InputError as error:  # its message shows no secret
            for problem in error.problems:
                yield Problem(keys, f"{problem.where} {problem.message}", problem.fix)


def _unusable_reasons(folder: str, target: Path, root: Path) -> Iterator[str]:
    """Yield reasons why a folder of the project cannot hold results."""
    if not target.is_relative_to(root):
        return  # `result_folder_problems` reports it
    parts = target.relative_to(root).parts
    if any(part.startswith(".") for part in parts):
        yield f"{folder!r} is hidden, as folders of git, DVC and other tools are"
    if parts and parts[0].casefold() in MLFLOW:
        yield f"{folder!r} is a folder or file of MLflow"
    for parent in (target, *target.parents):
        if parent == root:
            return
        if parent != target and parent.exists() and not parent.is_dir():
            yield f"{folder!r} leads through a file, {parent.relative_to(root)}"
        elif (parent / "__init__.py").exists():
            yield f"{folder!r} is a folder of code"
            return


def _tracking_store(params: "Params", root: Path) -> Path | None:
    """Return MLflow's local database or folder; None if it is remote or the project itself."""
    address = params.mlflow.tracking_uri.partition("?")[0]
    scheme, colon, path = address.partition(":")
    if not colon:
        path = address
    elif scheme not in {"sqlite", "file"}:
        return None
    path = path.removeprefix("//")
    target = _real_path(root, path.removeprefix("/") if scheme == "sqlite" else path)
    return None if root.resolve().is_relative_to(target) else target


def _real_path(root: Path, path: str) -> Path:
    """Return a path with links resolved; unchanged if it cannot be resolved."""
    return _resolve(root / path) or root / path


def _resolve(path: Path) -> Path | None:
    """Return a path with links resolved; None for a cycle of links or a NUL character."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return None


def _overlap(a: Path, b: Path) -> bool:
    """True if one path is the other or inside it; upper and lower case are the same."""
    a, b = (Path(str(path).casefold()) for path in (a, b))
    return a.is_relative_to(b) or b.is_relative_to(a)


_DVC = {"s3": "s3", "gs": "gs", "az": "azure"}  # store -> DVC's scheme and extra


def dvc_problems(params: "Params") -> Iterator[Problem]:
    """Yield schemes that DVC does not support, and plug-ins of DVC that are not installed."""
    missing = set()
    for keys, path in input_paths(params):
        if not is_remote(path):
            continue
        address = parse_address(path)
        scheme = _DVC[address.store]
        if address.scheme != scheme:
            where = f"{PARAMS}: {'.'.join(keys)}"
            problem = f"starts with {address.scheme}://, which DVC does not support"
            yield Problem(where, problem, f"write {scheme}://{address.bucket}/{address.key}")
        elif find_spec(f"dvc_{scheme}") is None:
            missing.add(scheme)
    for scheme in sorted(missing):
        problem = f"is not installed; DVC needs it for {scheme}://"
        yield Problem(f"dvc-{scheme}", problem, f"`pip install 'dvc[{scheme}]'`")


@dataclass(frozen=True)
class ModelFiles:
    """Files of one model: lists, data quality, per-user values, panel, summary and means.

    `values`: those of another tool next to the lists; no name of a model has a dot.
    """

    lists: Path
    values: Path
    quality: Path
    per_user: Path
    panel: Path
    summary: Path
    metrics: Path

    @classmethod
    def of_model(cls, results: "Results", model: str) -> "ModelFiles":
        """Return the files of a model."""
        return cls(
            lists=Path(results.lists) / f"{model}.parquet",
            values=Path(results.lists) / f"{model}.values.parquet",
            quality=Path(results.quality) / f"{model}.json",
            per_user=Path(results.per_user) / f"{model}.parquet",
            panel=Path(results.panel) / f"{model}.parquet",
            summary=Path(results.summary) / f"{model}.json",
            metrics=Path(results.metrics) / f"{model}.json",
        )


def truth_file(params: "Params", fold: str | None = None) -> Path:
    """Return the file of the ground truth, or of a fold's ground truth."""
    path = Path(params.results.data) / "truth.parquet"
    return path if fold is None else path / f"{fold}.parquet"


def truth_quality_file(params: "Params") -> Path:
    """Return the file of the ground truth's data quality."""
    return Path(params.results.quality) / "truth.json"


def reference_file(params: "Params") -> Path:
    """Return the file of chance, most popular items and best possible lists."""
    return Path(params.results.reference) / "reference.json"


def display_words(params: "Params") -> Mapping[str, str]:
    """Return the words to show for user, item and request; the ground truth may suggest them."""
    try:
        quality = load_json(truth_quality_file(params), "")
    except InputError:  # not loaded yet
        return params.data.words
    folds = (quality, *quality.get("folds", {}).values())
    return next((fold["words"] for fold in folds if "words" in fold), {})


def side_data_file(params: "Params", role: str) -> Path | None:
    """Return the file of loaded side data; None if params.yaml does not name the table."""
    return Path(params.results.data) / f"{role}.parquet" if role in params.background else None
