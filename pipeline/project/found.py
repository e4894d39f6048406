"""What lies in a DVC repository: lists of models, truth, train, catalogue and users."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from concord.pipeline.params.repository import repository
from concord.pipeline.project.files import files_below
from concord.pipeline.project.names import named
from concord.pipeline.project.outs import outs_below
from concord.pipeline.project.peek import peeked
from concord.pipeline.project.scanned import stands_twice
from concord.pipeline.project.taken_for import Role, Table, as_table, taken_for

_ROLES: tuple[Role, ...] = ("truth", "train", "items", "users")
_ONE_ROW_EACH: Mapping[Role, str] = {"items": "item", "users": "user"}
_LEFT: Mapping[Role, str] = {
    "validation": "for validation",
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

    outs        : of all stages, with the names of these
    has_more    : are there more files than are looked at?
    """

    tables: dict[str, Table] = field(default_factory=dict)
    models: dict[str, Table] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)
    outs: Mapping[Path, str] = field(default_factory=dict)
    has_more: bool = False


def found_in(folder: Path, but: Path) -> Found:
    """What lies below a folder, but for what lies below `but`.

    Raises
    ------
    InputError : DVC cannot read one of its own files
    """
    outs = outs_below(folder, but)
    files, has_more = files_below(folder, but, outs)
    missing = sorted(path for path in outs if not path.exists())
    found = Found(outs=outs, missing=missing, has_more=has_more)
    tables: dict[Role, list[Table]] = {}
    for table, role in _tables(files, folder):
        if table.path.resolve().is_relative_to(repository(folder)) or table.path in outs:
            tables.setdefault(role, []).append(table)
        else:
            found.left.append(Left(table.path, "a link leads out of the repository"))
    if "truth" not in tables and "validation" in tables:
        tables["truth"] = tables.pop("validation")
    for role in _ROLES:
        found.left += _take(found.tables, role, sorted(tables.get(role, []), key=_likely))
    for role, why in _LEFT.items():
        found.left += [Left(table.path, why) for table in tables.get(role, [])]
    found.models = named(tables.get("lists", []), folder)
    return found


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


def _likely(table: Table) -> tuple[bool, int, str]:
    """What a stage makes before what lies there, the shorter path before the longer."""
    return (not table.made_by, len(table.path.parts), str(table.path))
