"""The lists and truth that Concord and every library are given: small, and each with an edge of its own.

A list is [[item, score], …] in the order of the file, best first; scores fall within a list except where the
case has ties. Ids are text in the file of cases, and integers for the libraries and for Concord where the case says
`integers`. A user with an empty list or empty truth stands there with nothing.
"""

import json
import random
from pathlib import Path
from typing import Any

import polars as pl

Case = dict[str, Any]  # name, lists, truth, ks [, integers]
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


# Which users a library evaluates: what they have, and how the two meet.
_CORNERS: tuple[tuple[str, str, str], ...] = (
    ("both", "2 10 100 9 33 7", "10:1 9:3 44:2 45:0"),
    ("more_relevant_than_listed", "10 2 9", "2:1 9:2 44:1 45:3 46:1 47:1"),
    ("first_of_two", "100 2", "100:1"),
    ("only_in_lists", "2 9 10", ""),
    ("only_in_truth", "", "2:1 10:2"),
    ("only_in_truth_all_0", "", "2:0 10:0"),
    ("truth_all_0", "2 9 10", "2:0 44:0"),
    ("truth_all_0_unjudged", "2 9 10", "44:0 45:0"),
    ("empty_list", "-", "2:1 9:1"),
    ("empty_list_truth_all_0", "-", "2:0"),
    ("unjudged", "2 9 10 33", "44:1 45:2"),
    ("unjudged_but_0", "2 9 10", "9:0 44:1"),
)


def _corners(name: str) -> Case:
    lists, truth = {}, {}
    for user, listed, judged in _CORNERS:
        if listed:
            lists[user] = _scored(listed.replace("-", "").split())
        if judged:
            pairs = (pair.split(":") for pair in judged.split())
            truth[user] = {item: int(grade) for item, grade in pairs}
    return _case(name, lists, truth)


def corners() -> Case:
    """The users of whom libraries differ on whether they are evaluated at all."""
    return _corners("corners")


def corners_integers() -> Case:
    """The same with integers as ids, whose order as numbers and as text differs."""
    return _numbered(_corners("corners_integers"))


def corners_listed() -> Case:
    """Those corners that have lists, all of twelve items, for libraries that want a row of scores a user."""
    case = _corners("corners_listed")
    rest = [str(n) for n in range(50, 62)]
    for user, rows in list(case["lists"].items()):
        listed = [item for item, _ in rows]
        case["lists"][user] = _scored((listed + rest)[:12])
    case["truth"] = {user: held for user, held in case["truth"].items() if user in case["lists"]}
    return case


def ties_integers() -> Case:
    """As `ties`, with items 0 to 59 as integers."""
    case = _population("ties_integers", 3, users=30, lengths=(12,), judged=(6, 12), grades=(1,), levels=4)  # fmt: skip
    for user, rows in case["lists"].items():
        case["lists"][user] = [[str(int(item[1:])), score] for item, score in rows]
    for user, held in case["truth"].items():
        case["truth"][user] = {str(int(item[1:])): grade for item, grade in held.items()}
    return _numbered(case)


def near_ties() -> Case:
    """Scores that differ in double precision and not in single."""
    case = ties_integers() | {"name": "near_ties"}
    for rows in case["lists"].values():
        for place, row in enumerate(rows):
            row[1] -= place * 1e-9
    return case


def _numbered(case: Case) -> Case:
    """Users as numbers too."""
    users = sorted({*case["lists"], *case["truth"]})
    number = {user: str(7 * n) for n, user in enumerate(users, 1)}
    for part in ("lists", "truth"):
        case[part] = {number[user]: held for user, held in case[part].items()}
    return case | {"integers": True}


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
    plain = (bellei, clean, graded, ties, duplicates, short, missing, random50, whole, beyond)
    odd = (corners, corners_integers, corners_listed, ties_integers, near_ties)
    return [make() for make in (*plain, *odd)]
