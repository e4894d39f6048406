"""Choices of `concord init`: roles, unit, baseline, and MLflow runs of the models."""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from concord.metrics_core.comparison.defaults import (
    MIN_EFFECT,
    choose_cutoffs,
    choose_metrics,
    choose_threshold,
    highest_grade,
    main_cutoff,
)
from concord.metrics_core.comparison.defaults import longest_list as longest_in_table
from concord.metrics_core.comparison.defaults import shared_unit as unit_of_tables
from concord.metrics_core.comparison.replicate_config import REPLICATES
from concord.metrics_core.data.column_names import is_search_name
from concord.metrics_core.data.formats import UNNAMED, format_by_name
from concord.metrics_core.data.input_table import (
    LIST_COLUMNS,
    InputTable,
    resolve_columns,
)
from concord.metrics_core.errors import params_keys
from concord.metrics_core.results.replicates import MIN_INTERVAL_REPLICATES
from concord.metrics_core.results.text_format import group_values, join_names
from concord.pipeline.init.discovery import Choice, Discovery
from concord.pipeline.init.model_names import baseline_of
from concord.pipeline.init.rows import has_duplicates, has_times, longest_list, value_range
from concord.pipeline.init.tables import Table
from concord.pipeline.params.repository import FILL_IN, relative_path, repository


def with_user_column(truth: Table, models: Mapping[str, Table]) -> Table:
    """Return the ground truth with the recommendations' user column, if it has that column."""
    names = {table.columns["user"] for table in models.values()}
    if len(names) != 1 or not names <= {*truth.file.columns}:
        return truth
    return replace(truth, columns={**truth.columns, "user": names.pop()})


def shared_unit(models: Mapping[str, Table], truth: Table) -> tuple[str, ...]:
    """Return the columns that identify a list of a user in all tables; empty if users have one."""
    tables = [truth, *models.values()]
    if any(FILL_IN in (t.path.name, *t.columns.values()) for t in tables):
        return ()
    return unit_of_tables([as_input(table) for table in models.values()], as_input(truth))


def as_input(table: Table) -> InputTable:
    """Return the lists as all commands read them."""
    names = {} if table.file.format in UNNAMED else table.columns
    columns = resolve_columns(LIST_COLUMNS, names)
    keys, where = params_keys("models"), table.file.where
    return InputTable(str(table.path), table.file.format, *columns, keys, where=where)


Content = dict[str, Any]
_RUN_ID = re.compile(r"[0-9a-f]{32}")
_MAX_BYTES = 100_000  # of a file with the id of a run
_STORE = "mlflow.db"


def run_id_file(table: Table, models: Collection[Table], project: Path) -> Content:
    """Return the entry of the only file next to a model's lists that holds the id of its run.

    Its name has `run`, after the name of the lists if there are several in the folder.
    """
    folder, stem = table.path.parent, table.path.name.partition(".")[0]
    is_alone = [other.path.parent for other in models].count(folder) == 1
    own_name = re.compile("" if is_alone else rf"{re.escape(stem)}[._-]*run")
    entries = [
        {"file": relative_path(file, project), **key}
        for file in sorted(folder.glob("*run*"))
        if own_name.match(file.name) and (key := _run_id_key(file)) is not None
    ]
    return {"training_run_id": entries[0]} if len(entries) == 1 else {}


def _run_id_key(file: Path) -> Content | None:
    """Return the key of the only run id in JSON; empty if the text is one, None without one."""
    try:
        if not file.is_file() or file.stat().st_size > _MAX_BYTES:
            return None
        text = file.read_text(encoding="utf-8")
        if file.suffix != ".json":
            return {} if _RUN_ID.fullmatch(text.strip()) else None
        content = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    from concord.pipeline.dvc.training import flatten  # slow: most folders have no such file

    keys = [key for key, value in flatten("", content) if _RUN_ID.fullmatch(value)]
    return {"key": keys[0]} if len(keys) == 1 else None


def tracking_uri(project: Path) -> str:
    """Return the server of the environment, or else the nearest database of MLflow."""
    configured = os.environ.get("MLFLOW_TRACKING_URI", "")
    if configured.startswith(("http://", "https://")) and "@" not in configured:
        return configured
    root = repository(project)
    folders = [folder for folder in project.parents if folder.is_relative_to(root)]
    database = next((f / _STORE for f in folders if (f / _STORE).is_file()), project / _STORE)
    return f"sqlite:///{relative_path(database, project)}"


