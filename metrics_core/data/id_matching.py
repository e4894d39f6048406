"""Match the ids of recommendations with ground truth and catalogue, before anything is computed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl
from duckdb import DuckDBPyConnection

from concord.metrics_core.data.relations import only_row
from concord.metrics_core.data.units import session_sql, user_sql
from concord.metrics_core.errors import (
    InputError,
    Problem,
    SettingNames,
    format_count,
    raise_problems,
    refuse,
)

_IDS = """
CREATE OR REPLACE TEMP TABLE {id}s_matched AS
SELECT id, bool_or(listed) AS listed, bool_or(known) AS known
FROM (SELECT {id} AS id, TRUE AS listed, FALSE AS known FROM lists WHERE {id} IS NOT NULL
      UNION ALL
      SELECT {id} AS id, FALSE AS listed, TRUE AS known FROM truth)
GROUP BY id
"""
_COUNTS = "SELECT count(*) FILTER (listed), count(*) FILTER (listed AND known) FROM {id}s_matched"
# Ids that are missing on the other side and occur there in another spelling.
_ALIKE = """
WITH unmatched AS (SELECT CAST(id AS VARCHAR) AS id, listed FROM {id}s_matched WHERE listed <> known)
SELECT count(DISTINCT lists.id), min((lists.id, truth.id))
FROM unmatched AS lists JOIN unmatched AS truth ON {lists} = {truth} WHERE lists.listed AND NOT truth.listed
"""
_FORM = (
    r"regexp_replace(nfc_normalize({x}), '^(-?[0-9]+)[.]0$', '\1')"  # a table of floats leaves `.0`
)
_WRITTEN = "ltrim(lower({x}), '0')"
_UNKNOWN = """
SELECT count(*), count(DISTINCT user), count(DISTINCT item), min((user, item))
FROM lists ANTI JOIN (SELECT CAST(item AS VARCHAR) AS item FROM items) AS items
ON CAST(lists.item AS VARCHAR) = items.item WHERE lists.item IS NOT NULL
"""


# Where no two users share what comes after the user in the id of a request, it tells requests apart alone.
_OF_OTHERS = """
WITH listed AS (SELECT DISTINCT {owner} AS owner, {rest} AS rest FROM lists WHERE user IS NOT NULL),
     known AS (SELECT DISTINCT {owner} AS owner, {rest} AS rest FROM truth)
SELECT count(*), min((rest, listed.owner, known.owner)) FROM listed JOIN known USING (rest)
WHERE listed.owner <> known.owner AND (SELECT count(*) = count(DISTINCT rest) FROM listed)
      AND (SELECT count(*) = count(DISTINCT rest) FROM known)
"""


@dataclass(frozen=True)
class IdMatchContext:
    """Names of the tables whose ids are matched, for messages.

    lists         : the lists; `columns`: our names -> theirs
    items         : the catalogue; None: there is none
    unknown_items : the policy for items that the catalogue lacks
    """

    lists: str
    columns: Mapping[str, str]
    items: str | None
    unknown_items: str
    settings: SettingNames

    def where(self, column: str) -> str:
        """Return the location of a problem of a column."""
        return f"{self.lists}: column {self.columns.get(column, column)!r}"


class IdSource(Protocol):
    """Queries about the ids of recommendations and ground truth."""

    def kind(self, column: str) -> str:
        """Return DuckDB's name of the type of the ids of a column."""

    def counted(self, column: str) -> tuple[int, int]:
        """Return the number of recommended ids, and how many of them occur in the ground truth."""

    def lowest(self, column: str) -> tuple[Any, Any]:
        """Return the first recommended id, and the first of the ground truth."""

    def alike(self, column: str, spelling: str) -> tuple[int, Any]:
        """Return how many ids occur in the ground truth only in another spelling (SQL of `{x}`), and an example pair."""

    def unknown(self) -> tuple[Any, ...]:
        """Return rows, users, items and the first (user, item) of items that are missing in the catalogue."""


@dataclass(frozen=True)
class DuckDBIds:
    """Ids in the views `lists`, `truth` and `items`."""

    connection: DuckDBPyConnection

    def kind(self, column: str) -> str:
        """See `IdSource`."""
        (kind,) = self.connection.sql(f"SELECT {column} FROM lists").types
        return str(kind)

    def counted(self, column: str) -> tuple[int, int]:
        """See `IdSource`."""
        self.connection.execute(_IDS.format(id=column))
        listed, known = only_row(self.connection, _COUNTS.format(id=column))
        return listed, known

    def lowest(self, column: str) -> tuple[Any, Any]:
        """See `IdSource`."""
        lowest = "min(id) FILTER (listed), min(id) FILTER (known)"
        listed, known = only_row(self.connection, f"SELECT {lowest} FROM {column}s_matched")
        return listed, known

    def alike(self, column: str, spelling: str) -> tuple[int, Any]:
        """See `IdSource`."""
        lists, truth = (spelling.format(x=f"{side}.id") for side in ("lists", "truth"))
        query = _ALIKE.format(id=column, lists=lists, truth=truth)
        count, example = only_row(self.connection, query)
        return count, example

    def unknown(self) -> tuple[Any, ...]:
        """See `IdSource`."""
        return only_row(self.connection, _UNKNOWN)


