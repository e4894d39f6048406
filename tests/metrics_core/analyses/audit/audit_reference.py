"""Reference for the checks of an audit, in plain Python."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

Row = tuple[int, int, int]  # user, item, time


class Counts(NamedTuple):
    rows: int
    users: set[int]
    items: set[int]


def _count(rows: Sequence[tuple[int, int]]) -> Counts:
    return Counts(len(rows), {user for user, _ in rows}, {item for _, item in rows})


def checks(
    train: Sequence[Row], truth: Sequence[Row], lists: Mapping[int, Sequence[int]], k: int
) -> dict[str, Counts]:
    """Return the counts of each check; a pair of train counts once."""
    pairs: dict[tuple[int, int], list[int]] = {}
    for user, item, time in train:
        pairs.setdefault((user, item), []).append(time)
    last = {pair: max(times) for pair, times in pairs.items()}
    began = {u: min(t for v, _, t in truth if v == u) for u, _, _ in truth}
    ended = {u: max(t for v, _, t in truth if v == u) for u, _, _ in truth}
    users, items = {u for u, _, _ in train}, {i for _, i, _ in train}
    user_first = {u: min(t for v, _, t in train if v == u) for u in users}
    item_first = {i: min(t for _, j, t in train if j == i) for i in items}
    later = [pair for pair, time in last.items() if time > min(began.values())]
    return {
        "truth_before_train": _count(
            [(u, i) for (u, i), time in last.items() if u in began and time > began[u]]
        ),
        "train_after_truth": _count(later)._replace(
            users={u for u, time in began.items() if time < max(last.values())}
        ),
        "items_born_after": _count(
            [(u, i) for u, i, t in truth if i in items and t < item_first[i]]
        ),
        "users_born_after": _count(
            [(u, i) for u, i, t in truth if u in users and t < user_first[u]]
        ),
        "truth_in_train": _count([(u, i) for u, i, _ in truth if (u, i) in pairs]),
        "cold_users": _count([(u, i) for u, i, _ in truth if u not in users]),
        "cold_items": _count([(u, i) for u, i, _ in truth if i not in items]),
        "future_items": _count(
            [
                (u, i)
                for u, listed in lists.items()
                for i in listed[:k]
                if u in ended and i in items and item_first[i] > ended[u]
            ]
        ),
    }


def divergence(train: Sequence[Row], truth: Sequence[Row]) -> float:
    """Return the Jensen-Shannon divergence of the items' shares, in bits."""
    train_counts = Counter(item for _, item in {(user, item) for user, item, _ in train})
    truth_counts = Counter(item for _, item, _ in truth)
    total = 0.0
    for item in {*train_counts, *truth_counts}:
        p = train_counts[item] / train_counts.total()
        q = truth_counts[item] / truth_counts.total()
        m = (p + q) / 2
        total += sum(share * math.log2(share / m) / 2 for share in (p, q) if share)
    return total


def similar_pairs(
    members: Mapping[int, set[int]], min_size: int, min_jaccard: float
) -> set[tuple[int, int]]:
    """Return the pairs of sets with a high Jaccard similarity by comparing all pairs."""
    large = {key: items for key, items in members.items() if len(items) >= min_size}
    return {
        (a, b)
        for a, b in combinations(sorted(large), 2)
        if len(large[a] & large[b]) / len(large[a] | large[b]) >= min_jaccard
    }
