"""A file as params.yaml describes it, and what a reader makes of it."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from pipeline.checks import InputError, Problem, refuse

Kind = Literal[
    "text", "integer", "unsigned", "float", "json", "time"
]  # how a column's values are written
LINES = 1 << 32  # JSONL: position = line number * LINES + place in the list


@dataclass(frozen=True)
class InputFile:
    """One entry of params.yaml that names a file.

    key     : where it stands in params.yaml, `models.als`
    needs   : the columns that must be there; `may_have`: those that are read if they are there,
              `time` only if params.yaml maps it
    columns : ours -> theirs, where params.yaml maps them
    """

    key: str
    path: Path
    format: str
    needs: tuple[str, ...]
    may_have: tuple[str, ...]
    columns: Mapping[str, str]

    @property
    def fields(self) -> tuple[str, ...]:
        return (*self.needs, *(n for n in self.may_have if n != "time" or n in self.columns))

    def theirs(self, name: str) -> str:
        return self.columns.get(name, name)


@dataclass
class Raw:
    """Rows in the relation `raw`: position, then the columns of `kinds` under our names.

    place    : where a row stands, in words, from its position
    problems : rows that could not be read; filled while the rows are being read
    marked   : has `raw` a column `line_wrong`, which says what is wrong with a line?
    rows     : how many there are, where the file tells it before it is read
    """

    kinds: dict[str, Kind]
    place: Callable[[int], str]
    batches: pa.RecordBatchReader | None = None
    problems: list[Problem] = field(default_factory=list)
    marked: bool = False
    rows: int | None = None


def choose_columns(file: InputFile, found: Sequence[str]) -> dict[str, str]:
    """Ours -> theirs for every column to read; refuses missing columns and names that stand twice."""
    listed = ", ".join(found)
    problems = [
        Problem(
            f"{file.path}: column {name!r}",
            f"stands {times} times",
            "give each column its own name",
        )
        for name, times in Counter(found).items()
        if times > 1
    ]
    problems += [
        Problem(f"{file.path}: column {name!r}", "holds a NUL in its name", "rename the column")
        for name in found
        if "\0" in name
    ]
    asked = [name for name in file.fields if name in file.needs or name in file.columns]
    for name in asked:
        if file.theirs(name) not in found:
            fix = f"name the file's own column in params.yaml: `{file.key}.columns: {{{name}: …}}`"
            what = f"is missing; the columns are: {listed}"
            problems.append(Problem(f"{file.path}: column {file.theirs(name)!r}", what, fix))
    if problems:
        raise InputError(problems)
    return {name: file.theirs(name) for name in file.fields if file.theirs(name) in found}


def refuse_columns_mapping(file: InputFile, form: str) -> None:
    if file.columns:
        raise refuse(f"{file.key}.columns", f"{form} has no column names", "remove `columns:`")


def with_positions(
    schema: pa.Schema, batches: Iterator[pa.RecordBatch], first: int = 0
) -> pa.RecordBatchReader:
    """The batches with a column `position` that counts their rows."""
    whole = schema.append(pa.field("position", pa.int64()))

    def numbered() -> Iterator[pa.RecordBatch]:
        start = first
        for batch in batches:
            position = pa.array(np.arange(start, start + len(batch), dtype=np.int64))
            yield pa.RecordBatch.from_arrays([*batch.columns, position], schema=whole)
            start += len(batch)

    return pa.RecordBatchReader.from_batches(whole, numbered())
