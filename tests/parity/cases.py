"""The lists and truth that Concord and every library are given: small, and each with an edge of its own.

A list is [[item, score], …] in the order of the file, best first; scores fall within a list except where the
case has ties. Ids are text. A user with an empty list or empty truth stands there with nothing.
"""

import json
import random
from pathlib import Path
from typing import Any

import polars as pl

Case = dict[str, Any]  # name, lists, truth, ks
KS = [1, 3, 5, 10]
GRADES = (0, 1, 2, 3)


def _case(name: str, lists: dict[str, Any], truth: dict[str, Any]) -> Case:
    return {"name": name, "lists": lists, "truth": truth, "ks": KS}


def _scored(items: list[str]) -> list[list[Any]]:
    """Scores that fall, all above 0 and exact in single precision."""
    return [[item, float(len(items) - i)] for i, item in enumerate(items)]


def bellei() -> Case:
    """Seed 1: users without list, without truth, with neither."""
    lists = {"U1": "1 6 8", "U2": "1 2 3 4 5", "U3": "", "U4": "1 2 3 4", "U5": ""}
    truth = {"U1": "1 2 3 4 5 6", "U2": "2 4 6", "U3": "2 4 6", "U4": "", "U5": ""}
    return _case(
        "bellei",
        {user: _scored(items.split()) for user, items in lists.items()},
        {user: dict.fromkeys(items.split(), 1) for user, items in truth.items()},
    )


def _population(
    name: str,
    seed: int,
    *,
    users: int,
    lengths: tuple[int, ...],
    judged: tuple[int, ...],
    grades: tuple[int, ...],
    missing: float = 0.0,
    levels: int = 0,
    copies: bool = False,
) -> Case:
    """`missing`: the share of users without list, and again without truth; `levels`: so many distinct scores."""
    generator = random.Random(seed)
    items = [f"i{n:02}" for n in range(60)]
    lists: dict[str, Any] = {}
    truth: dict[str, Any] = {}
    for user in (f"u{n:02}" for n in range(users)):
        draw = generator.choices if copies else generator.sample
        listed = _scored(draw(items[:40], k=generator.choice(lengths)))
        if levels:
            listed = [[item, float(generator.randint(1, levels))] for item, _ in listed]
            listed.sort(key=lambda pair: -pair[1])
        held = generator.sample(items, k=generator.choice(judged))
        known = {item: generator.choice(grades) for item in held}
        if not any(known.values()):
            known[held[0]] = 1
        without = generator.random()
        if without >= missing:
            lists[user] = listed
        if not missing <= without < 2 * missing:
            truth[user] = known
    return _case(name, lists, truth)


def clean() -> Case:
    """No edge at all: long lists, relevant items for everybody, no ties."""
    return _population("clean", 1, users=30, lengths=(20,), judged=(5, 10, 15), grades=(1,))


def graded() -> Case:
    """Grades 0 to 3; grade 0 is judged and not relevant, and for one user all that is judged."""
    case = _population("graded", 2, users=30, lengths=(20,), judged=(8, 15, 25), grades=GRADES)
    case["truth"]["u29"] = dict.fromkeys(case["truth"]["u29"], 0)
    return case


def ties() -> Case:
    """Four distinct scores in lists of twelve; within equal scores the items stand in no order."""
    return _population("ties", 3, users=30, lengths=(12,), judged=(6, 12), grades=(1,), levels=4)


def duplicates() -> Case:
    """Items that stand several times in a list."""
    return _population("duplicates", 4, users=30, lengths=(15,), judged=(6, 12), grades=(1,), copies=True)  # fmt: skip


def short() -> Case:
    """Lists that are shorter than most cutoffs."""
    return _population("short", 5, users=30, lengths=(1, 2, 4, 7), judged=(3, 8), grades=(1,))


def missing() -> Case:
    """Users who stand in the truth only, and users who stand in the lists only."""
    return _population("missing", 6, users=40, lengths=(12,), judged=(4, 8), grades=(1,), missing=0.2)  # fmt: skip


def random50() -> Case:
    """All of it but copies: short lists, users missing on either side, grades."""
    return _population(
        "random50", 7, users=50, lengths=(2, 5, 10, 20), judged=(2, 6, 12), grades=GRADES, missing=0.1
    )  # fmt: skip


def whole() -> Case:
    """Every item is ranked for every user, as libraries that score the whole catalogue have it."""
    case = _population("whole", 8, users=20, lengths=(40,), judged=(4, 9), grades=(1,))
    for user, held in case["truth"].items():
        listed = {item for item, _ in case["lists"][user]}
        case["truth"][user] = {item: g for item, g in held.items() if item in listed} or {"i00": 1}
    return case


def beyond() -> Case:
    """Lists with what stands behind them: a train, a catalogue with categories, items that nobody had."""
    case = _population("beyond", 9, users=30, lengths=(12,), judged=(5, 10), grades=(1,))
    generator = random.Random(10)
    items = [f"i{n:02}" for n in range(60)]
    had = {u: generator.sample(items[:34], k=generator.choice([2, 5, 9])) for u in case["truth"]}
    kinds = ["action", "comedy", "drama", "war"]
    return case | {
        "train": {user: sorted(held) for user, held in had.items()},
        "categories": {item: sorted(generator.sample(kinds, k=2)) for item in items},
    }


def movielens(folder: Path) -> Case:
    """671 users, the top 20 of a model, ratings of 4 and more as relevant."""
    lists: dict[str, Any] = {}
    for line in (folder / "als.jsonl").read_text().splitlines():
        row = json.loads(line)
        lists[str(row["user"])] = _scored([str(item) for item in row["items"][:20]])
    rows = pl.read_parquet(folder / "test.parquet").filter(pl.col("rating") >= 4)
    truth: dict[str, Any] = {}
    for user, item in rows.select("user", "item").sort("user", "item").iter_rows():
        truth.setdefault(str(user), {})[str(item)] = 1
    return _case("movielens", lists, truth)


def small_cases() -> list[Case]:
    """All cases but the real data."""
    makers = (bellei, clean, graded, ties, duplicates, short, missing, random50, whole, beyond)
    return [make() for make in makers]
