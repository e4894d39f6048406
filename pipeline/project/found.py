"""What lies in a DVC repository: lists of models, truth, train, catalogue and users."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from concord.pipeline.params.repository import repository
from concord.pipeline.project.files import files_below
from concord.pipeline.project.names import named
from concord.pipeline.project.outs import outs_below, stage_of
from concord.pipeline.project.peek import peeked
from concord.pipeline.project.recognised import columns_meant
from concord.pipeline.project.scanned import stands_twice
from concord.pipeline.project.taken_for import Role, Table, as_table, taken_for

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
