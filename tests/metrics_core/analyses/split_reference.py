"""Each way to split once more, in plain Python over lists of rows, from the sentences of the documentation."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any

Id = int | str
Row = tuple[Id, Id, float, float]  # user, item, time, grade
Sides = dict[str, list[Row]]


def tie(item: Id) -> tuple[int, bytes]:
    """The shorter id first, then by its characters."""
    text = str(item).encode()
    return len(text), text


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row[0], row[2], tie(row[1])))


def is_chosen(id_: Id, share: float, seed: int) -> bool:
    number = int(hashlib.sha256(f"{seed}:{id_}".encode()).hexdigest()[:13], 16)
    return number < Fraction(str(share)) * 16**13


def once(rows: Iterable[Row], repeats: str) -> tuple[list[Row], Counter[str]]:
    """Rows without those that say the same, the best grade kept; with `first` a user's first time of each item."""
    best: dict[tuple[Id, Id, float], float] = {}
    excluded: Counter[str] = Counter()
    for user, item, time, grade in rows:
        excluded["duplicate"] += (user, item, time) in best
        best[user, item, time] = max(grade, best.get((user, item, time), grade))
    rows_left = [(*key, grade) for key, grade in best.items()]
    if repeats == "first":
        rows_left, repeated = first_times(rows_left)
        excluded["repeat"] += repeated
    return rows_left, excluded


def first_times(rows: Iterable[Row]) -> tuple[list[Row], int]:
    visited: dict[tuple[Id, Id], Row] = {}
    again = 0
    for row in sorted(rows, key=lambda row: row[2]):
        again += row[:2] in visited
        visited.setdefault(row[:2], row)
    return list(visited.values()), again


def divided(
    rows: Iterable[Row], how: str, inputs: Mapping[str, Any], repeats: str = "keep"
) -> tuple[Sides, Counter[str]]:
    """Sides, each in order, and why the other rows stand on none."""
    rows_left, excluded = once(rows, repeats)
    names = ("train", "truth", "history") if how == "users" else ("train", "truth")
    sides: Sides = {name: [] for name in names}
    for row, side in zip(rows_left, sides_of(rows_left, how, inputs), strict=True):
        if side == "gap":
            excluded["gap"] += 1
        else:
            sides[side].append(row)
    sides["truth"], again = first_times(sides["truth"])
    excluded["repeat_in_truth"] += again
    return {side: in_order(each) for side, each in sides.items()}, excluded


def sides_of(rows: list[Row], how: str, inputs: Mapping[str, Any]) -> list[str]:
    if how == "global-time":
        at = inputs.get("at")
        if at is None:
            most = ceil(Fraction(str(inputs["share"])) * len(rows))
            at = sorted(row[2] for row in rows)[len(rows) - most]
        before = at - inputs.get("gap", 0.0)
        return ["truth" if t >= at else "train" if t < before else "gap" for _, _, t, _ in rows]
    if how == "cold-items":
        cold = cold_items(rows, **inputs)
        return ["truth" if row[1] in cold else "train" for row in rows]
    of_user: dict[Id, list[Row]] = defaultdict(list)
    for row in in_order(rows):
        of_user[row[0]].append(row)
    last = inputs.get("last", 1)
    results = []
    for row in rows:
        user_rows = of_user[row[0]]
        is_last = len(user_rows) > last and row in user_rows[-last:]
        is_test_user = how == "users" and is_chosen(row[0], inputs["share"], inputs.get("seed", 0))
        if how == "users" and not is_test_user:
            results.append("train")
        else:
            results.append("truth" if is_last else "history" if is_test_user else "train")
    return results


def cold_items(rows: list[Row], share: float, newest: bool = False, seed: int = 0) -> set[Id]:
    items = {row[1] for row in rows}
    if not newest:
        return {item for item in items if is_chosen(item, share, seed)}
    born = {item: min(row[2] for row in rows if row[1] == item) for item in items}
    newest_first = sorted(items, key=lambda item: (born[item], tie(item)), reverse=True)
    return set(newest_first[: ceil(Fraction(str(share)) * len(items))])
