"""Discovery of recommendations, ground truth and side data in a DVC repository."""

import os
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import MappingProxyType

from concord.metrics_core.data.column_names import guess_columns
from concord.metrics_core.data.formats import format_by_name
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.init.dvc_outs import list_outs, stage_of
from concord.pipeline.init.json_start import first_queries
from concord.pipeline.init.tables import (
    Role,
    Table,
    as_table,
    guess_role,
    has_duplicates,
    inspect_file,
    json_by_query,
    packed_column,
    packed_problem,
    role_in_path,
    users_of,
)
from concord.pipeline.params.checks import is_model_name
from concord.pipeline.params.repository import is_concord_project, repository
from concord.pipeline.params.yaml_files import FILL_IN

MAX_FILES = 20_000
_SKIPPED_FOLDERS = {
    "node_modules",
    "mlruns",
    "mlartifacts",
    "dvc_plots",
    "venv",
    "env",
    "site-packages",
}
_PART = re.compile(r"(part|chunk|shard|block|data)?[-_.]?[0-9]", re.IGNORECASE)


def list_files(
    folder: Path, excluded: Path, outs: Mapping[Path, str]
) -> tuple[dict[Path, str], bool]:
    """Return files and folders of parts with their stages, and whether there are too many.

    Hidden files, environments and other repositories are skipped unless they are outs.
    """
    files: dict[Path, str] = {}
    for start in (*sorted(outs), folder):
        for path in _walk(start, excluded):
            if len(files) >= MAX_FILES:
                return files, True
            files.setdefault(path, stage_of(path, outs) or "")
    return files, False


def _is_in_parts(folder: Path, folders: Sequence[str], names: Sequence[str]) -> bool:
    """True if a folder is one table in parts, as Spark writes them."""
    inner = [name for name in folders if not name.startswith(("_", "."))]
    parts = [name for name in names if not name.startswith(("_", "."))]
    are_parts = all(
        name.endswith(".parquet") and (folder.suffix == ".parquet" or _PART.match(name))
        for name in parts
    )
    return bool(inner or parts) and are_parts and all("=" in name for name in inner)


def _walk(start: Path, excluded: Path) -> Iterator[Path]:
    """Yield the files below a folder, and folders that are one table in parts."""
    if start.is_file():
        yield start
    for location, folders, names in os.walk(start):
        folder = Path(location)
        if _is_in_parts(folder, folders, names):
            folders.clear()
            yield folder
            continue
        folders[:] = sorted(name for name in folders if not _is_skipped(folder / name, excluded))
        for name in sorted(names):
            path = folder / name
            if not name.startswith(".") and path.is_file() and name.isprintable():
                yield path


def _is_skipped(path: Path, excluded: Path) -> bool:
    """True for hidden folders, environments, other repositories and unprintable names."""
    if path.name.startswith((".", "__")) or path.name in _SKIPPED_FOLDERS or path == excluded:
        return True
    if is_concord_project(path) and path != excluded.parent:  # `--force` reads its own folder
        return True
    is_other = (path / "pyvenv.cfg").exists() or (path / ".dvc").is_dir()
    return is_other or not path.name.isprintable()


_MAX_NAME = 90  # characters, which leaves room for a number


def name_models(tables: Sequence[Table], folder: Path) -> dict[str, Table]:
    """Return the recommendations by model names that are valid and differ in any case."""
    words = {table.path: _words(table.path.relative_to(folder)) for table in tables}
    shared = set.intersection(*map(set, words.values())) if len(words) > 1 else set()
    models: dict[str, Table] = {}
    for table in sorted(tables, key=lambda table: str(table.path)):
        path_words = _distinctive_words(words[table.path], shared)
        file_words = _words(Path(table.path.name))
        separator = "_" if "_" in table.path.name else "-"
        short = separator.join(_distinctive_words(file_words, shared) or path_words or file_words)
        used = {name.lower() for name in models}
        names = _name_candidates(short, separator.join(path_words))
        unused = (name for name in names if name.lower() not in used)
        models[next(filter(is_model_name, unused))] = table
    return models


def _name_candidates(short: str, long: str) -> Iterator[str]:
    """Yield possible names of a model, the best first."""
    base = (short or long or "model")[:_MAX_NAME]
    yield base
    yield long
    yield from (f"{base}_{number}" for number in count(2))


