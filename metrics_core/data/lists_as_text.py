"""Refuse lists that are no lists: several items in one text, or in numbered columns."""

import re
from collections.abc import Mapping
from typing import Any

from concord.metrics_core.data.column_names import guess_columns
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.errors import refuse

_LITERAL = re.compile(r"\s*\[.*[,'\"].*\]\s*", re.DOTALL)  # as `to_csv` writes a list, or JSON
_IDS = re.compile(r"\s*\S*\d\S*(\s+\S*\d\S*)+\s*")  # each with a digit, unlike words of a title
_NUMBERED = re.compile(r".*\D\d+")


def refuse_lists_as_text(
    file: InputTable, row: Mapping[str, Any], columns: Mapping[str, str] | None
) -> None:
    """Raise an InputError if the first row of a table holds several items, but not as a list.

    Ids between blanks may be one id, if columns are missing neither for items nor for their order.

    Parameters
    ----------
    row : mapping of str to Any
        Column -> value; None if it is not known.
    columns : mapping of str to str, optional
        Our name -> column, of those that are read; None if one is missing.
    """
    forms = {".map(ast.literal_eval)": _LITERAL}
    needs_order = "score" in file.optional and file.order is None
    if columns is None or (needs_order and not {"rank", "score"} & {*columns}):
        forms[".str.split()"] = _IDS
    item = (columns or {}).get("item", file.original_name("item"))
    has_lists = any(isinstance(value, list) for value in row.values())
    has_item = columns is not None or item in row or has_lists
    for name in [item] if has_item else row:
        for convert, form in forms.items():
            if isinstance(row.get(name), str) and form.fullmatch(row[name]):
                message = f"column {name!r} holds lists as text: {row[name][:60]!r}"
                raise refuse(file.name, message, _fix(f"frame[{name!r}]{convert}"))
    by_stem: dict[str, list[str]] = {}
    for name in filter(_NUMBERED.fullmatch, () if has_item else row):
        by_stem.setdefault(name.rstrip("0123456789"), []).append(name)
    numbered = next((names for names in by_stem.values() if len(names) > 1), None)
    if numbered and "item" not in guess_columns(row):
        message = f"has a column for each item of a list: {', '.join(numbered)}"
        raise refuse(file.name, message, _fix(f"frame[{numbered}].values.tolist()"))


def _fix(lists: str) -> str:
    return f"write one row per item; or `frame['items'] = {lists}`, and JSON lines or parquet"
