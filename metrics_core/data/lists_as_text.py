"""Reject several items in one text or in numbered columns, which are not lists."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from concord.metrics_core.data.column_names import guess_columns
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.errors import refuse

_VALUE = r"(-?[0-9.]+|'[^']*'|\"[^\"]*\")"
_ARRAY = re.compile(rf"\[\s*{_VALUE}(\s+{_VALUE})+\s*\]")  # as NumPy prints one
_IDS = re.compile(r"\S*\d\S*(\s+\S*\d\S*)+")  # each with a digit, unlike words of a title
_SEPARATED = re.compile(r"[^\s,|;]+([,|;])[^\s,|;]+(\1[^\s,|;]+)+")
_NUMBERED = re.compile(r".*\D\d+")
_ROWS = "write one row per item"


def refuse_lists_as_text(
    file: InputTable, row: Mapping[str, Any], columns: Mapping[str, str] | None
) -> None:
    """Raise an InputError if the first row of a table holds several items, but not as a list.

    A text beside a rank or score is one item. Ids between blanks may be one id, if columns are
    missing neither for items nor for their order; in ground truth ids between commas, too.

    Parameters
    ----------
    row : mapping of str to Any
        Column -> value; None if it is not known.
    columns : mapping of str to str, optional
        Our name -> column, of those that are read; None if one is missing.
    """
    has_order = bool({"rank", "score"} & {*(columns or ())})
    are_lists = columns is None or "score" in file.optional
    has_forms = {_IDS: are_lists and file.order is None, _SEPARATED: are_lists}
    forms = [form for form, is_expected in has_forms.items() if is_expected]
    item = (columns or {}).get("item", file.original_name("item"))
    has_lists = any(isinstance(value, list) for value in row.values())
    has_item = columns is not None or item in row or has_lists
    for name in [item] if has_item and not has_order else () if has_order else row:
        text = row.get(name)
        fix = _fix_of_text(name, text.strip(), forms) if isinstance(text, str) else None
        if fix is not None:
            message = f"column {name!r} holds lists as text: {str(text)[:60]!r}"
            raise refuse(file.name, message, fix)
    by_stem: dict[str, list[str]] = {}
    for name in filter(_NUMBERED.fullmatch, () if has_item else row):
        by_stem.setdefault(name.rstrip("0123456789"), []).append(name)
    numbered = next((names for names in by_stem.values() if len(names) > 1), None)
    if numbered and "item" not in guess_columns(row):
        message = f"has a column for each item of a list: {', '.join(numbered)}"
        raise refuse(file.name, message, _fix(f"frame[{numbered}].values.tolist()"))


def _fix_of_text(name: str, text: str, forms: Sequence[re.Pattern[str]]) -> str | None:
    """Return how to convert a column of such texts; None if the text is one item."""
    try:
        value = ast.literal_eval(text) if text[:1] in ("[", "{") else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = [] if text[:2] in ("[{", "{'") else None
    if _ARRAY.fullmatch(text):
        value = []  # Python would join its texts
    if isinstance(value, list) and value and all(isinstance(each, str | int) for each in value):
        return _fix(f"frame.pop({name!r}).map(ast.literal_eval)")
    if isinstance(value, list | dict):
        fix = "or parquet or JSON lines with lists, where the lists are made"
        return f"{_ROWS}, {fix}; in Python also {{user: {{item: score}}}}"
    matched = next(filter(None, (form.fullmatch(text) for form in forms)), None)
    if matched is None:
        return None
    separator = repr(matched[1]) if matched.re is _SEPARATED else ""
    fix = _fix(f"frame.pop({name!r}).str.split({separator})")
    return f"{fix}; if it is one id, add its rank"


def _fix(lists: str) -> str:
    return f"{_ROWS}; or `frame['items'] = {lists}`, and JSON lines or parquet"
