"""A simulated shop: who bought what and when, from latent tastes, popularity and chance."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

USERS = 1_200
ITEMS = 700
TASTES = 8  # length of the latent vectors
DAYS = 180
CATEGORIES = (
    "coffee", "tea", "baking", "garden", "lighting", "stationery",
    "hiking", "cycling", "music", "board games", "kitchen", "textiles",
)  # fmt: skip
POPULARITY_SKEW = 0.7  # exponent of the item's share of attention
TASTE_WEIGHT = 1.6  # how much taste counts against popularity
EVENTS = 38  # median number of events of a user
ACTIVITY_SPREAD = 0.75  # of the logarithm of the number of events
LATE_USERS = 0.05  # share of users who arrive after the split
SPLIT_DAY = 144
MAKERS = ("factory", "workshop")
WORKSHOPS = 0.6  # share of workshops among the least popular items; none among the most popular
CHANNELS = ("search", "friend", "newsletter", "advert")
COUNTRIES = ("AT", "CH", "DE", "FR", "NL", "PL")


@dataclass(frozen=True)
class Shop:
    """The simulated data; one row per event, sorted by user and day."""

    item_category: Ints
    second_category: Ints
    maker: Ints
    channel: Ints
    country: Ints
    user: Ints
    item: Ints
    grade: Ints  # 1 viewed, 2 put into the basket, 3 bought
    second: Ints  # since the first day


def simulate(seed: int) -> Shop:
    """Return the shop of a seed."""
    rng = np.random.default_rng(seed)
    category = rng.integers(0, len(CATEGORIES), ITEMS)
    centre = rng.normal(size=(len(CATEGORIES), TASTES))
    item_taste = 0.8 * centre[category] + 0.6 * rng.normal(size=(ITEMS, TASTES))
    favourite = rng.dirichlet(np.full(len(CATEGORIES), 0.25), USERS)
    user_taste = favourite @ centre + 0.5 * rng.normal(size=(USERS, TASTES))
    rank = rng.permutation(ITEMS) + 1.0
    popularity = -POPULARITY_SKEW * np.log(rank)
    liking = user_taste @ item_taste.T / np.sqrt(TASTES)
    attraction = TASTE_WEIGHT * liking + popularity
    user, item, second = _events(rng, attraction)
    chance = np.random.default_rng(seed + 2).random(ITEMS)
    return Shop(
        item_category=category,
        second_category=rng.integers(0, len(CATEGORIES), ITEMS),
        maker=(chance < WORKSHOPS * rank / ITEMS).astype(np.int64),
        channel=rng.choice(len(CHANNELS), USERS, p=[0.4, 0.2, 0.15, 0.25]),
        country=rng.choice(len(COUNTRIES), USERS, p=[0.1, 0.1, 0.4, 0.2, 0.1, 0.1]),
        user=user,
        item=item,
        grade=_grades(rng, liking[user, item]),
        second=second,
    )


def _events(rng: np.random.Generator, attraction: Floats) -> tuple[Ints, Ints, Ints]:
    """Draw each user's items by attraction (Gumbel trick) and their times at random."""
    n = np.exp(np.log(EVENTS) + ACTIVITY_SPREAD * rng.normal(size=USERS))
    n_events = np.clip(n.astype(np.int64), 4, ITEMS // 3)
    late = rng.random(USERS) < LATE_USERS
    users, items, seconds = [], [], []
    for user in range(USERS):
        drawn = np.argsort(-(attraction[user] + rng.gumbel(size=ITEMS)), kind="stable")
        first_day = SPLIT_DAY if late[user] else rng.integers(0, SPLIT_DAY - 30)
        users.append(np.full(n_events[user], user))
        items.append(drawn[: n_events[user]])
        seconds.append(np.sort(rng.integers(first_day * 86_400, DAYS * 86_400, n_events[user])))
        rng.shuffle(items[-1])
    return np.concatenate(users), np.concatenate(items), np.concatenate(seconds)


def _grades(rng: np.random.Generator, liking: Floats) -> Ints:
    basket = 1 / (1 + np.exp(-(1.2 * liking - 0.6)))
    bought = 1 / (1 + np.exp(-(1.0 * liking - 0.8)))
    in_basket = rng.random(len(liking)) < basket
    return 1 + in_basket + (in_basket & (rng.random(len(liking)) < bought))
