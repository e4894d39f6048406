"""Reference for the split methods, in plain Python over lists of rows."""

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
    """Return the sort key of an item: the shorter id first, then by its characters."""
    text = str(item).encode()
    return len(text), text


def sort_rows(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row[0], row[2], tie(row[1])))


def is_selected(user: Id, item: Id, share: float, seed: int) -> bool:
    number = int(hashlib.sha256(f"{seed}:{user}:{item}".encode()).hexdigest()[:13], 16)
    return number < Fraction(str(share)) * 16**13


def deduplicate(rows: Iterable[Row], repeats: str) -> tuple[list[Row], Counter[str]]:
    """Return unique rows with the best grade, and counts of excluded rows.

    `first` keeps only a user's first row with each item.
    """
    best: dict[tuple[Id, Id, float], float] = {}
    excluded: Counter[str] = Counter()
    for user, item, time, grade in rows:
        excluded["duplicate"] += (user, item, time) in best
        best[user, item, time] = max(grade, best.get((user, item, time), grade))
    unique = [(*key, grade) for key, grade in best.items()]
    if repeats == "first":
        unique, n_repeats = first_rows(unique)
        excluded["repeat"] += n_repeats
    return unique, excluded


def first_rows(rows: Iterable[Row]) -> tuple[list[Row], int]:
    """Return the first row of each user and item, and the number of other rows."""
    first: dict[tuple[Id, Id], Row] = {}
    n_repeats = 0
    for row in sorted(rows, key=lambda row: row[2]):
        n_repeats += row[:2] in first
        first.setdefault(row[:2], row)
    return list(first.values()), n_repeats


def split(
    rows: Iterable[Row], method: str, options: Mapping[str, Any], repeats: str = "keep"
) -> tuple[Sides, Counter[str]]:
    """Return the sorted rows of each side, and the counts of excluded rows by reason."""
    unique, excluded = deduplicate(rows, repeats)
    sides: Sides = {"train": [], "truth": []}
    for row, side in zip(unique, assign(unique, method, options), strict=True):
        if side == "gap":
            excluded["gap"] += 1
        else:
            sides[side].append(row)
    sides["truth"], n_repeats = first_rows(sides["truth"])
    excluded["repeat_in_truth"] += n_repeats
    return {side: sort_rows(each) for side, each in sides.items()}, excluded


def assign(rows: list[Row], method: str, options: Mapping[str, Any]) -> list[str]:
    """Return the side of each row, or `gap`."""
    if method == "global-time":
        at = options.get("at")
        if at is None:
            n_truth = ceil(Fraction(str(options["share"])) * len(rows))
            at = sorted(row[2] for row in rows)[len(rows) - n_truth]
        train_end = at - options.get("gap", 0.0)
        return ["truth" if t >= at else "train" if t < train_end else "gap" for _, _, t, _ in rows]
    if method == "random":
        share, seed = options["share"], options.get("seed", 0)
        return ["truth" if is_selected(*row[:2], share, seed) else "train" for row in rows]
    by_user: dict[Id, list[Row]] = defaultdict(list)
    for row in sort_rows(rows):
        by_user[row[0]].append(row)
    sides = []
    for row in rows:
        user_rows = by_user[row[0]]
        last = options.get("last", 1)
        if method == "user-time":
            n_truth = ceil(Fraction(str(options["share"])) * len(user_rows))
            last = min(n_truth, len(user_rows) - 1)
        is_last = len(user_rows) > last and row in user_rows[len(user_rows) - last :]
        sides.append("truth" if is_last else "train")
    return sides
