"""The checks of an audit once more, in plain Python: loops over rows, everything with everything."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

Row = tuple[int, int, int]  # user, item, time


class Counted(NamedTuple):
    rows: int
    users: set[int]
    items: set[int]


def _counted(rows: Sequence[tuple[int, int]]) -> Counted:
    return Counted(len(rows), {user for user, _ in rows}, {item for _, item in rows})


def checks(
    train: Sequence[Row], truth: Sequence[Row], lists: Mapping[int, Sequence[int]], k: int
) -> dict[str, Counted]:
    """Check -> what it counts; a pair of train counts once, from its first to its last time."""
    pairs: dict[tuple[int, int], list[int]] = {}
    for user, item, time in train:
        pairs.setdefault((user, item), []).append(time)
    last = {pair: max(times) for pair, times in pairs.items()}
    began = {u: min(t for v, _, t in truth if v == u) for u, _, _ in truth}
    ended = {u: max(t for v, _, t in truth if v == u) for u, _, _ in truth}
    users, items = {u for u, _, _ in train}, {i for _, i, _ in train}
    user_born = {u: min(t for v, _, t in train if v == u) for u in users}
    item_born = {i: min(t for _, j, t in train if j == i) for i in items}
    later = [pair for pair, time in last.items() if time > min(began.values())]
    return {
        "truth_before_train": _counted(
            [(u, i) for (u, i), time in last.items() if u in began and time > began[u]]
        ),
        "train_after_truth": _counted(later)._replace(
            users={u for u, time in began.items() if time < max(last.values())}
        ),
        "items_born_after": _counted(
            [(u, i) for u, i, t in truth if i in items and t < item_born[i]]
        ),
        "users_born_after": _counted(
            [(u, i) for u, i, t in truth if u in users and t < user_born[u]]
        ),
        "truth_in_train": _counted([(u, i) for u, i, _ in truth if (u, i) in pairs]),
        "cold_users": _counted([(u, i) for u, i, _ in truth if u not in users]),
        "cold_items": _counted([(u, i) for u, i, _ in truth if i not in items]),
        "future_items": _counted(
            [
                (u, i)
                for u, listed in lists.items()
                for i in listed[:k]
                if u in ended and i in items and item_born[i] > ended[u]
            ]
        ),
    }


def divergence(train: Sequence[Row], truth: Sequence[Row]) -> float:
    """Jensen-Shannon divergence of the items' shares, in bits."""
    of_train = Counter(item for _, item in {(user, item) for user, item, _ in train})
    of_truth = Counter(item for _, item, _ in truth)
    total = 0.0
    for item in {*of_train, *of_truth}:
        p = of_train[item] / of_train.total()
        q = of_truth[item] / of_truth.total()
        m = (p + q) / 2
        total += sum(share * math.log2(share / m) / 2 for share in (p, q) if share)
    return total


def similar_pairs(
    members: Mapping[int, set[int]], fewest: int, share: float
) -> set[tuple[int, int]]:
    """Pairs of sets whose Jaccard share is high enough: every pair is looked at."""
    large = {one: items for one, items in members.items() if len(items) >= fewest}
    return {
        (a, b)
        for a, b in combinations(sorted(large), 2)
        if len(large[a] & large[b]) / len(large[a] | large[b]) >= share
    }