SEARCH_PRESET = Choice(
    "values are those of preset standard; those of trec_eval: `concord pin pytrec_eval`",
    "conventions",
)
TABLE_HELP = {
    "train": "user, item [, time]: what the models learned from",
    "items": "item [, categories | vector] [, title]: the catalogue",
    "users": "user and any columns: for segments",
}


def choose(
    discovery: Discovery, project: Path, title: str, given: Mapping[str, Any] = MappingProxyType({})
) -> tuple[Content, tuple[Choice, ...]]:
    """Return the content for the templates, and choices that the user should check.

    `project` is the folder to write; `title` is that of report and experiment; `given` is
    content that the user chose.
    """
    truth = discovery.tables["truth"]
    background = {name: table for name, table in discovery.tables.items() if name != "truth"}
    columns, unit = _common_columns(truth), shared_unit(discovery.models, truth)
    entries = {name: _entry(table, columns, project) for name, table in discovery.tables.items()}
    lists = discovery.models.values()
    models = {
        name: {**_entry(table, columns, project), **run_id_file(table, lists, project)}
        for name, table in discovery.models.items()
    }
    is_search = truth.file.format in UNNAMED or is_search_name("user", truth.columns["user"])
    ks = _cutoffs(discovery.models, unit, is_search=is_search)
    threshold, highest = _threshold_and_max_grade(truth)
    k = main_cutoff(ks)
    tables = [*discovery.tables.values(), *discovery.models.values()]
    files = [file for table in tables for file in (table.path, *table.path.rglob("*"))]
    root = repository(project)
    content: Content = {
        "columns": columns,
        "unit": ["user", *unit] if unit else [],
        "truth": {"columns": {}, **entries["truth"]},
        "background": {name: entries[name] for name in background},
        "models": models,
        "rank_base": 0 if _is_rank_base_0(discovery.models) else 1,
        "repeated_grade": "highest" if _is_repeated(truth, unit) else "error",
        "allow_outside": any(not file.resolve().is_relative_to(root) for file in files),
        "metrics": choose_metrics(ks, background),
        "ks": ks,
        "baseline": baseline_of(models),
        "primary": [f"nDCG@{k}"],
        "min_effect": MIN_EFFECT,
        "segments": "train" in background,
        "threshold": threshold,
        "highest": highest,
        "title": title,
        "experiment": title,
        "tracking_uri": tracking_uri(project),
        "table_help": TABLE_HELP,
        "comments": _comments(truth, discovery.models),
        **given,
    }
    return content, (*_assumptions(content, truth), *[SEARCH_PRESET] * is_search)


def _common_columns(truth: Table) -> dict[str, str]:
    """Return the names of user and item in the ground truth; TREC and JSON have none."""
    names = {} if truth.file.format in UNNAMED else truth.columns
    return {name: names[name] for name in ("user", "item") if names.get(name, name) != name}