@dataclass(frozen=True)
class FrameIds(DuckDBIds):
    """Ids in frames, without a catalogue: a statement of DuckDB takes longer than polars for few rows."""

    lists: pl.DataFrame
    truth: pl.DataFrame

    def kind(self, column: str) -> str:
        """See `IdSource`."""
        types = (self.lists.schema[column], self.truth.schema[column])
        return "VARCHAR" if pl.String in types else "BIGINT"

    def counted(self, column: str) -> tuple[int, int]:
        """See `IdSource`."""
        listed, known = self._distinct(column)
        return len(listed), int(listed.is_in(known.implode()).sum())

    def lowest(self, column: str) -> tuple[Any, Any]:
        """See `IdSource`."""
        listed, known = self._distinct(column)
        return listed.min(), known.min()

    def alike(self, column: str, spelling: str) -> tuple[int, Any]:
        """See `IdSource`."""
        listed, known = (ids.to_frame("id") for ids in self._distinct(column))
        unmatched = (
            listed.join(known, on="id", how="anti").with_columns(listed=True, known=False),
            known.join(listed, on="id", how="anti").with_columns(listed=False, known=True),
        )
        self.connection.register(f"{column}s_matched", pl.concat(unmatched).to_arrow())
        return super().alike(column, spelling)

    def _distinct(self, column: str) -> tuple[pl.Series, pl.Series]:
        """Return the ids of the lists and of the ground truth, as text if their types differ."""
        listed, known = self.lists[column].drop_nulls().unique(), self.truth[column].unique()
        if listed.dtype == known.dtype:
            return listed, known
        return listed.cast(pl.String), known.cast(pl.String)


def match_ids(
    connection: DuckDBPyConnection, met: IdMatchContext, *, of_requests: bool = False
) -> dict[str, Any]:
    """Return `match_id_sets` of the views `lists`, `truth` and `items`.

    Raises
    ------
    InputError
        As `match_id_sets`; or, if ids are those of requests, a request has another user in the ground truth.
    """
    if of_requests:
        query = _OF_OTHERS.format(owner=user_sql("user"), rest=session_sql("user"))
        count, first = only_row(connection, query)
        if count:
            rest, here, there = first
            what = f"{format_count(count, 'request')}, such as {rest!r}, belongs to user {here!r} here and to user {there!r} in the ground truth"  # fmt: skip
            raise refuse(met.where("user"), what, "name the same user in both, or correct the ids of requests")  # fmt: skip
    return match_id_sets(DuckDBIds(connection), met)


def match_id_sets(ids: IdSource, met: IdMatchContext) -> dict[str, Any]:
    """Return how many ids the recommendations have in common with the ground truth.

    users, items  : -> `listed`, `known` to the truth, `alike`: known to it in another case or with other leading zeros
    unknown_items : rows of items that the catalogue lacks; None without a catalogue

    Raises
    ------
    InputError : no user of the lists stands in the truth; ids that differ by their Unicode form alone; items that the
        catalogue lacks, where the policy is `error`
    """
    met_ids = {column: ids.counted(column) for column in ("user", "item")}
    strange = [column for column, (listed, known) in met_ids.items() if listed > known]
    texts = [column for column in strange if ids.kind(column) == "VARCHAR"]
    problems = [
        problem
        for column in strange
        for problem in _column_problems(ids, met, column, *met_ids[column], is_text=column in texts)
    ]
    unknown = None if met.items is None else ids.unknown()
    if unknown and unknown[0] and met.unknown_items == "error":
        problems.append(_not_in_catalogue(met, unknown))
    raise_problems(problems)
    found: dict[str, Any] = {
        f"{column}s": {
            "listed": listed,
            "known": known,
            # An integer has one spelling.
            "alike": int(ids.alike(column, _WRITTEN)[0]) if column in texts else 0,
        }
        for column, (listed, known) in met_ids.items()
    }
    return found | {"unknown_items": None if unknown is None else int(unknown[0])}


def unknown_users_error() -> InputError:
    """Return the error for requested users none of whom occurs in the data."""
    what = "none of them occurs in the recommendations or the ground truth"
    return refuse("users", what, "name users of the data, as they are written there")


def _column_problems(
    ids: IdSource, met: IdMatchContext, column: str, listed: int, known: int, *, is_text: bool
) -> Iterator[Problem]:
    number, twins = ids.alike(column, _FORM) if is_text else (0, None)
    if twins:
        here, there = twins
        if here.removesuffix(".0") == there.removesuffix(".0"):
            form, fix = (
                "without `.0`",
                "write ids the same way in both, as whole numbers or as other text",
            )
        else:
            form, fix = "in one Unicode form", "normalise all ids the same way (NFC)"
        what = f"{format_count(number, 'id')} would match the ground truth {form}: {here!a} here, {there!a} there"
        yield Problem(met.where(column), what, fix)
    elif column == "user":
        here, there = ids.lowest(column)
        if listed and not known and there is not None:
            what = f"no user id occurs in the ground truth: {here!r} here, {there!r} there"
            yield Problem(met.where(column), what, "write user ids the same way in both")


def _not_in_catalogue(met: IdMatchContext, found: tuple[Any, ...]) -> Problem:
    rows, users, items, (user, item) = found
    what = (
        f"{format_count(items, 'item')} in {format_count(rows, 'row')} of {format_count(users, 'user')} not in "
        f"{met.items}, such as {item!r} (user {user!r})"
    )
    setting = met.settings.input("unknown_items", "keep")
    fix = f"add them to the catalogue, leave them out of the lists, or set {setting}"
    return Problem(met.where("item"), what, fix)
