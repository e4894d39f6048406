"""Behaviour checks: conditions of the owner that the lists of each model must meet."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from concord.metrics_core.comparison.behaviour_rules import Check, Conditions
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.top_lists import choose_users, shared_items, top_lists
from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.data.tables import Table, read_frame, schema_of
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.errors import Problem, SettingNames, raise_problems
from concord.metrics_core.results.behaviour import BehaviourCheck, BehaviourExample
from concord.metrics_core.stats.floating_point import difference, differences, exact_mean

MAX_EXAMPLES = 5
_MAX_KNOWN = 12  # values of a column, in a message


def evaluate_checks(inputs: ComparisonInput) -> list[BehaviourCheck]:
    """Return the result of each check on each model that it is about, in the order declared.

    Raises
    ------
    InputError
        A condition names a column or a value that its table lacks, so that it could never fail.
    """
    config, data = inputs.config, inputs.data
    tables = {"items": data.items, "users": data.users}
    raise_problems(condition_problems(config.checks, tables, config.settings))
    results = []
    for name, check in config.checks.items():
        k = check.k or max(config.ks, default=None)
        items, users = _select(data.items, check.items), _select(data.users, check.users)
        tops = top_lists(inputs.models, k)
        for model, top in tops.items():
            new_check = partial(BehaviourCheck, name, check.kind, model, k)
            if check.kind == "never":
                about = top if users is None else top.filter(_is_of(users, config))
                results.append(_never(new_check, about, items))
            elif model != check.reference:
                results.append(_overlap(new_check, check, top, tops[check.reference]))
    return results


def _is_of(users: pl.Series, config: ComparisonConfig) -> pl.Expr:
    """Return True where the user, or that of the request, is one of these."""
    user = pl.col("user").cast(pl.String)
    if config.of_requests:
        user = user.map_batches(users_of_units, return_dtype=pl.String)
    return user.is_in(users.implode())


def _never(
    new_check: Callable[..., BehaviourCheck], top: pl.LazyFrame, items: pl.Series | None
) -> BehaviourCheck:
    assert items is not None, "refused before"
    ids = pl.col("user", "item").cast(pl.String)
    places = top.with_columns(ids).filter(pl.col("item").is_in(items.implode())).collect()
    places = places.sort("user", "position").select("user", "item", "position")
    return new_check(
        passed=places.is_empty(),
        n_users=top.select(pl.col("user").n_unique()).collect().item(),
        n_failed=places["user"].n_unique(),
        n_places=len(places),
        examples=tuple(BehaviourExample(*row) for row in places.head(MAX_EXAMPLES).rows()),
    )


def _overlap(
    new_check: Callable[..., BehaviourCheck], check: Check, top: pl.LazyFrame, other: pl.LazyFrame
) -> BehaviourCheck:
    is_chosen = choose_users(other)
    users, lists = shared_items(*(each.filter(is_chosen).collect() for each in (top, other)))
    kept = np.bincount(lists.user, minlength=len(users)) / lists.length_b
    share = exact_mean(kept) if len(kept) else None
    n_failed = int((differences(kept, np.full(len(kept), check.at_least)) < 0).sum())
    worst = np.argsort(kept, kind="stable")[: min(MAX_EXAMPLES, n_failed)].tolist()
    return new_check(
        passed=share is not None and difference(share, check.at_least) >= 0,
        n_users=len(users),
        n_failed=n_failed,
        reference=check.reference,
        at_least=check.at_least,
        share=share,
        examples=tuple(BehaviourExample(users[n], share=float(kept[n])) for n in worst),
    )


def condition_problems(
    checks: Mapping[str, Check], tables: Mapping[str, Table | None], settings: SettingNames
) -> Iterator[Problem]:
    """Yield conditions on a column or a value that no row of the table has."""
    conditions = (
        (settings.location("checks", name, "never", table, column), table, data, column, values)
        for name, check in checks.items()
        for table, data in tables.items()
        if data is not None
        for column, values in getattr(check, table).items()
    )
    for location, table, data, column, values in conditions:
        if column not in schema_of(data):
            fix = suggest(column, schema_of(data))
            if table == "items":
                fix += f"; if the file has it, name it: `columns: {{group: {column}}}`"
            yield Problem(location, f"{table} have no column {column!r}", fix)
            continue
        cells = _cells(data, column)["cell"].drop_nulls().unique().sort()
        for value in values:
            if not cells.is_in(_spellings(value)).any():
                problem = f"no row of {table} has the value {format_value(value)}"
                fix = suggest(str(value), cells.head(_MAX_KNOWN))
                yield Problem(location, f"{problem}, so the check could never fail", fix)


def _select(table: Table | None, columns: Conditions) -> pl.Series | None:
    """Return the ids of the rows that meet all conditions; None without conditions."""
    ids: pl.Series | None = None
    for column, values in columns.items():
        assert table is not None, "refused before"
        cells = _cells(table, column)
        found = cells.filter(pl.col("cell").is_in([x for v in values for x in _spellings(v)]))["id"]
        ids = found if ids is None else ids.filter(ids.is_in(found.implode()))
    return ids


def _cells(table: Table, column: str) -> pl.DataFrame:
    """Return id and cell as text; one row for each element of a list."""
    frame = read_frame(table)
    cells = frame[column].rename("cell")
    rows = pl.DataFrame([frame.to_series().cast(pl.String).rename("id"), cells])
    rows = rows.explode("cell") if cells.dtype == pl.List else rows
    return rows.with_columns(pl.col("cell").cast(pl.String))


def _spellings(value: Any) -> list[str]:
    """Return a value as columns of text, numbers and truth values write it."""
    texts = [str(value)]
    if isinstance(value, bool):
        return [*texts, texts[0].lower(), texts[0].upper()]
    return texts if isinstance(value, str) else [f"{value:g}", *texts, str(float(value))]
