"""Blocks of whole users that workers score, and why users of some are not scored."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace

import numpy as np
import pyarrow as pa

from concord.metrics_core.data.relations import connect
from concord.metrics_core.data.tables import share_id_types
from concord.metrics_core.errors import (
    AffectedRows,
    InputError,
    Problem,
    Refusal,
    ScoringError,
    merge_refusals,
)
from concord.metrics_core.evaluation.partition import Part, Task, evaluate_partition
from concord.metrics_core.metrics.ranked_lists import Items

Failure = Refusal | tuple[Problem, ...]  # of the conventions, or of a user-defined metric
_ROW_MARK = re.compile("\x02([0-9]+)\x03")
_NO_ITEMS = Items(0, 0, np.empty(0, np.int64), np.empty(0, bool), None)


def score_block(
    tables: Mapping[str, pa.Table], task: Task, numbers: pa.Table | None
) -> Part | Failure:
    """Return the values of a block, or why it is not scored; exposures have no items.

    Parameters
    ----------
    tables : Mapping[str, Table]
        `lists`, `truth`, and optionally `known` (by default the users of the truth) and `train`.
    task : Task
        What is computed.
    numbers : Table or None
        item, item_number of all items, for metrics beyond accuracy.
    """
    train = pa.table({"user": pa.array([], pa.string()), "item": pa.array([], pa.string())})
    block = {"known": tables["truth"].select(["user"]), "train": train, **tables}
    with closing(connect(config={"threads": 1})) as connection:
        for name, table in block.items():
            connection.register("train" if name == "train" else f"block_{name}", table)
        share_id_types(connection, {name: f"block_{name}" for name in ("lists", "truth", "known")})
        if numbers is not None:
            connection.register("item_numbers", numbers)
        try:
            part = evaluate_partition(connection, task)
        except ScoringError as error:
            return error.refusal
        except InputError as error:
            return error.problems
    return _with_items(part, _NO_ITEMS)


def restore_items(part: Part, task: Task) -> Part:
    """Return the part of a worker with the items in its exposures."""
    return part if task.items is None else _with_items(part, task.items)


def _with_items(part: Part, items: Items) -> Part:
    exposures = {label: replace(each, items=items) for label, each in part.exposures.items()}
    return replace(part, exposures=exposures)


def raise_failures(failures: Iterable[Failure]) -> None:
    """Raise an error if users of any block were not scored.

    Raises
    ------
    InputError
        If a user-defined metric fails.
    ScoringError
        If the conventions refuse users.
    """
    every = list(failures)
    if problems := [each for failure in every if isinstance(failure, tuple) for each in failure]:
        raise InputError(merge_problems(problems))
    if refusals := [each for each in every if isinstance(each, Refusal)]:
        raise ScoringError(merge_refusals(refusals))


def merge_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems of a table, merged from those of its blocks."""
    every = list(problems)
    affecting = [(each.affected, each) for each in every if each.affected is not None]
    unread = [(a.first, each) for a, each in affecting if a.rule == (-1,)]
    if unread:  # the rest of the table was not checked
        return [each for _, each in sorted(unread, key=lambda row: row[0])]
    of_rule: dict[tuple[int, ...], list[tuple[AffectedRows, Problem]]] = {}
    for affected, each in affecting:
        of_rule.setdefault(affected.rule, []).append((affected, each))
    summed = [_merge_affected(of_rule[rule]) for rule in sorted(of_rule)]
    return [*summed, *dict.fromkeys(each for each in every if each.affected is None)]


def _merge_affected(affected_problems: list[tuple[AffectedRows, Problem]]) -> Problem:
    affected, problem = min(affected_problems, key=lambda row: row[0].first)
    rows, users = (
        None if number is None else sum(getattr(each, name) for each, _ in affected_problems)
        for name, number in (("rows", affected.rows), ("users", affected.users))
    )
    whole = replace(affected, rows=rows, users=users)
    return replace(problem, message=whole.message_with_counts, affected=whole)


def row_mark(origin: int) -> str:
    """Return the name of a row inside a bucket; names sort as the rows do."""
    return f"\x02{origin:019d}\x03"


def with_row_names(problem: Problem, words: Callable[[int], str]) -> Problem:
    """Return the problem with the names of its rows for the user."""
    location = _ROW_MARK.sub(lambda match: words(int(match[1])), problem.where)
    return replace(problem, location=location)
