"""Reference of the metrics beyond accuracy: their definitions for one user in plain Python.

Tests compare `metrics_core.metrics.beyond_accuracy` and `exposure` with this module.
They share only the names of conventions.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

Vector = Sequence[float]


@dataclass(frozen=True)
class World:
    """Train, catalogue, lists and features of a small data set."""

    n_items: int
    train: Mapping[str, list[int]]  # user: distinct items
    catalogue: set[int]
    features: Mapping[int, Vector]
    lists: Mapping[str, list[int]]  # user: items from rank 1 on
    relevant: Mapping[str, set[int]]

    def train_users(self, item: int) -> int:
        return sum(item in had for had in self.train.values())

    @property
    def n_train_users(self) -> int:
        return sum(bool(had) for had in self.train.values())

    @property
    def n_interactions(self) -> int:
        return sum(len(had) for had in self.train.values())

    def top(self, user: str, k: int | None) -> list[int]:
        return self.lists[user][:k]

    def history(self, user: str) -> list[int]:
        return self.train.get(user, [])


def user_coverage(world: World, user: str, k: int | None, *, user_coverage_kind: str) -> float:
    required = k if user_coverage_kind == "full" and k is not None else 1
    return 1.0 if len(world.lists[user]) >= required else 0.0


def novelty(
    world: World,
    user: str,
    k: int | None,
    *,
    novelty_population: str,
    novelty_norm: str,
    novelty_denominator: str,
    cold_item: str,
) -> float:
    items = {"users": world.n_train_users, "interactions": world.n_interactions}
    total, divisor = 0.0, 0
    for item in world.top(user, k):
        users = world.train_users(item)
        if users == 0 and cold_item == "one_user":
            users = 1
        if users > 0 and items[novelty_population] > 0:
            total += -math.log2(users / items[novelty_population])
        divisor += users > 0 or cold_item == "zero"
    if divisor == 0 or items[novelty_population] == 0:
        return math.nan
    if novelty_denominator == "k" and k is not None:
        divisor = k
    if novelty_norm == "none":
        return total / divisor
    return total / divisor / math.log2(world.n_train_users) if world.n_train_users > 1 else math.nan


def average_popularity(world: World, user: str, k: int | None) -> float:
    return _mean([world.train_users(item) for item in world.top(user, k)])


def long_tail(world: World, user: str, k: int | None, *, longtail_head: float) -> float:
    by_popularity = sorted(range(world.n_items), key=lambda i: (-world.train_users(i), i))
    head: set[int] = set()
    for item in by_popularity:
        items = sum(world.train_users(i) for i in head)
        if world.train_users(item) == 0 or items / world.n_interactions >= longtail_head:
            break
        head.add(item)
    return _mean([item not in head for item in world.top(user, k)])


def intra_list_diversity(
    world: World, user: str, k: int | None, *, ild_distance: str, ild_one_item: str
) -> float:
    distance = {"cosine": cosine_distance, "jaccard": _jaccard, "hamming": _hamming}[ild_distance]
    listed = [world.features[item] for item in world.top(user, k)]
    if len(listed) == 1 and ild_one_item == "zero":
        return 0.0
    return _mean([distance(a, b) for a, b in combinations(listed, 2)])


def serendipity(world: World, user: str, k: int | None, *, serendipity_kind: str) -> float:
    surprise = {"popularity": _rise_over_popularity, "history": _distance_to_history}
    return _mean(
        [
            surprise[serendipity_kind](world, user, rank, item)
            * (item in world.relevant.get(user, set()))
            for rank, item in enumerate(world.top(user, k), 1)
        ]
    )


def calibration(world: World, user: str, k: int | None, *, calibration_alpha: float) -> float:
    p = _distribution(world, world.history(user))
    q = _distribution(world, world.top(user, k))
    if p is None or q is None:
        return math.nan
    return math.fsum(
        pc * math.log(pc / ((1 - calibration_alpha) * qc + calibration_alpha * pc))
        for pc, qc in zip(p, q, strict=True)
        if pc > 0
    )


def popularity_correlation(world: World, user: str, k: int | None) -> float:
    popularity = [world.train_users(item) for item in world.top(user, k)]
    if len(set(popularity)) < 2:
        return math.nan
    more = [sum(other > conventions for other in popularity) for conventions in popularity]
    equal = [popularity.count(conventions) for conventions in popularity]
    positions = [m + (e + 1) / 2 for m, e in zip(more, equal, strict=True)]
    return _pearson(list(range(1, len(positions) + 1)), positions)


def counts(world: World, k: int | None) -> Counter[int]:
    """Users whose top k holds the item."""
    return Counter(item for user in world.lists for item in set(world.top(user, k)))


def coverage(world: World, k: int | None, *, coverage_items: str) -> float:
    trained = {item for had in world.train.values() for item in had}
    pool = world.catalogue if coverage_items == "catalogue" else trained
    return sum(item in pool for item in counts(world, k)) / len(pool) if pool else math.nan


def gini(world: World, k: int | None, *, gini_items: str) -> float:
    """Mean absolute difference of all pairs of items / twice the mean count."""
    result = counts(world, k)
    pool = world.catalogue if gini_items == "catalogue" else set(result)
    c = [result[item] for item in pool]
    if sum(c) == 0:
        return math.nan
    return sum(abs(a - b) for a in c for b in c) / (2 * len(c) * sum(c))


def entropy(world: World, k: int | None, *, entropy_base: int | str, entropy_norm: str) -> float:
    result = counts(world, k)
    whole = sum(result.values())
    if whole == 0:
        return math.nan
    base = math.e if entropy_base == "e" else 2.0
    value = -math.fsum(c / whole * math.log(c / whole) / math.log(base) for c in result.values())
    return value / len(result) if entropy_norm == "recommended_items" else value


def personalization(world: World, k: int | None) -> float:
    tops = [set(world.top(user, k)) for user, listed in world.lists.items() if listed]
    if k is None or len(tops) < 2:
        return math.nan
    return 1.0 - _mean([len(a & b) / k for a, b in combinations(tops, 2)])


def cosine_distance(a: Vector, b: Vector) -> float:
    lengths = math.hypot(*a) * math.hypot(*b)
    return 1.0 - sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths > 0 else 1.0


def _jaccard(a: Vector, b: Vector) -> float:
    of_a, of_b = _categories(a), _categories(b)
    return 1.0 - len(of_a & of_b) / len(of_a | of_b) if of_a | of_b else 0.0


def _hamming(a: Vector, b: Vector) -> float:
    return float(sum(x != y for x, y in zip(a, b, strict=True)))


def _categories(features: Vector) -> set[int]:
    return {number for number, value in enumerate(features) if value}


def _distribution(world: World, items: list[int]) -> list[float] | None:
    shares = [
        [value / sum(world.features[item]) for value in world.features[item]]
        for item in items
        if sum(world.features[item]) > 0
    ]
    return [sum(column) / len(shares) for column in zip(*shares, strict=True)] if shares else None


def _rise_over_popularity(world: World, user: str, rank: int, item: int) -> float:
    n = len(world.catalogue)
    if n == 0:
        return math.nan
    n_train_users = world.train_users(item)
    more_popular = {
        users
        for other in range(world.n_items)
        if (users := world.train_users(other)) > n_train_users
    }
    pu = (n + 1 - (len(more_popular) + 1)) / n if n_train_users > 0 else 0.0
    return max((n + 1 - rank) / n - pu, 0.0)


def _distance_to_history(world: World, user: str, rank: int, item: int) -> float:
    item_features = world.features[item]
    return _mean(
        [cosine_distance(item_features, world.features[old]) for old in world.history(user)]
    )


def _pearson(a: Sequence[float], b: Sequence[float]) -> float:
    mean_a, mean_b = _mean(a), _mean(b)
    together = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    return together / math.sqrt(
        sum((x - mean_a) ** 2 for x in a) * sum((y - mean_b) ** 2 for y in b)
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
