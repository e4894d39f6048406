"""Shared by the scripts of all libraries; standard library only, because it runs in the library's environment.

    python with_ranx.py cases.json values.json

A script calls `run(measure)`; `measure(case)` yields one `Value` per preset and label, or a `Refusal` where the
library cannot take the case or raises.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Id = str | int


@dataclass(frozen=True)
class Case:
    """Recommendations and ground truth.

    lists      : user -> [(item, score)], best first
    truth      : user -> {item: grade}
    train      : user -> [item], and categories, item -> [category]; None except in the case `beyond`
    Ids are text, or integers in the cases that say so.
    """

    name: str
    lists: Mapping[Id, list[tuple[Id, float]]]
    truth: Mapping[Id, Mapping[Id, float]]
    ks: list[int]
    train: Mapping[str, list[str]] | None = None
    categories: Mapping[str, list[str]] | None = None

    def items_of(self, user: Id) -> list[Id]:
        """Return the recommended items of a user; empty for a user without a list."""
        return [item for item, _ in self.lists.get(user, [])]

    def relevant(self) -> dict[Id, list[Id]]:
        """Return the items of grade 1 or more of each user of the ground truth."""
        return {u: [i for i, g in grades.items() if g >= 1] for u, grades in self.truth.items()}

    def item_numbers(self) -> dict[Id, int]:
        """Return consecutive numbers for all items, in the order of their ids."""
        listed = {item for user in self.lists for item in self.items_of(user)}
        return {item: n for n, item in enumerate(sorted(listed.union(*self.truth.values())))}

    def with_ids(self, kind: Callable[[Id], Id]) -> "Case":
        """Return the case with ids of another type, such as `str` for a library that takes only text."""
        lists = {kind(u): [(kind(i), score) for i, score in rows] for u, rows in self.lists.items()}
        truth = {kind(u): {kind(i): g for i, g in held.items()} for u, held in self.truth.items()}
        return replace(self, lists=lists, truth=truth)


@dataclass(frozen=True)
class Value:
    """A library's value. `users`: only those that it evaluates; None if it gives no values per user."""

    preset: str
    label: str
    users: Mapping[Any, float] | None
    mean: float | None


@dataclass(frozen=True)
class Refusal:
    """The library raises, or cannot take such data; `reason` in one sentence."""

    preset: str
    label: str
    reason: str


def label(name: str, k: int | None) -> str:
    """Return `nDCG@10`, or `nDCG` without a cutoff."""
    return name if k is None else f"{name}@{k}"


def score_matrix(case: Case, users: Iterable[Id]) -> list[list[float]]:
    """Return one row of scores per user over all items, -inf for those that are not in the list.

    As many items as the largest cutoff follow, which nobody likes and which score 0: a short list ends in misses.
    """
    column = case.item_numbers()
    rows = [[-math.inf] * len(column) + [0.0] * max(case.ks) for _ in users]
    for row, user in zip(rows, users, strict=True):
        for item, score in case.lists[user]:
            row[column[item]] = score
    return rows


def matrix_problem(case: Case, users: Iterable[Id]) -> str:
    """Return why `score_matrix` cannot express the lists, or an empty text."""
    lists = [case.items_of(user) for user in users]
    if not all(lists):
        return "Every user has a row of scores; a user without a list cannot be expressed."
    if any(len(set(items)) < len(items) for items in lists):
        return "An item has one column of scores; a list with duplicates cannot be expressed."
    return ""


def run(measure: Callable[[Any], Iterable[Value | Refusal]], read: Any = None) -> None:
    """Measure each case of the file named first and write the file named second.

    read: what makes the argument of `measure` from a dict; a `Case` by default
    """
    source, target = map(Path, sys.argv[1:3])
    rows = []
    for case in json.loads(source.read_text()):
        for value in measure((read or _read_case)(case)):
            head = [value.preset, case["name"], value.label]
            if isinstance(value, Refusal):
                rows.append([*head, None, None, value.reason])
                continue
            users = value.users
            plain = None if users is None else {str(user): _plain(users[user]) for user in users}
            mean = None if value.mean is None else _plain(value.mean)
            rows.append([*head, plain, mean, None])
    target.write_text(json.dumps(rows))


def _read_case(case: dict[str, Any]) -> Case:
    kind = int if case.get("integers") else str
    fields = {name: value for name, value in case.items() if name != "integers"}
    return Case(**fields).with_ids(kind)


def _plain(value: float) -> float | str:
    return "nan" if math.isnan(value) else float(value)
