"""Discovery: recommendations, ground truth, train, catalogue and users in a DVC repository."""

import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from concord.metrics_core.errors import refuse
from concord.pipeline.init.tables import (
    Role,
    Table,
    as_table,
    columns_meant,
    peeked,
    role_said,
    stands_twice,
    taken_for,
)
from concord.pipeline.params.checks import is_model_name
from concord.pipeline.params.repository import is_concords, repository


class Outs(NamedTuple):
    """Outs -> the name of the stage, none for what `dvc add` keeps; and the folders from which these stages run."""

    stages: dict[Path, str]
    folders: set[Path]


def stage_of(path: Path, outs: Mapping[Path, str]) -> str | None:
    """The stage that makes a file, which may lie in an out that is a folder; None for what is no out."""
    return next((outs[at] for at in (path, *path.parents) if at in outs), None)


def outs_below(folder: Path, but: Path) -> Outs:
    """The outs of all stages below a folder.

    Left out are metrics and plots, what lies below `but`, and what another evaluation of Concord makes.

    Raises
    ------
    InputError : DVC cannot read one of its own files
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    root = repository(folder)
    try:
        with Repo(str(root)) as repo:
            found = list(_outs(repo.index.stages))
    except DvcException as error:
        what = f"DVC cannot read it: {_said(error)}"
        raise refuse(str(root), what, "mend that first; `dvc status` tells more") from None
    kept = [
        (path, stage, runs_in)
        for path, stage, runs_in in found
        if path.is_relative_to(folder) and not path.is_relative_to(but)
    ]
    return Outs({path: stage for path, stage, _ in kept}, {at for *_, some in kept for at in some})


def _outs(stages: Any) -> Iterator[tuple[Path, str, tuple[Path, ...]]]:
    for stage in stages:
        name = "" if stage.is_data_source else str(stage.addressing)
        runs_in = () if stage.is_data_source else (Path(stage.wdir), Path(stage.path).parent)
        if not is_concords(Path(stage.path).parent):
            for out in stage.outs:
                if out.protocol == "local" and not out.metric and not out.plot:
                    yield Path(out.fs_path), name, runs_in


def _said(error: BaseException) -> str:
    """What went wrong, and the cause of it, which DVC keeps to itself."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None and len(causes) < 3:  # noqa: PLR2004
        causes.append(cause)
    said = [" ".join(str(each).split()) for each in causes]
    return ": ".join(dict.fromkeys(filter(None, said)))[:500]


MOST_FILES = 20_000  # that are looked at
_PASSED_BY = {"node_modules", "mlruns", "mlartifacts", "dvc_plots", "venv", "env", "site-packages"}
_PART = re.compile(r"(part|chunk|shard|block|data)?[-_.]?[0-9]", re.IGNORECASE)


def files_below(folder: Path, but: Path, outs: Mapping[Path, str]) -> tuple[dict[Path, str], bool]:
    """Files and folders of parts -> the stage that makes them; and whether there are more than are looked at.

    What is an out is found wherever it lies; hidden files, environments and other repositories are passed by.
    """
    found: dict[Path, str] = {}
    for start in (*sorted(outs), folder):
        for path in _below(start, but):
            if len(found) >= MOST_FILES:
                return found, True
            found.setdefault(path, stage_of(path, outs) or "")
    return found, False


def _is_in_parts(folder: Path, folders: Sequence[str], names: Sequence[str]) -> bool:
    """Does a folder hold one table in parts, as Spark and others write them, and not a table a file?"""
    inner, parts = ([n for n in each if not n.startswith(("_", "."))] for each in (folders, names))
    are_parts = all(
        name.endswith(".parquet") and (folder.suffix == ".parquet" or _PART.match(name))
        for name in parts
    )
    return bool(inner or parts) and are_parts and all("=" in name for name in inner)


def _below(start: Path, but: Path) -> Iterator[Path]:
    if start.is_file():
        yield start
    for where, folders, names in os.walk(start):
        here = Path(where)
        if _is_in_parts(here, folders, names):
            folders.clear()
            yield here
            continue
        folders[:] = sorted(name for name in folders if not _passed_by(here / name, but))
        for name in sorted(names):
            path = here / name
            if not name.startswith(".") and path.is_file() and _is_text(name):
                yield path


def _passed_by(path: Path, but: Path) -> bool:
    if path.name.startswith((".", "__")) or path.name in _PASSED_BY or path == but:
        return True
    another = is_concords(path) and path != but.parent  # `--force` looks into its own folder again
    other = (path / "pyvenv.cfg").exists() or (path / ".dvc").is_dir() or another
    return other or not _is_text(path.name)


def _is_text(name: str) -> bool:
    """Bytes of a name that are no text cannot be written into params.yaml."""
    return name.isprintable()


_LONGEST = 90  # characters, so that a number fits behind


def named(lists: Sequence[Table], folder: Path) -> dict[str, Table]:
    """Lists by names that params.yaml takes, no two of which differ in capitals alone."""
    words = {table.path: _words(table.path.relative_to(folder)) for table in lists}
    shared = set.intersection(*map(set, words.values())) if len(words) > 1 else set()
    found: dict[str, Table] = {}
    for table in sorted(lists, key=lambda table: str(table.path)):
        own, stem = _but(words[table.path], shared), _words(Path(table.path.name))
        mark = "_" if "_" in table.path.name else "-"
        short, long = mark.join(_but(stem, shared) or own or stem), mark.join(own)
        taken = {name.lower() for name in found}
        free = (name for name in _names(short, long) if name.lower() not in taken)
        found[next(filter(is_model_name, free))] = table
    return found


