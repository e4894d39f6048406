"""Do the ids of a model's lists mean the same as those of truth and catalogue? Told before any number is made."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from metrics_core.problems import InputError, Problem
from metrics_core.row_checks import in_words, only_row
from pipeline.id_views import views_of
from pipeline.params import Params

_KNOWN = """
SELECT count(*), count(known.id) FROM (SELECT DISTINCT {id} AS id FROM lists WHERE {id} IS NOT NULL) AS listed
LEFT JOIN (SELECT DISTINCT {id} AS id FROM truth) AS known USING (id)
"""
# Ids that the other side lacks as they are, and has in another spelling.
_ALIKE = """
WITH listed AS (SELECT DISTINCT CAST({id} AS VARCHAR) AS id FROM lists WHERE {id} IS NOT NULL),
     known AS (SELECT DISTINCT CAST({id} AS VARCHAR) AS id FROM truth)
SELECT count(DISTINCT strange.id), min((strange.id, lonely.id))
FROM (FROM listed ANTI JOIN known USING (id)) AS strange
JOIN (FROM known ANTI JOIN listed USING (id)) AS lonely ON {here} = {there}
"""
_FORM = "nfc_normalize({x})"
_WRITTEN = "ltrim(lower({x}), '0')"
_UNKNOWN = """
SELECT count(*), count(DISTINCT user), count(DISTINCT item), min((user, item))
FROM lists ANTI JOIN items USING (item) WHERE item IS NOT NULL
"""


def refuse_misfit(params: Params, model: str) -> dict[str, Any]:
    """What a model's ids have in common with the truth.

    users, items  : -> `listed`, `known` to the truth, `alike`: known to it in another case or with other leading zeros
    unknown_items : rows of items that the catalogue lacks; null without a catalogue

    Raises
    ------
    InputError : no user of the lists stands in the truth; ids that differ by their Unicode form alone; items that the
        catalogue lacks, where `input.unknown_items` is `error`
    """
    data = Path(params.results.data)
    lists = Path(params.results.lists) / f"{model}.parquet"
    files = {"lists": lists, "truth": data / "truth.parquet"}
    if "items" in params.background:
        files["items"] = data / "items.parquet"
    path, columns = params.models[model].path, params.models[model].columns
    with views_of(files) as connection:
        found = {f"{column}s": _fit(connection, column) for column in ("user", "item")}
        problems = [
            problem
            for column in ("user", "item")
            for problem in _column_problems(
                connection,
                f"{path}: column {columns.get(column, column)!r}",
                column,
                found[f"{column}s"],
            )
        ]
        unknown = only_row(connection, _UNKNOWN) if "items" in files else None
    if unknown and unknown[0] and params.input.unknown_items == "error":
        where = f"{path}: column {columns.get('item', 'item')!r}"
        problems.append(_not_in_catalogue(params, where, unknown))
    if problems:
        raise InputError(problems)
    return found | {"unknown_items": unknown and unknown[0]}


def _fit(connection: DuckDBPyConnection, column: str) -> dict[str, int]:
    listed, known = only_row(connection, _KNOWN.format(id=column))
    return {"listed": listed, "known": known, "alike": _alike(connection, column, _WRITTEN)[0]}


def _alike(connection: DuckDBPyConnection, column: str, spelling: str) -> tuple[int, Any]:
    """How many ids the truth has in another spelling alone, and one of them with its twin."""
    here, there = (spelling.format(x=f"{side}.id") for side in ("strange", "lonely"))
    count, example = only_row(connection, _ALIKE.format(id=column, here=here, there=there))
    return count, example


def _column_problems(
    connection: DuckDBPyConnection, where: str, column: str, fit: dict[str, int]
) -> Iterator[Problem]:
    number, twins = _alike(connection, column, _FORM)
    if number:
        here, there = twins
        what = f"{in_words(number, 'id')} would match the truth in one Unicode form: {here!a} here, {there!a} there"
        yield Problem(where, what, "normalise the ids of all files alike (NFC) where they are made")
    elif column == "user" and fit["listed"] and not fit["known"]:
        here, there = only_row(
            connection, "SELECT (SELECT min(user) FROM lists), (SELECT min(user) FROM truth)"
        )
        what = f"no user of the lists stands in the truth: {here!r} here, {there!r} there"
        yield Problem(where, what, "write the ids of users alike in both files")


def _not_in_catalogue(params: Params, where: str, found: tuple[Any, ...]) -> Problem:
    rows, users, items, (user, item) = found
    what = (
        f"{in_words(items, 'item')} in {in_words(rows, 'row')} of {in_words(users, 'user')} not in "
        f"{params.background['items'].path}, such as {item!r} (user {user!r})"
    )
    fix = (
        "add them to the catalogue, leave them out of the lists, or set `input.unknown_items: keep`"
    )
    return Problem(where, what, fix)
