"""What may be read and written: inputs inside the repository unless params.yaml opens it, results always inside."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from concord.metrics_core.errors import InputError, Problem, refuse
from concord.pipeline.params.repository import original_repository, repository

if TYPE_CHECKING:
    from concord.metrics_core.data.paths import Place

_GLOB = "*?[]"  # DuckDB would look for other files by these


def refuse_outside(key: str, path: "Place", *, allow_outside: bool, part: str = "path") -> None:
    """Refuse an input that is, or holds a part that is, outside the repository once every link is followed.

    `part`: the key below `key` that names the path

    Raises
    ------
    InputError : where, and the key to set if that is meant
    """
    if allow_outside:
        return
    if not isinstance(path, Path):
        what = "lies in an object store, which is read with the credentials of whoever runs this"
        fix = f"set `input.allow_outside: true` if that is meant, or copy it into the repository and name it in `{key}.{part}`"
        raise refuse(str(path), what, fix)
    problems = []
    for each in (path, *_links(path)):
        if not _is_inside(each):
            what = f"lies outside the repository{_leads_to(each)}"
            fix = f"copy it into the repository and name it in `{key}.{part}`, or set `input.allow_outside: true`"
            problems.append(Problem(str(each), what, fix))
    if problems:
        raise InputError(problems)


def result_findings(
    params: Path, folders: dict[str, str]
) -> Iterator[tuple[tuple[str, str], str, str]]:
    """What is wrong with the folders of the results; no key opens these."""
    for key, folder in folders.items():
        keys = ("results", key)
        path = params.parent / folder
        if not _is_inside(path, (params.parent,)):
            what = f"{folder!r} lies outside the project{_leads_to(path)}"
            yield keys, what, f"name a folder of the project, such as results/{key}"
        elif path.resolve() == params.parent.resolve():
            fix = f"name a folder of its own, such as results/{key}"
            yield keys, f"{folder!r} is the project itself", fix
        if wild := sorted(set(folder) & set(_GLOB)):
            what = f"{folder!r} holds {' and '.join(map(repr, wild))}, which stand for other names"
            yield keys, what, "use other characters"


def _links(path: Path) -> Iterator[Path]:
    """What in a folder of parts could lead somewhere else."""
    if path.is_dir():
        yield from (part for part in sorted(path.rglob("*")) if part.is_symlink())


def _is_inside(path: Path, roots: tuple[Path, ...] | None = None) -> bool:
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # links that lead in a circle, a NUL
        return False
    return any(real.is_relative_to(root.resolve()) for root in roots or _roots())


def _roots() -> tuple[Path, ...]:
    """The repository, and the one that an experiment of DVC is a temporary copy of."""
    return repository(), original_repository()


def _leads_to(path: Path) -> str:
    return " (a link leads out of it)" if _has_link(path) else ""


def _has_link(path: Path) -> bool:
    return any(part.is_symlink() for part in (path, *path.parents))
