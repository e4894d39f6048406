"""Executors hand out the blocks of a model's lists: from sorted tables, or while lists are read.

Every block goes through `evaluate_block`. On one machine, all cores evaluate blocks.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from concord.metrics_core.data.list_batches import ListBatch, list_batch
from concord.metrics_core.data.tables import (
    Table,
    read_frame,
    scan,
    schema_of,
)
from concord.metrics_core.data.workers import map_in_order
from concord.metrics_core.errors import InputError, ScoringError
from concord.metrics_core.evaluation.block import (
    Block,
    SortedFile,
    SortedRows,
    sorted_by_user,
)
from concord.metrics_core.evaluation.diagnostics import listed_fingerprint
from concord.metrics_core.evaluation.evaluate_block import Part, evaluate_block
from concord.metrics_core.evaluation.failures import Failure, raise_failures
from concord.metrics_core.evaluation.join_truth import numbers_of_items
from concord.metrics_core.evaluation.model_result import EvaluationData
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.custom_metric import FAMILY

Executor = Callable[[Table, EvaluationData, Task], Generator[Part]]  # of ranked lists
BLOCK_ROWS = 1 << 20  # of recommendations


def execute_in_memory(lists: Table, data: EvaluationData, task: Task) -> Generator[Part]:
    """Evaluate tables that are read at once; an `Executor`."""
    train, users = (
        None if table is None else read_frame(table) for table in (data.train, data.users)
    )
    frames = replace(data, truth=read_frame(data.truth), train=train, users=users)
    return execute_by_ranges(read_frame(lists), frames, task)


def execute_by_ranges(
    lists: Table, data: EvaluationData, task: Task, rows_per_block: int = BLOCK_ROWS
) -> Generator[Part]:
    """Yield the values of ranges of users, in the order of users; an `Executor`.

    Tables are sorted by user. If their ids differ in type, all users are one block.
    """
    task = with_items_of(lists, data, task)
    tables = BlockTables.of(lists, data, task)
    ranges = tables.ranges(rows_per_block)
    evaluate = partial(evaluate_range, tables, task)
    return parts_of(map_in_order(evaluate, ranges, cores=_cores_for(task)))


def _cores_for(task: Task) -> int | None:
    """Return 1 for user-defined metrics, which may not be made for several threads."""
    return 1 if any(label.metric.family == FAMILY for label in task.labels) else None


def with_items_of(lists: Table, data: EvaluationData, task: Task) -> Task:
    """Return the task with the numeric columns of items, and the items, that it reads.

    Raises
    ------
    ValueError
        If side data are missing, or items of the ground truth lack numbers.
    """
    task = data.with_item_columns(task)
    if task.item_columns is not None:
        items = scan(data.truth).select(pl.col("item").cast(pl.String).unique()).collect()["item"]
        numbers_of_items(items, task.item_columns, task.conventions.propensity)
    return data.with_items(task, lists) if task.needs_items else task


@dataclass(frozen=True)
class BlockTables:
    """The tables that blocks are cut from: `lists`, `truth` and, if given, `known` and `train`."""

    tables: Mapping[str, SortedRows | SortedFile]
    is_train_whole: bool

    @classmethod
    def of(cls, lists: Table, data: EvaluationData, task: Task) -> "BlockTables":
        """Return the tables of a model that a task reads."""
        given = {
            "lists": lists,
            "truth": data.truth,
            "known": data.users,
            "train": data.train if task.needs_items else None,
        }
        read = {"known": ["user"], "train": ["user", "item"]}
        tables = {
            name: sorted_by_user(
                table, read.get(name) or [name for name in schema_of(table) if name != "time"]
            )
            for name, table in given.items()
            if table is not None
        }
        is_whole = task.conventions.unit_mean is not None  # train has users
        return cls(tables, is_whole or not _share_types(tables.values(), ["user"]))

    def ranges(self, rows: int) -> list[tuple[Any, Any]]:
        """Return the bounds of ranges of users with about so many rows, at most BLOCK_ROWS."""
        rows = min(rows, BLOCK_ROWS)
        matched = [table for name, table in self.tables.items() if name != "train"]
        starts = (
            self.tables["lists"].starts(rows) if _share_types(matched, ["user", "item"]) else []
        )
        return list(zip([None, *starts], [*starts, None], strict=True))

    def block(self, low: Any, high: Any) -> Block:
        """Return the block of a range of users."""
        bounds = {"train": (None, None)} if self.is_train_whole else {}
        return Block.from_tables(
            **{
                name: table.between(*bounds.get(name, (low, high)))
                for name, table in self.tables.items()
            }
        )


def _share_types(tables: Iterable[SortedRows | SortedFile], names: list[str]) -> bool:
    """True if each column of ids is of integers in all tables, or of text in all of them."""
    schemas = [table.schema for table in tables]
    return all(
        len({pa.types.is_integer(s.field(name).type) for s in schemas if name in s.names}) <= 1
        for name in names
    )


Result = Part | Failure


def evaluate_or_refuse(block: Block, task: Task) -> Result:
    """Return the values of a block, or why its users are not scored."""
    try:
        return evaluate_block(block, task)
    except ScoringError as error:
        return error.refusal
    except InputError as error:  # of a user-defined metric
        return error.problems


def evaluate_range(tables: BlockTables, task: Task, bounds: tuple[Any, Any]) -> Result:
    """Return the result of a range of users, with their fingerprint, which comparisons read."""
    result = evaluate_or_refuse(tables.block(*bounds), task)
    if isinstance(result, Part):
        result.lists.users = listed_fingerprint(result.values)
    return result


def parts_of(results: Iterable[Result]) -> Generator[Part]:
    """Yield the parts; raise as `raise_failures` if users of any block are not scored."""
    failures: list[Failure] = []
    for result in results:
        if isinstance(result, tuple):  # of a user-defined metric: the first users are enough
            raise_failures([result])
        elif not isinstance(result, Part):
            failures.append(result)
        elif not failures:
            yield result
    raise_failures(failures)


@dataclass
class ReadingExecutor:
    """Evaluates sorted lists while they are read, without keeping them.

    Attributes
    ----------
    task : Task
        What is evaluated.
    truth : SortedRows
        user, item, grade.
    users : SortedRows or None
        The evaluated users; None for those of the ground truth.
    results : list of Part or Failure
        One for each block.
    ids : DataFrame
        The distinct users of the lists, then the distinct items.
    """

    task: Task
    truth: SortedRows
    users: SortedRows | None
    results: list[Result] = field(default_factory=list)
    ids: pl.DataFrame = field(default_factory=pl.DataFrame)

    def keep(self, schema: pa.Schema, rows: Iterable[ListBatch]) -> None:
        """Evaluate the lists of each batch, and the users of the ground truth between them."""
        self.results, users = [], []
        items = pc.unique(pa.chunked_array([], schema.field("item").type))
        blocks = self._cut(schema, rows)
        for lists, result in map_in_order(self._evaluate, blocks, cores=_cores_for(self.task)):
            self.results.append(result)
            users.append(lists.users)
            items = pc.unique(pa.chunked_array([items, lists.items.dictionary]))
        columns = (
            pl.DataFrame({"user": pa.chunked_array(users, schema.field("user").type)}),
            pl.DataFrame({"item": items}),
        )
        self.ids = pl.concat(columns, how="diagonal")

    def execute(self, _lists: Table, data: EvaluationData, task: Task) -> Generator[Part]:
        """Yield the values that were computed while the lists were read; an `Executor`."""
        data.with_item_columns(task)  # raises if a metric reads columns that are not there
        return parts_of(self.results)

    def _cut(self, schema: pa.Schema, rows: Iterable[ListBatch]) -> Iterator[tuple[Any, ...]]:
        """Yield the lists, truth and users of each block: all users up to the next block."""
        tables = [self.truth, *([] if self.users is None else [self.users])]
        no_lists = list_batch(pa.Table.from_batches([], schema))
        if not _share_types([*tables, SortedRows(no_lists.table)], ["user", "item"]):
            every = pa.concat_tables([no_lists.table, *(lists.table for lists in rows)])
            yield list_batch(every), *(table.table for table in tables)
            return
        starts, lists = [0] * len(tables), None
        try:
            for following in rows:
                if lists is not None:
                    first = following.users[0].as_py()
                    ends = [int(table.users.search_sorted(first, side="left")) for table in tables]
                    yield lists, *_slices(tables, starts, ends)
                    starts = ends
                lists = following
        finally:  # after an error, too, the threads that check rows end
            if isinstance(rows, Generator):
                rows.close()
        yield lists or no_lists, *_slices(tables, starts, [len(table.table) for table in tables])

    def _evaluate(self, tables: tuple[Any, ...]) -> tuple[ListBatch, Result]:
        lists, *others = tables
        return lists, evaluate_or_refuse(Block.from_tables(lists, *others), self.task)


def _slices(tables: list[SortedRows], starts: list[int], ends: list[int]) -> Iterator[pa.Table]:
    for table, start, end in zip(tables, starts, ends, strict=True):
        yield table.table.slice(start, end - start)
