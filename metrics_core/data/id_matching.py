"""Match the ids of recommendations with those of ground truth and catalogue."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.units import session_sql, user_sql
from concord.metrics_core.errors import (
    InputError,
    Problem,
    format_count,
    raise_problems,
    refuse,
)

_MATCHED_IDS = """
CREATE OR REPLACE TEMP TABLE {id}s_matched AS
SELECT id, bool_or(listed) AS listed, bool_or(known) AS known
FROM (SELECT {id} AS id, TRUE AS listed, FALSE AS known FROM lists WHERE {id} IS NOT NULL
      UNION ALL
      SELECT {id} AS id, FALSE AS listed, TRUE AS known FROM truth)
GROUP BY id
"""
_COUNTS = "SELECT count(*) FILTER (listed), count(*) FILTER (listed AND known) FROM {id}s_matched"
# Ids without a match that have one in another spelling.
_SIMILAR = """
WITH unmatched AS (
    SELECT CAST(id AS VARCHAR) AS id, listed FROM {id}s_matched WHERE listed <> known)
SELECT count(DISTINCT lists.id), min((lists.id, truth.id))
FROM unmatched AS lists JOIN unmatched AS truth ON {lists} = {truth}
WHERE lists.listed AND NOT truth.listed
"""
# Normal forms: text that a table of floats wrote with `.0`; ids in another case or zero-padded.
_UNICODE_FORM = r"regexp_replace(nfc_normalize({x}), '^(-?[0-9]+)[.]0$', '\1')"
_PADDING = "-1"  # fills short lists in other tools
_LOOSE_FORM = "ltrim(lower({x}), '0')"
_UNKNOWN_ITEMS = """
SELECT count(*), count(DISTINCT user), count(DISTINCT item), min((user, item))
FROM lists ANTI JOIN (SELECT CAST(item AS VARCHAR) AS item FROM items) AS items
ON CAST(lists.item AS VARCHAR) = items.item WHERE lists.item IS NOT NULL
"""
# Sessions with different users, if session ids are unique without the user in both tables.
_OTHER_USERS = """
WITH listed AS (
        SELECT DISTINCT {owner} AS owner, {session} AS session FROM lists WHERE user IS NOT NULL),
     known AS (SELECT DISTINCT {owner} AS owner, {session} AS session FROM truth)
SELECT count(*), min((session, listed.owner, known.owner)) FROM listed JOIN known USING (session)
WHERE listed.owner <> known.owner
      AND (SELECT count(*) = count(DISTINCT session) FROM listed)
      AND (SELECT count(*) = count(DISTINCT session) FROM known)
