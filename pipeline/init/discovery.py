"""Discovery of recommendations, ground truth and side data in a DVC repository."""

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from concord.metrics_core.data.column_names import guess_columns
from concord.metrics_core.errors import refuse
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.init.data_sets import other_data_sets, predictions_next_to_lists
from concord.pipeline.init.model_names import name_models
from concord.pipeline.init.rows import has_duplicates
from concord.pipeline.init.tables import (
    Role,
    Table,
    as_table,
    guess_role,
    inspect_file,
    role_in_path,
)
from concord.pipeline.params.repository import FILL_IN, has_dvc, is_concord_project, repository

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


def stage_of(path: Path, outs: Mapping[Path, str]) -> str | None:
    """Return the stage that makes a file or its folder; None if it is not an out."""
    return next((outs[out] for out in (path, *path.parents) if out in outs), None)


def list_outs(folder: Path, excluded: Path) -> dict[Path, str]:
    """Return the outs below a folder with the stages that make them; none without DVC.

    The stage is empty for `dvc add`. Metrics, plots, `excluded` and other evaluations of Concord
    are left out.

    Raises
    ------
    InputError
        If DVC cannot read one of its own files.
    """
    stages: dict[Path, str] = {}
    if not has_dvc(folder) or find_spec("dvc") is None:
        return stages
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    root = repository(folder)
    try:
        with Repo(str(root)) as repo:
            for stage in repo.index.stages:
                if is_concord_project(Path(stage.path).parent):
                    continue
                for output in filter(_is_local_data, stage.outs):
                    path = Path(output.fs_path)
                    if path.is_relative_to(folder) and not path.is_relative_to(excluded):
                        stages[path] = "" if stage.is_data_source else str(stage.addressing)
    except DvcException as error:
        problem = f"DVC cannot read it: {_error_text(error)}"
        raise refuse(str(root), problem, "fix that first; `dvc status` shows more") from None
    return stages


def _is_local_data(output: Any) -> bool:
    return output.protocol == "local" and not output.metric and not output.plot


def _error_text(error: BaseException) -> str:
    """Return the messages of an error and of its causes, which DVC does not show."""
    errors = [error]
    while (cause := errors[-1].__cause__) is not None and len(errors) < 3:  # noqa: PLR2004
        errors.append(cause)
    texts = [" ".join(str(cause).split()) for cause in errors]
    return ": ".join(dict.fromkeys(filter(None, texts)))[:500]


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


_ROLES: tuple[Role, ...] = ("truth", "train", "items", "users")
_UNIQUE_COLUMN: Mapping[Role, str] = {"items": "item", "users": "user"}
_SKIPPED_ROLES: Mapping[Role, str] = {
    "validation": "for validation",
    "validation lists": "lists for validation",
    "train judgements": "judgements for training",
    "predictions": "has grades next to scores: predictions, not lists",
    "pointer": "a pointer of Git LFS, not the data; run `git lfs pull`",
    "unknown": "users and items, but neither test nor train in its path",
}


@dataclass(frozen=True)
class SkippedTable:
    """A table that the evaluation does not use, and the reason."""

    path: Path
    reason: str


class Choice(NamedTuple):
    """A choice that the user should check, as a sentence, and its keys in params.yaml."""

    text: str
    keys: str

    def __str__(self) -> str:
        return f"{self.text} ({self.keys})"


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
    unknown : list of Table
        Tables of users and items whose role no path names; skipped, too.
    missing : list of Path
        Outs that do not exist yet.
    truth_candidates : list of Path
        Tables that may be the ground truth, if there are several; none of them is used.
    data_sets : dict of str to Path
        Ground truths of other data sets, by the names of the data sets.
    assumptions : list of Choice
        Rows that are read of tables with others.
    outs : mapping of Path to str
        Outs of all stages, with the names of the stages.
    has_more : bool
        True if there are more files than are inspected.
    """

    tables: dict[str, Table] = field(default_factory=dict)
    models: dict[str, Table] = field(default_factory=dict)
    skipped: list[SkippedTable] = field(default_factory=list)
    unknown: list[Table] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)
    truth_candidates: list[Path] = field(default_factory=list)
    data_sets: dict[str, Path] = field(default_factory=dict)
    assumptions: list[Choice] = field(default_factory=list)
    outs: Mapping[Path, str] = field(default_factory=dict)
    has_more: bool = False


def discover(
    folder: Path,
    excluded: Path,
    named_files: Collection[Path] = (),
    names: Mapping[str, str] = MappingProxyType({}),
    truth: Path | None = None,
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
    truth : Path, optional
        The ground truth, if the command line names it.

    Raises
    ------
    InputError
        If DVC cannot read one of its own files.
    """
    root = repository(folder)
    outs = list_outs(folder, excluded)
    files, has_more = list_files(folder, excluded, outs)
    missing = sorted(path for path in outs if not path.exists())
    result = Discovery(outs=outs, missing=missing, has_more=has_more)
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
    for table, role, problem in _tables(unnamed, folder, names):
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
    if truth is None and len(truths) == 1:
        truth = truths[0].path
    if truth is not None:
        others = other_data_sets(truth, tables | {"truth": truths}, folder)
        paths = (table.path for table in truths)
        result.data_sets = {others[path]: path for path in paths if path in others}
        _skip(result, tables, dict.fromkeys(others, "another data set"))
    predictions = predictions_next_to_lists(tables.get("lists", []), folder)
    _skip(result, tables, dict.fromkeys(predictions, "predictions next to recommendations"))
    if len(truths) > 1:
        result.truth_candidates = sorted(table.path for table in truths)
        del tables["truth"]
    for role in _ROLES:
        result.skipped += _choose(result.tables, role, sorted(tables.get(role, []), key=_priority))
    for role, reason in _SKIPPED_ROLES.items():
        result.skipped += [SkippedTable(table.path, reason) for table in tables.get(role, [])]
    result.unknown = tables.get("unknown", [])
    result.models = name_models(tables.get("lists", []), folder)
    return result


def _skip(result: Discovery, tables: dict[Role, list[Table]], reasons: Mapping[Path, str]) -> None:
    """Leave out tables in all roles, with their reasons."""
    for role, group in tables.items():
        left_out = [table.path for table in group if table.path in reasons]
        result.skipped += [SkippedTable(path, reasons[path]) for path in left_out]
        tables[role] = [table for table in group if table.path not in reasons]


def _tables(
    files: Mapping[Path, str], folder: Path, names: Mapping[str, str]
) -> Iterator[tuple[Table, Role, str | None]]:
    """Yield each table, its role, and why it is incomplete; None if it is complete."""
    for path, stage in files.items():
        file, name = inspect_file(path), path.relative_to(folder).as_posix()
        if file is None:
            continue
        role = guess_role(file, name, names)
        path_role: Role | None = role_in_path(name, ("truth", "lists"))  # type: ignore[assignment]
        if role is not None:
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
    return (_has_order(table), not table.stage, len(table.path.parts), table.path.as_posix())


def _has_order(table: Table) -> bool:
    """True if a table has ranks or scores, and so may be recommendations."""
    return not {"rank", "score"}.isdisjoint(guess_columns(table.file.columns))