def named_columns(table: Table, common: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of a table whose names no other setting says; none of TREC and JSON.

    A time column is always named: other times are not read.
    """
    if table.file.format in UNNAMED:
        return {}
    return {
        name: column
        for name, column in table.columns.items()
        if (has_times(table.file, column) if name == "time" else column != common.get(name, name))
    }


def _entry(table: Table, common: Mapping[str, str], project: Path) -> Content:
    """Return the entry of a table."""
    columns = named_columns(table, common)
    has_usual_name = table.file.format in ("", format_by_name(table.path))
    return {
        "path": relative_path(table.path, project),
        **({"columns": columns} if columns else {}),
        **({"order": table.order} if table.order else {}),
        **({} if has_usual_name else {"format": table.file.format}),
        **({"where": table.file.where} if table.file.where else {}),
    }


def _cutoffs(models: Mapping[str, Table], unit: Sequence[str], *, is_search: bool) -> list[int]:
    """Return the cutoffs of `choose_cutoffs`."""
    lengths = [
        longest_list(table.file, [table.columns["user"], *unit])
        or longest_in_table(as_input(table).with_unit(["user", *unit]))
        for table in models.values()
        if table.path.exists()
    ]
    return choose_cutoffs(lengths, is_search=is_search)


def _threshold_and_max_grade(truth: Table) -> tuple[int, int]:
    """Return the result of `choose_threshold`."""
    name = truth.columns.get("grade", "")
    highest = None
    if name and truth.file.format in UNNAMED:
        highest = highest_grade(replace(as_input(truth), optional=("grade",)))
    elif name and (bounds := value_range(truth.file, name)):
        highest = bounds[1]
    return choose_threshold(name, highest)


def _is_rank_base_0(models: Mapping[str, Table]) -> bool:
    """True if the first rank is 0 in every readable file with ranks."""
    ranked = [table for table in models.values() if "rank" in table.columns]
    ranked = [table for table in ranked if table.file.format not in UNNAMED]
    ranges = [value_range(table.file, table.columns["rank"]) for table in ranked]
    return {bounds[0] for bounds in ranges if bounds} == {0}


def _is_repeated(truth: Table, unit: Sequence[str]) -> bool:
    """True if an item occurs several times for a user or session, as in repeated purchases."""
    columns = [truth.columns["user"], *unit, truth.columns["item"]]
    return truth.file.format not in UNNAMED and has_duplicates(truth.file, columns)


def _replicates(models: Iterable[str]) -> dict[str, list[str]]:
    """Return als -> als-1, als-2, …, if there are enough for an interval over replicates."""
    numbered = filter(None, (re.fullmatch("(.+)-[0-9]+", name) for name in models))
    groups = group_values((match[1], match[0]) for match in numbered)
    return {stem: names for stem, names in groups.items() if len(names) >= MIN_INTERVAL_REPLICATES}


def _assumptions(content: Content, truth: Table) -> Iterator[Choice]:
    """Yield choices that the user should check."""
    yield Choice(f"{content['baseline']} is the baseline", "comparison.baseline")
    effect = content["min_effect"]
    least = f", for differences of at least {effect}" if effect else ""
    yield Choice(f"{content['primary'][0]} decides{least}", "comparison.primary, min_effect")
    if content["unit"]:
        text = f"{join_names(content['unit'])} identify a session with a separate list, "
        yield Choice(f"{text}and means are over sessions", "data.unit, conventions.unit_mean")
    grade = truth.columns.get("grade")
    rows = "all rows of the ground truth count as relevant"
    if grade and content["threshold"] is not None:
        rows = f"rows of the ground truth with {grade} >= {content['threshold']} count as relevant"
    elif not grade and (numbers := _unread_numbers(truth, content["unit"])):
        rows += f"; if {join_names(numbers, 'or')} is a grade: `--column truth.grade={numbers[0]}`"
    yield Choice(rows, "conventions.relevance_threshold")
    for stem, names in _replicates(content["models"]).items():
        models = f"{', '.join(names)} are {len(names)} models; if they are replicates of one"
        text = f"{models}, write `{REPLICATES}: {{{stem}: {stem}-*}}`"
        yield Choice(text, f"comparison.{REPLICATES}")
    ordered = [name for name, entry in content["models"].items() if entry.get("order")]
    if ordered:
        text = f"rows of {join_names(ordered)} are in rank order"
        yield Choice(text, f"models.{ordered[0]}.order")
    if any("training_run_id" in entry for entry in content["models"].values()):
        yield Choice(f"{content['tracking_uri']} holds the training runs", "mlflow.tracking_uri")
    if content["repeated_grade"] != "error":
        text = "of several rows of the ground truth with the same user and item, "
        yield Choice(f"{text}the highest grade counts", "input.repeated_grade")
    if content["rank_base"] == 0:
        yield Choice("the first rank is 0", "input.rank_base")
    if content["allow_outside"]:
        text = "files may be outside the repository, as in a shared cache"
        yield Choice(text, "input.allow_outside")


def _unread_numbers(truth: Table, unit: Sequence[str]) -> list[str]:
    """Return the columns of numbers that are not read."""
    read = {*truth.columns.values(), *unit, *truth.file.where}
    unread = [name for name in truth.file.columns if name not in read]
    return [name for name in unread if value_range(truth.file, name)]


def _comments(truth: Table, models: Mapping[str, Table]) -> dict[str, str]:
    """Return the comments of values that are to be filled in, by their keys in params.yaml."""
    texts = {name: _comment(table) for name, table in models.items()}
    if truth.path.name == FILL_IN:
        texts["data.truth.path"] = "the ground truth: interactions that no model was trained on"
    else:
        texts["data.columns"] = _comment(truth)
    return {key: text for key, text in texts.items() if text}


def _comment(table: Table) -> str:
    if table.path.name == FILL_IN:
        return "recommendations of a model: a file or folder"
    if FILL_IN not in table.columns.values():
        return ""
    is_score = table.columns.get("score") == FILL_IN
    hint = "; write rank in place of score if it is one" if is_score else ""
    return f"columns of {table.path.name}: {', '.join(table.file.columns)}{hint}"
