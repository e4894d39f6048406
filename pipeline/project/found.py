"""What lies in a DVC repository: lists of models, truth, train, catalogue and users."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from concord.metrics_core.checking.problems import refuse
from concord.pipeline.params.repository import repository
from concord.pipeline.project.peek import peeked
from concord.pipeline.project.recognised import role_said
from concord.pipeline.project.taken_for import Role, Table, as_table, taken_for

_PASSED_BY = {"node_modules", "mlruns", "mlartifacts", "dvc_plots", "venv", "env", "site-packages"}
_MOST_FILES = 20_000  # that are looked at
TABLES: tuple[Role, ...] = ("truth", "train", "items", "users")


@dataclass(frozen=True)
class Left:
    """A table that is left alone, and why."""

    path: Path
    why: str


@dataclass
class Found:
    """What a repository holds: by role, by model, what is left alone, and outs that are not there yet."""

    tables: dict[str, Table] = field(default_factory=dict)
    models: dict[str, Table] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)


def found_in(folder: Path, but: Path) -> Found:
    """What lies below a folder, but for what lies below `but`."""
    outs = _outs(folder, but)
    found = Found(missing=sorted(path for path in outs if not path.exists()))
    tables: dict[Role, list[Table]] = {}
    for path in _files(folder, but, outs):
        seen = peeked(path)
        role = taken_for(seen, str(path.relative_to(folder))) if seen else None
        if seen and role:
            tables.setdefault(role, []).append(as_table(seen, role, outs.get(path, "")))
    if "truth" not in tables and "validation" in tables:
        tables["truth"] = tables.pop("validation")
    for role in TABLES:
        ordered = sorted(tables.get(role, []), key=_likely)
        if ordered:
            found.tables[role] = ordered[0]
        found.left += [Left(table.path, f"another {role} is taken") for table in ordered[1:]]
    for role, why in _LEFT.items():
        found.left += [Left(table.path, why) for table in tables.get(role, [])]
    found.models = _named(tables.get("lists", []), folder)
    return found


_LEFT: dict[Role, str] = {
    "validation": "for validation",
    "unsaid": "users and items, and neither test nor train in its path",
}


def _likely(table: Table) -> tuple[bool, int, str]:
    """What a stage makes before what lies there, the shorter path before the longer."""
    return (not table.made_by, len(table.path.parts), str(table.path))


def _named(lists: Sequence[Table], folder: Path) -> dict[str, Table]:
    """Models by the words of the path in which they differ."""
    words = {table.path: _words(table.path.relative_to(folder)) for table in lists}
    shared = set.intersection(*map(set, words.values())) if len(words) > 1 else set()
    found: dict[str, Table] = {}
    for table in sorted(lists, key=lambda table: str(table.path)):
        own, stem = _but(words[table.path], shared), _words(Path(table.path.name))
        mark = "_" if "_" in table.path.name else "-"
        short = mark.join(_but(stem, shared) or own or stem)
        found[mark.join(own) if short in found else short] = table
    return found


def _words(path: Path) -> list[str]:
    """Of a path, without its endings."""
    parts = [*path.parts[:-1], path.name.partition(".")[0]]
    return [word for part in parts for word in re.split(r"[^A-Za-z0-9]+", part) if word]


def _but(words: Sequence[str], shared: AbstractSet[str]) -> list[str]:
    return [word for word in words if word not in shared and not role_said(word, ("lists",))]


def _files(folder: Path, but: Path, outs: Mapping[Path, str]) -> Iterator[Path]:
    """Files, and folders that are outs; hidden ones and environments are passed by."""
    seen: set[Path] = set()
    for path in sorted(outs):
        if path.exists():
            seen.add(path)
            yield path
    count = 0
    for where, folders, names in os.walk(folder):
        here = Path(where)
        folders[:] = sorted(
            name for name in folders if not _passed_by(here / name, but) and here / name not in seen
        )
        for name in sorted(names):
            path = here / name
            count += 1
            if count > _MOST_FILES:
                return
            if not name.startswith(".") and path not in seen:
                yield path


def _passed_by(path: Path, but: Path) -> bool:
    hidden = path.name.startswith((".", "__")) or path.name in _PASSED_BY
    return hidden or path == but or (path / "pyvenv.cfg").exists()


def _outs(folder: Path, but: Path) -> dict[Path, str]:
    """The outs of all stages below a folder, and what `dvc add` keeps -> the name of the stage."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    root = repository(folder)
    try:
        with Repo(str(root)) as repo:
            found = {
                Path(out.fs_path): "" if stage.is_data_source else str(stage.addressing)
                for stage in repo.index.stages
                for out in stage.outs
                if out.protocol == "local" and not out.metric and not out.plot
            }
    except DvcException as error:
        what = f"DVC cannot read it: {' '.join(str(error).split())}"
        raise refuse(str(root), what, "mend that first; `dvc status` tells more") from None
    return {
        path: stage
        for path, stage in found.items()
        if path.is_relative_to(folder) and not path.is_relative_to(but)
    }
