"""Find the inputs of a decision in a folder, and evaluate them again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from concord.metrics_core.comparison.arguments import ListArguments
from concord.metrics_core.comparison.call import evaluate_arguments
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.described_inputs import DescribedInput
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.options import Options
from concord.metrics_core.comparison.user_values import value_inputs
from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.value_files import USER, read_value_file
from concord.metrics_core.decision.read_decision import StoredDecision
from concord.metrics_core.errors import argument_names
from concord.metrics_core.files import SIDE_TABLES

_OF_VALUES: Any = {"required": [USER], "optional": [], "columns": {}, "unit": {}, "order": None}


def find_table(
    described: DescribedInput, folder: Path | None
) -> tuple[InputTable | None, str | None]:
    """Return the table of an input, to be read as it was, and SHA-256 if a file is hashed.

    Both are None if the folder does not have the table, or if one file cannot hold it: with
    additional judgements, or with users of a dict who have no item.
    """
    reading: Mapping[str, Any] = described.reading.get("reading", _OF_VALUES)
    is_file, path = described.hash_of == "file", Path(described.path)
    inside = [part for part in path.parts if part not in ("..", path.anchor)]
    names = ["/".join(inside), inside[-1]]
    names = names if is_file else [f"{described.name or described.role}.parquet"]
    existing = [folder / name for name in names if folder and (folder / name).exists()]
    if not existing or "additional" in reading or "named_users" in described.reading:
        return None, None
    table = InputTable(
        str(existing[0]),
        described.reading["format"] if is_file else "parquet",
        tuple(reading["required"]),
        tuple(reading["optional"]),
        reading["columns"],
        argument_names(described.role),
        unit=reading["unit"],
        order=reading["order"],
        where=described.reading.get("where", {}),
        is_hashed=is_file,
        shared=frozenset(reading.get("shared", ())),
    )
    return table, hash_content(table.path).of_rows(table.where).sha256 if is_file else None


def evaluate_again(
    decision: StoredDecision, tables: Sequence[tuple[DescribedInput, InputTable]]
) -> ComparisonInput:
    """Return the inputs of the comparison, with values that are computed from the tables.

    Raises
    ------
    InputError
        A table is not valid.
    """
    config = decision.config
    if not decision.comparison.has_lists:
        return value_inputs(config, {x.name: _read_values(config, table) for x, table in tables})
    lists, truths = (
        {each.name: table for each, table in tables if each.role == role}
        for role in ("lists", "truth")
    )
    side_data = {each.role: table for each, table in tables if each.role in SIDE_TABLES}
    readings = {each.role: each.reading for each, _ in tables}
    options = Options(
        input=readings["lists"]["reading"]["input"], words=readings["truth"].get("words")
    )
    arguments = ListArguments(lists=lists, truths=truths, tables=side_data, options=options)
    return evaluate_arguments(config, arguments, values={})


def _read_values(config: ComparisonConfig, table: InputTable) -> pl.DataFrame:
    """Return the values of another tool in a file."""
    bounds = {str(label): label.metric.range for label in config.labels}
    with in_memory() as connection:
        return read_value_file(connection, table, bounds)[0]
