"""What `mlflow.models.evaluate` hands to the evaluator, checked: settings, and the lists and truth of a frame."""

import difflib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.presets import conventions_of
from concord.metrics_core.errors import AT_MOST, InputError, Problem, refuse

Cells = dict[Hashable, Any]
_CONFIG = "evaluator_config"
_KNOWN = ("metrics", "preset", "conventions", "user", "per_user", "report")
DEFAULT_METRICS = ("nDCG@10", "AP@10", "RR@10", "P@10", "R@10", "Hit@10")


@dataclass(frozen=True)
class Asked:
    """The settings of `evaluator_config`.

    user     : the column with users' ids; None: users are known by their row, from 1
    per_user : are users' values an artifact?
    report   : is there a page?
    """

    metrics: list[str]
    conventions: Conventions
    user: str | None = None
    per_user: bool = False
    report: bool = True


def asked_for(config: Mapping[str, Any]) -> Asked:
    """The settings, checked.

    Raises
    ------
    InputError      : a setting that is unknown or has not its shape
    ConventionError : a preset or a convention that is unknown
    """
    for name in config:
        if name not in _KNOWN:
            near = difflib.get_close_matches(str(name), _KNOWN, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"choose {', '.join(_KNOWN)}"
            raise refuse(f"{_CONFIG}: {name!r}", "is no setting of Concord's", meant)
    for name in ("per_user", "report"):
        if not isinstance(config.get(name, False), bool):
            raise refuse(f"{_CONFIG}: {name!r}", f"is {config[name]!r}", "write True or False")
    knobs = config.get("conventions", {})
    if not isinstance(knobs, Mapping):
        fix = "write a dict of the knobs that differ from the preset, such as {'gain': 'exp2'}"
        raise refuse(f"{_CONFIG}: 'conventions'", f"is {knobs!r}", fix)
    user = config.get("user")
    if not (user is None or isinstance(user, str)):
        raise refuse(f"{_CONFIG}: 'user'", f"is {user!r}", "write the name of one column")
    return Asked(
        metrics=config.get("metrics", list(DEFAULT_METRICS)),
        conventions=_conventions(config.get("preset", "standard"), knobs),
        user=user,
        per_user=config.get("per_user", False),
        report=config.get("report", True),
    )


def _conventions(preset: Any, knobs: Mapping[str, Any]) -> Conventions:
    where = f"{_CONFIG}: 'conventions'"
    if "preset" in knobs:
        fix = f"write `'preset': {knobs['preset']!r}` beside `conventions`"
        raise refuse(where, "names a preset, and holds nothing but knobs", fix)
    if isinstance(preset, Conventions):
        if knobs:
            fix = "leave `conventions` out, or name the preset"
            raise refuse(where, "is given beside whole conventions", fix)
        return preset
    return conventions_of({"preset": preset, **knobs})


def lists_and_truth(dataset: Any, user: str | None) -> tuple[Cells, Cells]:
    """Lists and truth of each user, as `concord.evaluate` takes them.

    Raises
    ------
    InputError : a column is not named, a cell holds no list, or a user stands in two rows
    """
    if dataset.predictions_data is None:
        raise refuse("predictions", "is not given", "name the column with the lists")
    if dataset.labels_data is None:
        raise refuse("targets", "is not given", "name the column with the relevant items")
    users = _users(dataset, user)
    recs = _cells(dataset.predictions_data, dataset.predictions_name, users, grades=False)
    truth = _cells(dataset.labels_data, dataset.targets_name, users, grades=True)
    return recs, _alike(truth, dataset.targets_name)


def _users(dataset: Any, column: str | None) -> list[Hashable]:
    """The ids of the rows."""
    rows = dataset.features_data
    if column is None:
        return list(range(1, len(rows) + 1))
    if column not in rows.columns:
        where = f"{_CONFIG}: 'user'"
        others = ", ".join(map(str, rows.columns)) or "no column beside lists and truth"
        raise refuse(where, f"is {column!r}, but the frame has {others}", "name one of these")
    users = [_plain(value) for value in rows[column]]
    for row, value in enumerate(users, 1):
        if not isinstance(value, str | int):
            where = f"data: column {column!r}, row {row}"
            raise refuse(where, f"{value!r} is no id of a user", "write a text or an integer")
    seen: dict[Hashable, int] = {}
    for row, value in enumerate(users, 1):
        if value in seen:
            where = f"data: column {column!r}, row {row}"
            what = f"user {value!r} stands in row {seen[value]} too"
            raise refuse(where, what, "give every user one row, which holds the whole list")
        seen[value] = row
    return users


def _cells(column: Any, name: str, users: list[Hashable], *, grades: bool) -> Cells:
    """User -> list of items, or, with `grades`, dict of item and grade."""
    found: Cells = {}
    problems = []
    filled = len({frozenset(cell) for cell in column if isinstance(cell, Mapping)}) == 1
    for row, (user, cell) in enumerate(zip(users, column, strict=True), 1):
        held = _held(cell, grades=grades, filled=filled)
        if held is None:
            shown = repr(cell)[:60]
            what = f"holds {shown} ({type(cell).__name__}), which is no list of items"
            kinds = "a list, or a dict of item and grade" if grades else "a list, best item first"
            fix = f"write {kinds}; an empty one for a user with nothing"
            problems.append(Problem(f"data: column {name!r}, row {row}", what, fix))
            if len(problems) == AT_MOST:
                break
        found[user] = held
    if problems:
        raise InputError(problems)
    return found


def _held(cell: Any, *, grades: bool, filled: bool) -> Any:
    """None where it is neither list nor dict.

    filled : do all dicts have the same items? Frames that hold records fill in those of other users with None.
    """
    if grades and isinstance(cell, Mapping):
        return {item: _plain(grade) for item, grade in cell.items() if not (filled and grade is None)}  # fmt: skip
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return [_plain(item) for item in cell]
    return None


def _alike(truth: Cells, name: str) -> Cells:
    """All lists, or all dicts; an empty one is either."""
    kinds = {type(held) for held in truth.values() if len(held)}
    if len(kinds) > 1:
        fix = "write a dict of item and grade in every row, or a list in every row"
        raise refuse(f"data: column {name!r}", "holds lists in some rows, dicts in others", fix)
    empty = next(iter(kinds), list)
    return {user: held if len(held) else empty() for user, held in truth.items()}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