def _names(short: str, long: str) -> Iterator[str]:
    base = (short or long or "model")[:_LONGEST]
    yield base
    yield long
    yield from (f"{base}_{number}" for number in count(2))


def _words(path: Path) -> list[str]:
    """Of a path, without its endings and without accents."""
    parts = [*path.parts[:-1], path.name.partition(".")[0]]
    plain = [unicodedata.normalize("NFKD", p).encode("ascii", "ignore").decode() for p in parts]
    return [word for part in plain for word in re.split(r"[^A-Za-z0-9]+", part) if word]


def _but(words: Sequence[str], shared: AbstractSet[str]) -> list[str]:
    return [word for word in words if word not in shared and not role_said(word, ("lists",))]


_ROLES: tuple[Role, ...] = ("truth", "train", "items", "users")
_ONE_ROW_EACH: Mapping[Role, str] = {"items": "item", "users": "user"}
_LEFT: Mapping[Role, str] = {
    "validation": "for validation",
    "validation lists": "lists for validation",
    "unsaid": "users and items, and neither test nor train in its path",
}


@dataclass(frozen=True)
class Left:
    """A table that is left alone, and why."""

    path: Path
    why: str


@dataclass
class Found:
    """What a repository holds: by role, by model, what is left alone, and outs that are not there yet.

    truths      : tables that may each be the ground truth, where there are several; none of them is taken
    outs        : of all stages, with the names of these
    folders     : from which training may run: here, those of the stages, and all above in the repository
    has_more    : are there more files than are looked at?
    """

    tables: dict[str, Table] = field(default_factory=dict)
    models: dict[str, Table] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)
    truths: list[Path] = field(default_factory=list)
    outs: Mapping[Path, str] = field(default_factory=dict)
    folders: Sequence[Path] = ()
    has_more: bool = False


def found_in(folder: Path, but: Path, asked: Collection[Path] = ()) -> Found:
    """What lies below a folder, but for what lies below `but`, and for those that are `asked` for by name.

    Raises
    ------
    InputError : DVC cannot read one of its own files
    """
    outs, run_in = outs_below(folder, but)
    files, has_more = files_below(folder, but, outs)
    missing = sorted(path for path in outs if not path.exists())
    folders = _with_parents((folder, *sorted(run_in)), repository(folder))
    found = Found(outs=outs, folders=folders, missing=missing, has_more=has_more)
    tables: dict[Role, list[Table]] = {}
    free = {at: stage for at, stage in files.items() if not {at, *at.parents} & {*asked}}
    for table, role in _tables(free, folder):
        inside = table.path.resolve().is_relative_to(repository(folder))
        if inside or stage_of(table.path, outs) is not None:
            tables.setdefault(role, []).append(table)
        else:
            found.left.append(Left(table.path, "a link leads out of the repository"))
    if "truth" not in tables and "validation" in tables:
        tables["truth"] = tables.pop("validation")
        tables["lists"] = [*tables.get("lists", []), *tables.pop("validation lists", [])]
    truths = tables.get("truth", [])
    without_order = [table for table in truths if not _is_ordered(table)]
    if len(without_order or truths) > 1:
        found.truths = sorted(table.path for table in without_order or truths)
        del tables["truth"]
    for role in _ROLES:
        found.left += _take(found.tables, role, sorted(tables.get(role, []), key=_likely))
    for role, why in _LEFT.items():
        found.left += [Left(table.path, why) for table in tables.get(role, [])]
    found.models = named(tables.get("lists", []), folder)
    return found


def _with_parents(folders: Iterable[Path], root: Path) -> list[Path]:
    """Each folder and those above it, up to the root, once."""
    above = (at for folder in folders for at in (folder, *folder.parents))
    return list(dict.fromkeys(at for at in above if at.is_relative_to(root)))


def _tables(files: Mapping[Path, str], folder: Path) -> Iterator[tuple[Table, Role]]:
    for path, made_by in files.items():
        seen = peeked(path)
        role = taken_for(seen, str(path.relative_to(folder))) if seen else None
        if seen and role:
            yield as_table(seen, role, made_by), role


def _take(taken: dict[str, Table], role: Role, tables: list[Table]) -> Iterator[Left]:
    """The likeliest that would be read; the others are left."""
    for table in tables:
        ours = _ONE_ROW_EACH.get(role)
        if role in taken:
            yield Left(table.path, f"another {role} is taken")
        elif ours and stands_twice(table.peeked, [table.columns[ours]]):
            yield Left(table.path, f"for {role}, but the same {ours} stands in several rows")
        else:
            taken[role] = table


def _likely(table: Table) -> tuple[bool, bool, int, str]:
    """What could be no lists first, what a stage makes before what lies there, the shorter path before the longer."""
    return (_is_ordered(table), not table.made_by, len(table.path.parts), str(table.path))


def _is_ordered(table: Table) -> bool:
    """Return whether a table has ranks or scores, so that it may hold lists."""
    return not {"rank", "score"}.isdisjoint(columns_meant(table.peeked.columns))