"""


@dataclass(frozen=True)
class IdMatchContext:
    """Names of the tables whose ids are matched, for messages.

    Attributes
    ----------
    lists : InputTable
        The table of recommendations.
    items : str, optional
        Name of the catalogue; None if there is none.
    unknown_items : {"error", "keep"}
        Policy for items that are missing from the catalogue.
    """

    lists: InputTable
    items: str | None
    unknown_items: str


class IdSource(Protocol):
    """Queries about the ids of recommendations and ground truth."""

    def is_text(self, column: str) -> bool:
        """Return True if the ids of a column are text."""

    def count(self, column: str) -> tuple[int, int]:
        """Return the number of recommended ids, and how many of them occur in the ground truth."""

    def first_ids(self, column: str) -> tuple[Any, Any]:
        """Return the first recommended id, and the first of the ground truth."""

    def similar_ids(self, column: str, form: str) -> tuple[int, Any]:
        """Return how many ids match only in a normal form (SQL of `{x}`), and an example pair."""

    def unknown_items(self) -> tuple[Any, ...]:
        """Return rows, users, items and first (user, item) of items not in the catalogue."""


@dataclass(frozen=True)
class DuckDBIds:
    """Ids in the views `lists`, `truth` and `items`."""

    connection: DuckDBPyConnection

    def is_text(self, column: str) -> bool:
        """See `IdSource`."""
        (kind,) = self.connection.sql(f"SELECT {column} FROM lists").types
        return str(kind) == "VARCHAR"

    def count(self, column: str) -> tuple[int, int]:
        """See `IdSource`."""
        self.connection.execute(_MATCHED_IDS.format(id=column))
        listed, known = only_row(self.connection, _COUNTS.format(id=column))
        return listed, known

    def first_ids(self, column: str) -> tuple[Any, Any]:
        """See `IdSource`."""
        first = "min(id) FILTER (listed), min(id) FILTER (known)"
        listed, known = only_row(self.connection, f"SELECT {first} FROM {column}s_matched")
        return listed, known

    def similar_ids(self, column: str, form: str) -> tuple[int, Any]:
        """See `IdSource`."""
        lists, truth = (form.format(x=f"{side}.id") for side in ("lists", "truth"))
        query = _SIMILAR.format(id=column, lists=lists, truth=truth)
        count, example = only_row(self.connection, query)
        return count, example

    def unknown_items(self) -> tuple[Any, ...]:
        """See `IdSource`."""
        return only_row(self.connection, _UNKNOWN_ITEMS)


@dataclass(frozen=True)
class FrameIds(DuckDBIds):
    """Ids in frames, without a catalogue; for few rows polars is faster than DuckDB."""

    lists: pl.DataFrame
    truth: pl.DataFrame

    def is_text(self, column: str) -> bool:
        """See `IdSource`."""
        return pl.String in (self.lists.schema[column], self.truth.schema[column])

    def count(self, column: str) -> tuple[int, int]:
        """See `IdSource`."""
        listed, known = self._distinct(column)
        return len(listed), int(listed.is_in(known.implode()).sum())

    def first_ids(self, column: str) -> tuple[Any, Any]:
        """See `IdSource`."""
        listed, known = self._distinct(column)
        return listed.min(), known.min()

    def similar_ids(self, column: str, form: str) -> tuple[int, Any]:
        """See `IdSource`."""
        listed, known = (ids.to_frame("id") for ids in self._distinct(column))
        unmatched = (
            listed.join(known, on="id", how="anti").with_columns(listed=True, known=False),
            known.join(listed, on="id", how="anti").with_columns(listed=False, known=True),
        )
        self.connection.register(f"{column}s_matched", pl.concat(unmatched).to_arrow())
        return super().similar_ids(column, form)

    def _distinct(self, column: str) -> tuple[pl.Series, pl.Series]:
        """Return the ids of the lists and of the ground truth, as text if their types differ."""
        listed, known = self.lists[column].drop_nulls().unique(), self.truth[column].unique()
        if listed.dtype == known.dtype:
            return listed, known
        return listed.cast(pl.String), known.cast(pl.String)


def match_ids(
    connection: DuckDBPyConnection, context: IdMatchContext, *, of_requests: bool = False
) -> dict[str, Any]:
    """Return `match_id_sets` of the views `lists`, `truth` and `items`.

    Raises
    ------
    InputError
        As `match_id_sets`; for ids of sessions also if a session has different users in the
        recommendations and the ground truth.
    """
    if of_requests:
        query = _OTHER_USERS.format(owner=user_sql("user"), session=session_sql("user"))
        count, first = only_row(connection, query)
        if count:
            session, list_user, truth_user = first
            message = (
                f"{format_count(count, 'request')}, such as {session!r}, belongs to user "
                f"{list_user!r} here and to user {truth_user!r} in the ground truth"
            )
            fix = "name the same user in both, or correct the ids of requests"
            raise refuse(context.lists.location("user"), message, fix)
    return match_id_sets(DuckDBIds(connection), context)


def match_id_sets(ids: IdSource, context: IdMatchContext) -> dict[str, Any]:
    """Return how many ids the recommendations have in common with the ground truth.

    Returns
    -------
    dict
        `users` and `items`: numbers of recommended ids (`listed`), of those in the ground truth
        (`known`), and of those in it only in another case or with other leading zeros (`alike`);
        if no item is known, one of the lists and one of the ground truth (`example`);
        the id -1 if the lists alone have negative numbers (`padding`).
        `unknown_items`: number of rows with items not in the catalogue; None without a catalogue.

    Raises
    ------
    InputError
        If no user occurs in the ground truth, if ids differ only by their Unicode form or `.0`, or
        if items are missing from the catalogue and the policy is `error`.
    """
    counts = {column: ids.count(column) for column in ("user", "item")}
    unmatched = [column for column, (listed, known) in counts.items() if listed > known]
    # Integers have only one spelling.
    has_spellings = [column for column in unmatched if ids.is_text(column)]
    problems = []
    for column in unmatched:
        if column in has_spellings and (problem := _spelling_problem(ids, context, column)):
            problems.append(problem)
        elif column == "user" and not counts["user"][1]:
            problems += _no_common_user_problems(ids, context)
    unknown = None if context.items is None else ids.unknown_items()
    if unknown and unknown[0] and context.unknown_items == "error":
        problems.append(_unknown_items_problem(context, unknown))
    raise_problems(problems)
    match: dict[str, Any] = {
        f"{column}s": {
            "listed": listed,
            "known": known,
            "alike": int(ids.similar_ids(column, _LOOSE_FORM)[0]) if column in has_spellings else 0,
        }
        for column, (listed, known) in counts.items()
    }
    first_listed, first_known = ids.first_ids("item") if "item" in unmatched else (None, None)
    if counts["item"][0] and not (counts["item"][1] or match["items"]["alike"]):
        match["items"]["example"] = [first_listed, first_known]
    if str(first_listed) == _PADDING and not str(first_known).startswith("-"):
        match["items"]["padding"] = first_listed
    return match | {"unknown_items": None if unknown is None else int(unknown[0])}


def unknown_users_error() -> InputError:
    """Return the error for requested users none of whom occurs in the data."""
    message = "none of them occurs in the recommendations or the ground truth"
    return refuse("users to evaluate", message, "name users of the data, with the same spelling")


def _spelling_problem(ids: IdSource, context: IdMatchContext, column: str) -> Problem | None:
    count, pair = ids.similar_ids(column, _UNICODE_FORM)
    if not pair:
        return None
    listed, known = pair
    if listed.removesuffix(".0") == known.removesuffix(".0"):
        form = "without `.0`"
        fix = "write ids the same way in both, as integers or as other text"
    else:
        form, fix = "in one Unicode form", "normalise all ids the same way (NFC)"
    message = (
        f"{format_count(count, 'id')} would match the ground truth {form}: "
        f"{listed!a} here, {known!a} there"
    )
    return Problem(context.lists.location(column), message, fix)


def _no_common_user_problems(ids: IdSource, context: IdMatchContext) -> Iterator[Problem]:
    listed, known = ids.first_ids("user")
    if known is not None:
        message = f"no user id occurs in the ground truth: {listed!r} here, {known!r} there"
        yield Problem(
            context.lists.location("user"), message, "write user ids the same way in both"
        )


def _unknown_items_problem(context: IdMatchContext, unknown: tuple[Any, ...]) -> Problem:
    rows, users, items, (user, item) = unknown
    message = (
        f"{format_count(items, 'item')} in {format_count(rows, 'row')} of "
        f"{format_count(users, 'user')} not in {context.items}, such as {item!r} (user {user!r})"
    )
    setting = context.lists.settings.name("input", "unknown_items", value="keep")
    fix = f"add them to the catalogue, leave them out of the lists, or set {setting}"
    return Problem(context.lists.location("item"), message, fix)
