"""`verify`: published means next to recomputed ones, and the conventions that close each gap."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from concord.metrics_core.analyses.verify.result import Explanation, PublishedMean, Verification
from concord.metrics_core.comparison.config import model_problems
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import ConventionsLike, resolve_conventions
from concord.metrics_core.data.argument_types import Data, PolicyOptions, TableColumns, Truth
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.text_rows import TextRows, read_text_rows
from concord.metrics_core.errors import Problem, raise_problems
from concord.metrics_core.evaluation.definition_search import (
    Candidate,
    DefinitionSearch,
    next_candidates,
    refuse_other_tables,
    sort_key,
)
from concord.metrics_core.evaluation.inputs import LoadedInputs, load_inputs
from concord.metrics_core.evaluation.printed_number import PrintedNumber
from concord.metrics_core.metrics.label import Label, parse_supported
from concord.metrics_core.metrics.scope import affected_metrics

COLUMNS = ("model", "metric", "value")
MAX_DEFINITIONS = 5  # of a published mean
_COLUMNS_FIX = f"write the columns {', '.join(COLUMNS)}, separated by commas"


@dataclass(frozen=True)
class Published:
    """A row of the table."""

    model: str
    label: Label
    text: str
    number: PrintedNumber


def verify(
    models: Mapping[str, Data],
    truth: Truth,
    table: Data,
    *,
    conventions: ConventionsLike = "standard",
    columns: TableColumns | None = None,
    input: PolicyOptions | None = None,
    unit: Sequence[str] = (),
) -> Verification:
    """Compare a table of published means with recomputed ones, and explain the differences.

    Presets are tried first, then the given conventions with one of them changed, then with two.
    Definitions that explain the whole table come before those that explain a part of it.

    Parameters
    ----------
    models : dict
        Name -> recommendations as `evaluate` takes them.
    truth, columns, input, unit
        As for `evaluate`; the columns of `recs` are those of every model.
    table : DataFrame or path of a CSV file
        Columns `model`, `metric` and `value`, one row per published mean. A value is text, as
        printed, such as "0.330" or "33.0%"; its last digit defines how exact a match must be.
        Metrics read lists and ground truth only.
    conventions : Conventions, str or dict, default="standard"
        The conventions to verify.

    Returns
    -------
    Verification
        Published and recomputed means, and the presets or conventions that explain the table.

    Raises
    ------
    InputError
        If the table is invalid or names another model; otherwise as `evaluate`.

    Examples
    --------
    Average precision divides by min(k, relevant items) here, and by the relevant items there:

    >>> import concord as cc
    >>> import polars as pl
    >>> lists, truth = {"u1": ["a", "b"]}, {"u1": ["a", "c", "d", "e"]}
    >>> rows = [("als", "AP@2", "0.25"), ("als", "P@2", "0.50")]
    >>> table = pl.DataFrame(rows, schema=["model", "metric", "value"], orient="row")
    >>> result = cc.verify({"als": lists}, truth, table)
    >>> [(each.label, each.mean, each.agrees) for each in result.values]
    [('AP@2', 0.5, False), ('P@2', 0.5, True)]
    >>> result.explanations[0].n_values
    2
    """
    conventions = resolve_conventions(conventions)
    raise_problems(model_problems(models))
    rows = read_published(table, models, partial(parse_supported, feature="verify"))
    refuse_other_tables(conventions, "verify")
    loaded = {}
    with ExitStack() as connections:
        for model in dict.fromkeys(row.model for row in rows):
            connection = connections.enter_context(in_memory())
            loaded[model] = load_inputs(
                connection,
                models[model],
                truth,
                conventions,
                columns=columns,
                policies=input,
                unit=unit,
            )
        return verify_rows(rows, conventions, loaded)


def read_published(
    data: Data, models: Mapping[str, Any], parse: Callable[[str], Label]
) -> list[Published]:
    """Return the rows of a table of published means.

    Parameters
    ----------
    data : frame or path of a CSV file
        The table.
    models : mapping
        The models that it may name.
    parse : callable
        Return the label of a metric's name, or raise a ValueError.

    Raises
    ------
    InputError
        If the table is invalid; all problems at once.
    """
    table = read_text_rows(data, "table", _COLUMNS_FIX)
    raise_problems([*_table_problems(table), *table.problems])
    rows: list[Published] = []
    locations: dict[tuple[str, str], str] = {}
    problems: list[Problem] = []
    for location, cells in table.rows:
        model, metric, value = (cells[name] for name in COLUMNS)
        if model not in models:
            fix = f"name one of: {', '.join(models)}"
            problems.append(
                Problem(f"{location}: model", f"{model!r} is not among the models", fix)
            )
        try:
            label = parse(metric)
            number = PrintedNumber.parse(value)
        except ValueError as error:
            problems.append(Problem(location, str(error), "correct the row, or remove it"))
            continue
        earlier = locations.setdefault((model, str(label)), location)
        if earlier != location:
            problem = f"{label} of {model!r} occurs in two rows"
            problems.append(Problem(location, problem, f"remove this row, or {earlier}"))
        rows.append(Published(model, label, value, number))
    raise_problems(problems)
    return rows


def _table_problems(table: TextRows) -> Iterator[Problem]:
    for name in COLUMNS:
        if table.names.count(name) > 1:
            problem = f"has {table.names.count(name)} columns named {name!r}"
            yield Problem(table.location, problem, "use each column name once")
        if name not in table.names:
            problem = f"has no column {name}, only {', '.join(table.names)}"
            yield Problem(table.location, problem, _COLUMNS_FIX)
    if "value" in table.numeric:
        fix = "read the column as text, as with polars.read_csv(path, infer_schema=False)"
        problem = "holds numbers, which have lost the digits that were printed"
        yield Problem(f"{table.location}: value", problem, fix)
    if not table.rows and not table.problems:
        yield Problem(table.location, "has no rows", "write one published mean per row")


def verify_rows(
    rows: Sequence[Published],
    conventions: Conventions,
    models: Mapping[str, LoadedInputs],
) -> Verification:
    """Verify published means on loaded lists; see `verify`.

    Parameters
    ----------
    rows : sequence of Published
        The published means.
    conventions : Conventions
        The conventions to verify.
    models : mapping
        Lists and ground truth of each model.
    """
    searches = {
        label: _LabelSearch(label, [row for row in rows if row.label == label], conventions, models)
        for label in dict.fromkeys(row.label for row in rows)
    }
    _run_round(searches.values())
    counts: dict[_Key, int] = {}
    if not all(search.agrees for search in searches.values()):
        _run_round(searches.values())
        _run_round([search for search in searches.values() if not search.is_explained])
        keys = {key for search in searches.values() for key in search.matching_keys}
        for key in keys - {_UNCHANGED}:
            counts[key] = sum(search.count_matches(key) for search in searches.values())
    most = max(counts.values(), default=0)
    explanations = [
        Explanation(preset, json.loads(changes), most)
        for preset, changes in sorted(
            counts, key=lambda key: (not key[0], len(json.loads(key[1])), key)
        )
        if counts[preset, changes] == most
    ]
    values = (searches[row.label].published_mean(row, counts) for row in rows)
    return Verification(tuple(values), tuple(explanations))


_Key = tuple[str, str]  # a preset, or an empty text; changes of the conventions as JSON
_NO_CHANGES = "{}"
_NULL = json.dumps({"relevance_threshold": None})
_UNCHANGED = ("", _NO_CHANGES)


def _keys(candidate: Candidate) -> list[_Key]:
    """Return the presets of a definition, and its changes unless only presets make them."""
    first = candidate[0]
    keys = [(preset, _NO_CHANGES) for preset in first.presets]
    keys += [(preset, _NULL) for preset in first.presets_with_null]
    if not keys or not first.changes:
        keys.append(("", json.dumps(first.changes, sort_keys=True)))
    return keys


def _run_round(searches: Collection[_LabelSearch]) -> None:
    """Compute the means of the next round of definitions."""
    found = next_candidates([each.search for each in searches])
    for search, candidates in zip(searches, found, strict=True):
        for candidate in candidates:
            for key in _keys(candidate):
                search.candidates.setdefault(key, candidate)


@dataclass
class _LabelSearch:
    """Definitions of a label that were tried, for all rows of the label."""

    label: Label
    rows: Sequence[Published]
    conventions: Conventions
    models: Mapping[str, LoadedInputs]
    candidates: dict[_Key, Candidate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        models = [self.models[row.model] for row in self.rows]
        numbers = [[row.number] for row in self.rows]
        self.search = DefinitionSearch([self.label], self.conventions, models, numbers)

    @property
    def agrees(self) -> bool:
        """True if the given conventions give every row."""
        return all(each.matches for each in self.candidates[_UNCHANGED])

    @property
    def is_explained(self) -> bool:
        """True if one definition gives every row."""
        return any(all(x.matches for x in each) for each in self.candidates.values())

    @property
    def matching_keys(self) -> list[_Key]:
        """Presets and changes that give a row."""
        return [key for key, each in self.candidates.items() if any(x.matches for x in each)]

    def count_matches(self, key: _Key) -> int:
        """Return the number of rows that a preset, or changes of any label, give."""
        preset, changes = key
        if preset:
            candidate = self.candidates.get(key) or self.candidates.get((preset, _NO_CHANGES), ())
            return sum(each.matches for each in candidate)
        label_conventions = self.label.conventions(self.conventions)
        effective = {
            name: value
            for name, value in json.loads(changes).items()
            if self.label.name in affected_metrics(name)
            and getattr(label_conventions, name) != value
        }
        candidate = self.candidates.get((preset, json.dumps(effective, sort_keys=True)), ())
        return sum(each.matches for each in candidate)

    def published_mean(self, row: Published, counts: Mapping[_Key, int]) -> PublishedMean:
        """Return a row with the definitions that give it."""
        index = self.rows.index(row)
        distinct = {id(each): each for each in self.candidates.values()}.values()
        matching = sorted(
            (each for each in distinct if each[index].matches),
            key=lambda each: (
                -max(counts.get(key, 0) for key in _keys(each)),
                sort_key(each[index], [row.number]),
            ),
        )
        given = self.candidates[_UNCHANGED][index]
        return PublishedMean(
            model=row.model,
            label=str(row.label),
            value=row.text,
            published=row.number.value,
            mean=given.mean,
            n_units=given.n_units[str(row.label)],
            n_truth=self.models[row.model].n_units,
            agrees=given.matches,
            is_cut=given.is_cut,
            definitions=tuple(each[index] for each in matching[:MAX_DEFINITIONS]),
        )
