"""The tables of a comparison: shape, hash, and how each was read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.data.hashes import hash_frame
from concord.metrics_core.data.tables import Table, read_frame, scan, schema_of
from concord.metrics_core.evaluation.model_result import results_by_list

_READING = ("format", "where", "words", "named_users", "reading")  # keys of a description


@dataclass(frozen=True)
class DescribedInput:
    """A table of a comparison.

    Attributes
    ----------
    role : str
        What the table holds: lists, values (of another tool), truth, train, items or users.
    name : str
        Name of the lists or the model, or fold of the ground truth; empty for other tables.
    path : str
        Path of the file, or name of the table in memory.
    rows : int
        Number of rows.
    columns : tuple of str
        Columns after reading.
    sha256 : str
        SHA-256 of the file, or `hash_frame` of the table after reading.
    hash_of : {"file", "columns"}
        What is hashed.
    reading : dict
        How the table is read, from its description.
    """

    role: str
    name: str
    path: str
    rows: int
    columns: tuple[str, ...]
    sha256: str
    hash_of: Literal["file", "columns"]
    reading: Mapping[str, Any]


def describe_inputs(
    inputs: ComparisonInput, *, hashes_files: bool = True
) -> tuple[DescribedInput, ...]:
    """Return the tables of a comparison: lists or values, ground truth, side data.

    A file has the hash of its bytes, and a table in memory or in an object store that of its
    columns after reading.

    Parameters
    ----------
    hashes_files : bool, default=True
        False to hash the columns of tables in files, too.

    Returns
    -------
    tuple of DescribedInput
        In the order of lists, folds and side data.
    """
    return tuple(
        _describe(*table, is_file=hashes_files and table[-1].get("sha256") is not None)
        for table in _tables(inputs)
    )


def _tables(inputs: ComparisonInput) -> Iterator[tuple[str, str, Table, Mapping[str, Any]]]:
    """Yield role, name, rows and description of each table."""
    data, has_lists = inputs.data, bool(inputs.data.truth_quality)
    of_values = [str(label) for label in inputs.config.labels if label.metric.is_of_values]
    for name, result in results_by_list(inputs.models).items():
        table = result.lists if has_lists else result.values
        yield "lists" if has_lists else "values", name, table, result.quality
        if has_lists and of_values:  # the values next to the lists, of evaluated users
            yield "values", name, scan(result.values).select("user", *of_values).collect(), {}
    named = {"named_users": True} if data.named_users is not None else {}  # without an item
    for fold, quality in data.truth_qualities.items() if has_lists else ():
        yield "truth", fold, data.folds.get(fold, data.truth), {**quality, **named}
    for role, quality in data.side_qualities.items():
        yield role, "", getattr(data, role), quality


def _describe(
    role: str, name: str, table: Table, quality: Mapping[str, Any], *, is_file: bool
) -> DescribedInput:
    return DescribedInput(
        role,
        name,
        path=quality.get("path", name),
        rows=quality["rows"] if is_file else read_frame(table).height,
        columns=tuple(schema_of(table)),
        sha256=quality["sha256"] if is_file else hash_frame(read_frame(table)),
        hash_of="file" if is_file else "columns",
        reading={key: quality[key] for key in _READING if key in quality},
    )
