"""The tables of a comparison: shape, hash, and how each was read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.data.hashes import hash_frame
from concord.metrics_core.data.tables import Table, read_frame, schema_of
from concord.metrics_core.evaluation.model_result import results_by_list

Role = Literal["lists", "values", "truth", "train", "items", "users"]


@dataclass(frozen=True)
class DescribedInput:
    """A table of a comparison.

    Attributes
    ----------
    role : {"lists", "values", "truth", "train", "items", "users"}
        What the table holds; `values` are those of another tool.
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
    quality : dict
        The parts of the description that tell how the table is read.
    """

    role: Role
    name: str
    path: str
    rows: int
    columns: tuple[str, ...]
    sha256: str
    hash_of: Literal["file", "columns"]
    quality: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Name of the table in texts."""
        return self.name if self.role in ("lists", "values") else f"{self.role} {self.name}".strip()


def describe_inputs(inputs: ComparisonInput) -> tuple[DescribedInput, ...]:
    """Return the tables of a comparison: lists or values, ground truth, side data.

    A file has the hash of its bytes, and a table in memory or in an object store that of its
    columns after reading.

    Returns
    -------
    tuple of DescribedInput
        In the order of lists, folds and side data.
    """
    return tuple(_described(inputs))


def _described(inputs: ComparisonInput) -> Iterator[DescribedInput]:
    data, has_lists = inputs.data, bool(inputs.data.truth_quality)
    for name, result in results_by_list(inputs.models).items():
        role: Role = "lists" if has_lists else "values"
        table = result.lists if has_lists else result.values
        yield _describe(role, name, table, result.quality)
    for fold, quality in data.truth_qualities.items() if has_lists else ():
        yield _describe("truth", fold, data.folds.get(fold, data.truth), quality)
    tables: Mapping[Role, Table | None] = {
        "train": data.train,
        "items": data.items,
        "users": data.users,
    }
    for role, table in tables.items():
        if table is not None:
            yield _describe(role, "", table, data.side_qualities[role])


def _describe(role: Role, name: str, table: Table, quality: Mapping[str, Any]) -> DescribedInput:
    sha256 = quality.get("sha256")
    frame = None if sha256 else read_frame(table)
    names = ("format", "where", "unit", "words", "reading")
    return DescribedInput(
        role,
        name,
        quality.get("path", name),
        quality["rows"] if frame is None else frame.height,
        tuple(schema_of(table)),
        sha256 or hash_frame(frame),
        "file" if sha256 else "columns",
        {name: quality[name] for name in names if name in quality},
    )