def _words(path: Path) -> list[str]:
    """Return the words of a path, without file endings and accents."""
    parts = [*path.parts[:-1], path.name.partition(".")[0]]
    plain = [unicodedata.normalize("NFKD", p).encode("ascii", "ignore").decode() for p in parts]
    return [word for part in plain for word in re.split(r"[^A-Za-z0-9]+", part) if word]


def _distinctive_words(words: Sequence[str], shared: AbstractSet[str]) -> list[str]:
    """Return the words that distinguish a model from the others."""
    return [word for word in words if word not in shared and not role_in_path(word, ("lists",))]


_ROLES: tuple[Role, ...] = ("truth", "train", "items", "users")
_UNIQUE_COLUMN: Mapping[Role, str] = {"items": "item", "users": "user"}
_SKIPPED_ROLES: Mapping[Role, str] = {
    "validation": "for validation",
    "validation lists": "lists for validation",
    "train judgements": "judgements for training",
    "unknown": "users and items, but neither test nor train in its path",
}


@dataclass(frozen=True)
class SkippedTable:
    """A table that the evaluation does not use, and the reason."""

    path: Path
    reason: str


@dataclass
class Discovery:
    """Tables of a repository.

    Attributes
    ----------
    tables : dict of str to Table
        Ground truth and side data by role.
    models : dict of str to Table
        Recommendations by model.
    skipped : list of SkippedTable
        Tables that are not used.
    missing : list of Path
        Outs that do not exist yet.
    truth_candidates : list of Path
        Tables that may be the ground truth, if there are several; none of them is used.
    outs : mapping of Path to str
        Outs of all stages, with the names of the stages.
    folders : sequence of Path
        Folders in which training may run: this one, those of stages, and their parents.
    has_more : bool
        True if there are more files than are inspected.
    other_json : dict of Path to str
        JSON files whose names do not show a table, with their stages.
    """

    tables: dict[str, Table] = field(default_factory=dict)
    models: dict[str, Table] = field(default_factory=dict)
    skipped: list[SkippedTable] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)
    truth_candidates: list[Path] = field(default_factory=list)
    outs: Mapping[Path, str] = field(default_factory=dict)
    folders: Sequence[Path] = ()
    has_more: bool = False
    other_json: dict[Path, str] = field(default_factory=dict)


def discover(
    folder: Path,
    excluded: Path,
    named_files: Collection[Path] = (),
    names: Mapping[str, str] = MappingProxyType({}),
) -> Discovery:
    """Return the tables below a folder.

    Parameters
    ----------
    folder : Path
        The folder that is searched.
    excluded : Path
        A folder that is skipped.
    named_files : collection of Path, optional
        Files that the command line names; they are skipped.
    names : mapping of str to str, optional
        Column of Concord -> name of it in all tables that have such a column.

    Raises
    ------
    InputError
        If DVC cannot read one of its own files.
    """
    root = repository(folder)
    outs, run_folders = list_outs(folder, excluded)
    files, has_more = list_files(folder, excluded, outs)
    missing = sorted(path for path in outs if not path.exists())
    folders = _with_parents((folder, *sorted(run_folders)), root)
    result = Discovery(outs=outs, folders=folders, missing=missing, has_more=has_more)
    tables: dict[Role, list[Table]] = {}
    unnamed = {
        path: stage for path, stage in files.items() if not {path, *path.parents} & {*named_files}
    }
    incomplete: dict[Role, list[Table]] = {}
    outside = {
        path
        for path in unnamed
        if stage_of(path, outs) is None and not path.resolve().is_relative_to(root)
    }
    json_files = {path for path in unnamed if format_by_name(path) == "json"} - outside
    result.other_json = {path: unnamed[path] for path in sorted(json_files)}
    for table, role, problem in _tables(unnamed, folder, names):
        result.other_json.pop(table.path, None)
        if table.path in outside:
            reason = "a link leads out of the repository"
            result.skipped.append(SkippedTable(table.path, reason))
        elif problem is None:
            tables.setdefault(role, []).append(table)
        else:
            incomplete.setdefault(role, []).append(table)
            result.skipped.append(SkippedTable(table.path, problem))
    if "truth" not in tables and "validation" in tables:
        tables["truth"] = tables.pop("validation")
        tables["lists"] = [*tables.get("lists", []), *tables.pop("validation lists", [])]
    _use_incomplete(result, tables, incomplete)
    truths = tables.get("truth", [])
    truths = [table for table in truths if not _has_order(table)] or truths
    if len(truths) > 1:
        result.truth_candidates = sorted(table.path for table in truths)
        del tables["truth"]
    for role in _ROLES:
        result.skipped += _choose(result.tables, role, sorted(tables.get(role, []), key=_priority))
    for role, reason in _SKIPPED_ROLES.items():
        result.skipped += [SkippedTable(table.path, reason) for table in tables.get(role, [])]
    result.models = name_models(tables.get("lists", []), folder)
    return result


