"""Recommendations and ground truth that Concord and every library evaluate.

Each small case has one difficulty.

A list is [[item, score], …], best first; scores fall within a list except in the cases with ties.
Ids are text, and integers in the cases with `integers`. A user with an empty list or an empty
ground truth has an entry without items.
"""

import json
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import polars as pl

from tests.project import MOVIELENS

Case = dict[str, Any]  # name, lists, truth, ks [, integers, train, categories]
KS = [1, 3, 5, 10]
ITEMS = [f"i{n:02}" for n in range(60)]

# Users whom only some libraries evaluate: user, list ("-": empty), ground truth as item:grade.
_CORNERS = (
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

# Cases of single libraries: those that take such grades, have such metrics or tell lists apart.
_ALSO_BEYOND = ("short", "missing", "duplicates", "random50")
_FRACTIONS = ("half_stars", "fractions")
_BEYOND = (*(f"beyond_{name}" for name in _ALSO_BEYOND), "no_categories")
FURTHER = {
    "evidently": _FRACTIONS,
    "ignite": _FRACTIONS,
    "lenskit": (*_FRACTIONS, "empty_lists"),
    "polimi": (*_FRACTIONS, *_BEYOND),
    "pytrec_eval": ("empty_lists",),
    "ranx": _FRACTIONS,
    "recommenders": _FRACTIONS,
    "rectools": _BEYOND,
    "replay": _BEYOND,
    "sklearn": _FRACTIONS,
    "torchmetrics": _FRACTIONS,
}


def cases_for(library: str) -> list[Case]:
    """Return the small cases of a library; those of recommender libraries are shared."""
    special = {
        "propensities": propensities,
        "fairlearn": groups,
        "rbo": list_pairs,
        "pyndeval": diversity_qrels,
    }
    if library in special:
        return special[library]()
    further = [further_cases()[name] for name in FURTHER.get(library, ())]
    return [*ranking_cases(), *([pooled()] if library == "pytrec_eval" else []), *further]


@cache
def ranking_cases() -> list[Case]:
    """Return all cases with made-up lists."""
    ties_integers = _with_integers(_ties("ties_integers"))
    return [
        _bellei(),
        # Long lists, relevant items for everybody, no ties.
        _population("clean", 1, users=30, lengths=(20,), judged=(5, 10, 15)),
        _graded(),
        _ties("ties"),
        # Items that occur several times in a list.
        _population("duplicates", 4, users=30, lengths=(15,), judged=(6, 12), copies=True),
        # Lists that are shorter than most cutoffs.
        _population("short", 5, users=30, lengths=(1, 2, 4, 7), judged=(3, 8)),
        # Users with a ground truth only, and users with a list only.
        _population("missing", 6, users=40, lengths=(12,), judged=(4, 8), missing=0.2),
        # All of it except duplicates: short lists, users missing on either side, grades.
        _population(
            "random50",
            7,
            users=50,
            lengths=(2, 5, 10, 20),
            judged=(2, 6, 12),
            grades=(0, 1, 2, 3),
            missing=0.1,
        ),
        _whole(),
        _beyond_accuracy(),
        _corners("corners"),
        # Integers as ids, whose order as numbers and as text differs.
        _with_integers(_corners("corners_integers")),
        _corners_listed(),
        ties_integers,
        _near_ties(ties_integers),
    ]


@cache
def further_cases() -> dict[str, Case]:
    """Return cases of some libraries: fractional grades, lists with a train, empty lists."""
    cases = [
        # Grades below 1 and between whole numbers; some users have no grade of 1 or more.
        _fractional("half_stars", 13, [n / 2 for n in range(1, 11)]),
        _fractional("fractions", 14, [0, 0.11, 0.47, 0.53, 1, 1.39, 1.56]),
        # What metrics beyond accuracy read, with lists that are short, missing or hold copies.
        *(_with_train(case) for case in ranking_cases() if case["name"] in _ALSO_BEYOND),
        _no_categories(),
        _empty_lists(),
    ]
    return {case["name"]: case for case in cases}


@cache
def movielens() -> list[Case]:
    """Return a case of 671 users and a model's top 20, or no case if the data is missing.

    Ratings of 4 and more are relevant.
    """
    if not MOVIELENS.is_dir():
        return []
    lists: dict[str, Any] = {}
    for line in (MOVIELENS / "als.jsonl").read_text().splitlines():
        row = json.loads(line)
        lists[str(row["user"])] = _scored([str(item) for item in row["items"][:20]])
    rows = pl.read_parquet(MOVIELENS / "test.parquet").filter(pl.col("rating") >= 4)
    truth: dict[str, Any] = {}
    for user, item in rows.select("user", "item").sort("user", "item").iter_rows():
        truth.setdefault(str(user), {})[str(item)] = 1
    return [_case("movielens", lists, truth)]


def pooled() -> Case:
    """Return grades of a pool of which only a sample was judged: -1 is pooled, but not judged."""
    return _population(
        "pooled", 12, users=30, lengths=(20,), judged=(15, 25), grades=(-1, -1, 0, 1, 2)
    )


def propensities() -> list[Case]:
    """Return lists and ground truth as positions, and how probably each item became known."""
    draw = random.Random(5)
    users = range(60)
    return [
        {
            "name": "propensities",
            "lists": [draw.sample(range(30), 8) for _ in users],
            "truth": [draw.sample(range(30), draw.randint(1, 8)) for _ in users],
            "propensities": [1 - 0.95 * item / 29 for item in range(30)],
            "k": 5,
        }
    ]


def groups() -> list[Case]:
    """Return hits of users in two groups, for two models."""
    draw = random.Random(11)
    of_users = ["old"] * 60 + ["new"] * 90
    return [
        {
            "name": name,
            "groups": of_users,
            "values": [float(draw.random() < rates[group]) for group in of_users],
        }
        for name, rates in (
            ("even", {"old": 0.5, "new": 0.5}),
            ("leaning", {"old": 0.8, "new": 0.3}),
        )
    ]


def list_pairs() -> list[Case]:
    """Return 200 pairs of lists of one to twelve items out of 15."""
    draw = random.Random(15)
    lists = [draw.sample("abcdefghijklmno", draw.randint(1, 12)) for _ in range(400)]
    pairs = list(zip(lists[::2], lists[1::2], strict=True))
    return [{"name": "pairs", "pairs": pairs, "p": 0.9}]


def diversity_qrels() -> list[Case]:
    """Return lists of queries, and qrels with subtopics, under several parameters."""
    return [
        _diversity(f"alpha_{alpha}_beta_{beta}_rel_{rel}", seed, alpha, beta, rel)
        for seed, (alpha, beta, rel) in enumerate([(0.5, 0.5, 1), (0.25, 0.8, 1), (0.9, 0.5, 2)])
    ]


def _diversity(name: str, seed: int, alpha: float, beta: float, rel: int) -> Case:
    draw = random.Random(seed)
    lists, qrels = {}, []
    for query in (f"q{n:02}" for n in range(60)):
        items = [f"d{n}" for n in range(draw.randint(1, 15))]
        subtopics = [f"s{n}" for n in range(draw.randint(1, 6))]
        judged = [
            (query, subtopic, item, draw.choice([0, 1, 1, 2, 3]))
            for item in items
            for subtopic in subtopics
            if draw.random() < 0.45
        ]
        qrels += judged or [(query, "s0", "d0", 3)]
        found = [*items, *(f"x{n}" for n in range(10))]
        lists[query] = draw.sample(found, draw.randint(1, len(found)))
    content = {"lists": lists, "qrels": qrels, "alpha": alpha, "beta": beta, "rel": rel}
    return {"name": name, "ks": [1, 3, 5, 10, 20], **content}


def _case(name: str, lists: dict[str, Any], truth: dict[str, Any]) -> Case:
    return {"name": name, "lists": lists, "truth": truth, "ks": KS}


def _scored(items: list[str]) -> list[list[Any]]:
    """Return falling scores, all above 0 and exact in single precision."""
    return [[item, float(len(items) - i)] for i, item in enumerate(items)]


def _population(
    name: str,
    seed: int,
    *,
    users: int,
    lengths: tuple[int, ...],
    judged: tuple[int, ...],
    grades: Sequence[float] = (1,),
    missing: float = 0.0,
    levels: int = 0,
    copies: bool = False,
) -> Case:
    """Return a case of random lists.

    missing : share of users without a list, and share without ground truth
    levels : number of distinct scores
    """
    generator = random.Random(seed)
    lists: dict[str, Any] = {}
    truth: dict[str, Any] = {}
    for user in (f"u{n:02}" for n in range(users)):
        draw = generator.choices if copies else generator.sample
        listed = _scored(draw(ITEMS[:40], k=generator.choice(lengths)))
        if levels:
            listed = [[item, float(generator.randint(1, levels))] for item, _ in listed]
            listed.sort(key=lambda pair: -pair[1])
        items = generator.sample(ITEMS, k=generator.choice(judged))
        grade_of = {item: generator.choice(grades) for item in items}
        if max(grade_of.values()) < 1:
            grade_of[items[0]] = 1
        share = generator.random()
        if share >= missing:
            lists[user] = listed
        if not missing <= share < 2 * missing:
            truth[user] = grade_of
    return _case(name, lists, truth)


def _bellei() -> Case:
    """Return users without a list, without ground truth, with neither."""
    lists = {"U1": "1 6 8", "U2": "1 2 3 4 5", "U3": "", "U4": "1 2 3 4", "U5": ""}
    truth = {"U1": "1 2 3 4 5 6", "U2": "2 4 6", "U3": "2 4 6", "U4": "", "U5": ""}
    return _case(
        "bellei",
        {user: _scored(items.split()) for user, items in lists.items()},
        {user: dict.fromkeys(items.split(), 1) for user, items in truth.items()},
    )


def _graded() -> Case:
    """Return grades 0 to 3; 0 is judged, not relevant, and the only grade of one user."""
    case = _population(
        "graded", 2, users=30, lengths=(20,), judged=(8, 15, 25), grades=(0, 1, 2, 3)
    )
    case["truth"]["u29"] = dict.fromkeys(case["truth"]["u29"], 0)
    return case


def _ties(name: str) -> Case:
    """Return four distinct scores in lists of twelve; tied items are in no order."""
    return _population(name, 3, users=30, lengths=(12,), judged=(6, 12), levels=4)


def _whole() -> Case:
    """Return rankings of all items, as from libraries that score the whole catalogue."""
    case = _population("whole", 8, users=20, lengths=(40,), judged=(4, 9))
    for user, grades in case["truth"].items():
        listed = {item for item, _ in case["lists"][user]}
        case["truth"][user] = {i: g for i, g in grades.items() if i in listed} or {"i00": 1}
    return case


def _beyond_accuracy() -> Case:
    """Return full lists with items that the train lacks."""
    return _with_train(_population("beyond", 9, users=30, lengths=(12,), judged=(5, 10)))


def _with_train(case: Case) -> Case:
    """Return the case with a train, which lacks some items, and a catalogue with categories."""
    draw = random.Random(10)
    train = {user: draw.sample(ITEMS[:34], k=draw.choice([2, 5, 9])) for user in case["truth"]}
    categories = ["action", "comedy", "drama", "war"]
    name = case["name"]
    return case | {
        "name": f"beyond_{name}" if name in _ALSO_BEYOND else name,
        "train": {user: sorted(items) for user, items in train.items()},
        "categories": {item: sorted(draw.sample(categories, k=2)) for item in ITEMS},
    }


def _no_categories() -> Case:
    """Return lists of which some hold an item of the catalogue that has no categories."""
    case = _population("no_categories", 15, users=15, lengths=(1, 2, 4), judged=(3,))
    case = _with_train(case)
    return case | {"categories": case["categories"] | {item: [] for item in ITEMS[:8]}}


def _fractional(name: str, seed: int, grades: Sequence[float]) -> Case:
    """Return random grades; the last users have only grades below 1."""
    case = _population(name, seed, users=15, lengths=(12,), judged=(8, 15), grades=grades)
    for user in ("u13", "u14"):
        case["truth"][user] = {i: min(g, 0.5) for i, g in case["truth"][user].items()}
    return case


def _empty_lists() -> Case:
    """Return users with an empty list and users without one."""
    case = _population("empty_lists", 16, users=12, lengths=(3, 12), judged=(3, 8))
    lists = {user: [] if n < 3 else rows for n, (user, rows) in enumerate(case["lists"].items())}
    return case | {"lists": {user: rows for user, rows in lists.items() if user != "u11"}}


def _corners(name: str) -> Case:
    lists, truth = {}, {}
    for user, items, judged in _CORNERS:
        if items:
            lists[user] = _scored(items.replace("-", "").split())
        if judged:
            pairs = (pair.split(":") for pair in judged.split())
            truth[user] = {item: int(grade) for item, grade in pairs}
    return _case(name, lists, truth)


def _corners_listed() -> Case:
    """Return the corners with lists of all twelve items, for libraries that score every item."""
    case = _corners("corners_listed")
    remainder = [str(n) for n in range(50, 62)]
    for user, rows in case["lists"].items():
        case["lists"][user] = _scored(([item for item, _ in rows] + remainder)[:12])
    case["truth"] = {user: items for user, items in case["truth"].items() if user in case["lists"]}
    return case


def _near_ties(case: Case) -> Case:
    """Return scores that differ in double precision but not in single."""
    lists = {
        user: [[item, score - rank * 1e-9] for rank, (item, score) in enumerate(rows)]
        for user, rows in case["lists"].items()
    }
    return case | {"name": "near_ties", "lists": lists}


def _with_integers(case: Case) -> Case:
    """Return the case with integers as ids: items by the digits of their name, users numbered."""
    number = {u: str(7 * n) for n, u in enumerate(sorted({*case["lists"], *case["truth"]}), 1)}
    lists = {
        number[user]: [[str(int(item.lstrip("i"))), score] for item, score in rows]
        for user, rows in case["lists"].items()
    }
    truth = {
        number[user]: {str(int(item.lstrip("i"))): grade for item, grade in items.items()}
        for user, items in case["truth"].items()
    }
    return case | {"lists": lists, "truth": truth, "integers": True}