def add_json_lists(discovery: Discovery, folder: Path) -> None:
    """Add JSON by query as models, if its first queries occur in the ground truth."""
    starts = {path: first_queries(path) for path in discovery.other_json}
    truth = discovery.tables.get("truth")
    users = users_of(truth) if truth and any(starts.values()) else set()
    lists = [
        as_table(json_by_query(path, "run"), "lists", {}, discovery.other_json[path])
        for path, queries in starts.items()
        if not users.isdisjoint(queries)
    ]
    if lists:
        discovery.models = name_models([*discovery.models.values(), *lists], folder)


def _with_parents(folders: Iterable[Path], root: Path) -> list[Path]:
    """Return each folder and its parents up to the root, once."""
    parents = (parent for folder in folders for parent in (folder, *folder.parents))
    return list(dict.fromkeys(parent for parent in parents if parent.is_relative_to(root)))


def _tables(
    files: Mapping[Path, str], folder: Path, names: Mapping[str, str]
) -> Iterator[tuple[Table, Role, str | None]]:
    """Yield each table, its role, and why it is incomplete; None if it is complete."""
    for path, stage in files.items():
        file, name = inspect_file(path), str(path.relative_to(folder))
        if file is None:
            continue
        role = guess_role(file, name, names)
        path_role: Role | None = role_in_path(name, ("truth", "lists"))  # type: ignore[assignment]
        packed = packed_column(file) if role in (None, "truth", "lists", "unknown") else None
        if packed is not None:
            table = as_table(file, "unknown", names, stage)
            yield table, "unknown", ": ".join(packed_problem(packed))
        elif role is not None:
            yield as_table(file, role, names, stage), role, None
        elif path_role is not None and len(file.columns) > 1:
            table = as_table(file, path_role, names, stage)
            missing = [name for name, column in table.columns.items() if column == FILL_IN]
            fix = f"`--column {missing[0]}=NAME` names it; its columns: {', '.join(file.columns)}"
            yield table, path_role, f"no column is known as {join_names(missing, 'or')}; {fix}"


def _use_incomplete(
    result: Discovery, tables: dict[Role, list[Table]], incomplete: Mapping[Role, list[Table]]
) -> None:
    """Use tables with unknown columns of users or items in roles that no other table has."""
    for role in ("truth", "lists"):
        if role not in tables and role in incomplete:
            tables[role] = incomplete[role]
            used = {table.path for table in incomplete[role]}
            result.skipped = [table for table in result.skipped if table.path not in used]


def _choose(
    tables_by_role: dict[str, Table], role: Role, tables: list[Table]
) -> Iterator[SkippedTable]:
    """Choose the first suitable table for a role; yield the others."""
    for table in tables:
        column = _UNIQUE_COLUMN.get(role)
        if role in tables_by_role:
            yield SkippedTable(table.path, f"another table is used for {role}")
        elif column and has_duplicates(table.file, [table.columns[column]]):
            yield SkippedTable(table.path, f"for {role}, but several rows have the same {column}")
        else:
            tables_by_role[role] = table


def _priority(table: Table) -> tuple[bool, bool, int, str]:
    """Return a sort key: tables without order first, then those of a stage, then short paths."""
    return (_has_order(table), not table.stage, len(table.path.parts), str(table.path))


def _has_order(table: Table) -> bool:
    """True if a table has ranks or scores, and so may be recommendations."""
    return not {"rank", "score"}.isdisjoint(guess_columns(table.file.columns))
