"""`evaluate` warns wherever `compare` warns about one model, in the same words."""

import random
from typing import Any

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.results.comparison_parts import DataWarning
from tests.project import ROOT

N = 40
USERS = range(N)
LISTS = {user: [f"i{(user + n) % 30}" for n in range(12)] for user in USERS}
TRUTH = {user: {f"i{(user + 3) % 30}": 1, f"i{(user + 20) % 30}": 1} for user in USERS}


def rows(lists: dict[Any, Any], **columns: Any) -> pl.DataFrame:
    """A row for each user and item, with further columns of one value."""
    results = [(user, item) for user, items in lists.items() for item in items]
    return pl.DataFrame(results, ["user", "item"], orient="row").with_columns(
        **{name: pl.lit(value) for name, value in columns.items()}
    )


def scored(lists: dict[Any, Any], levels: int) -> pl.DataFrame:
    """Rows with scores of so many levels: the last items of a list tie."""
    return rows(lists).with_columns(
        score=-pl.int_range(pl.len()).over("user").clip(upper_bound=levels - 1).cast(pl.Float64)
    )


def graded() -> dict[int, dict[str, int]]:
    """A truth that also knows what is not relevant, of items that hardly any list has."""
    return {user: {f"i{(user + 3) % 30}": 1, **{f"x{n}": 0 for n in range(9)}} for user in USERS}


SEARCH = {"user": "query", "item": "document"}
TIMES = {"columns": {"truth": {"time": "time"}, "train": {"time": "time"}}}
CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "own_id_listed": ({u: [str(u), *LISTS[u]] for u in USERS}, TRUTH, {"words": SEARCH}),
    "short_lists": ({user: items[:5] for user, items in LISTS.items()}, TRUTH, {}),
    "few_judged": (LISTS, graded(), {}),
    "truth_in_train": (LISTS, TRUTH, {"train": {u: [*TRUTH[u], "other"] for u in USERS}}),
    "unrelated_train": (LISTS, TRUTH, {"train": {f"other{u}": ["i1"] for u in USERS}}),
    "train_items_recommended": (LISTS, TRUTH, {"train": {u: LISTS[u][:2] for u in USERS}}),
    "ties_at_cutoff": (scored(LISTS, 10), TRUTH, {}),
    "constant_scores": (
        rows(LISTS, score=1.0),
        TRUTH,
        {"conventions": "standard"},
    ),
    "sampled_candidates": (
        {u: [*TRUTH[u], *[f"n{u}-{n}" for n in range(10)]] for u in USERS},
        TRUTH,
        {"train": {u: [f"n{u}-{n}" for n in range(10)] for u in range(100, 150)} | {0: ["i29"]}},
    ),
    "split_not_by_time": (
        LISTS,
        rows(TRUTH, time=1),
        {"train": rows({u: [f"i{u % 30}"] for u in USERS}, time=2), **TIMES},
    ),
    "few_lists": ({u: LISTS[u] for u in range(10)}, TRUTH, {}),
    "duplicates_counted": (
        {u: [items[3]] * (1 + u % 2) + items for u, items in LISTS.items()},
        TRUTH,
        {"conventions": cc.preset("standard", duplicates="keep")},
    ),
    "several_splits": (
        LISTS,
        pl.concat([rows(TRUTH, split="Test"), rows({u: ["other"] for u in USERS}, split="train")]),
        {},
    ),
    "padding_item": (
        {u: [int(i[1:]) for i in items[:10]] + [-1] for u, items in LISTS.items()},
        {u: {int(i[1:]): 1 for i in items} for u, items in TRUTH.items()},
        {},
    ),
    "several_lists": (
        pl.concat(
            [
                rows(LISTS, score=1.0, algorithm="a"),
                rows({u: items[:10] for u, items in LISTS.items()}, score=0.5, algorithm="b"),
            ]
        ),
        TRUTH,
        {"conventions": cc.preset("standard", duplicates="first", ties="input")},
    ),
    "no_common_item": ({u: [f"y{n}" for n in range(10)] for u in USERS}, TRUTH, {}),
    "spelled_otherwise": ({u: [i.upper() for i in LISTS[u]] for u in USERS}, TRUTH, {}),
    "not_in_catalogue": (
        LISTS,
        TRUTH,
        {"items": {f"i{n}": ["a"] for n in range(25)}, "input": {"unknown_items": "keep"}},
    ),
    "ids_rewritten": (scored({f"{u}.0": LISTS[u] for u in USERS}, 12), rows(TRUTH), {}),
    "all_relevant": (LISTS, {u: {f"i{n}": 10 * n for n in range(1, 6)} for u in USERS}, {}),
    "empty_truth": (
        LISTS,
        pl.DataFrame({"user": [*USERS, -1], "item": [[f"i{u % 30}"] for u in USERS] + [[]]}),
        {},
    ),
    "fractions_irrelevant": (LISTS, {u: {f"i{u % 30}": 0.5, "i7": 1} for u in USERS}, {}),
    "low_threshold": (LISTS, {u: {f"i{n}": n / 2 for n in range(1, 11)} for u in USERS}, {}),
    "swapped_tables": (
        {u: [f"i{u % 30}"] for u in USERS},
        {u: [f"i{(u + n) % 30}" for n in range(10)] for u in USERS},
        {},
    ),
    "propensity": (
        LISTS,
        rows(TRUTH, propensity=0.5),
        {
            "conventions": {
                "preset": "standard",
                "propensity": {"column": "truth", "clip": 0.01, "fewest": 1},
            },
            "columns": {"truth": {"propensity": "propensity"}},
        },
    ),
}


# They need other lists.
OF_SEVERAL = {
    "below_popular",
    "no_better_than_chance",
    "one_list",
    "tie_range",
}


@pytest.mark.parametrize("kind", CASES)
def test_evaluate_warns_as_compare_does(kind: str) -> None:
    recs, truth, options = CASES[kind]
    options = {"metrics": ["nDCG@10"], "conventions": "standard", **options}

    compared = cc.compare({"recs": recs}, truth, baseline="recs", panel=False, **options)
    evaluated = cc.evaluate(recs, truth, **options)

    assert kind in {each.code for each in compared.warnings}
    of_one_model = [each for each in compared.warnings if each.code not in OF_SEVERAL]
    assert [*evaluated.warnings] == of_one_model


# Other facts of the data of a case, with causes of their own.
ALSO = {
    "several_lists": {"ties_at_cutoff"},
    "split_not_by_time": {"train_items_recommended"},
    "truth_in_train": {"train_items_recommended"},
}


@pytest.mark.parametrize("kind", CASES)
def test_one_cause_is_one_warning(kind: str) -> None:
    recs, truth, options = CASES[kind]
    options = {"metrics": ["nDCG@10"], "conventions": "standard", **options}
    codes = [each.code for each in cc.evaluate(recs, truth, **options).warnings]

    assert sorted(codes) == sorted({kind} | ALSO.get(kind, set()))


def test_a_cause_of_one_model_does_not_hide_the_warning_of_another() -> None:
    models = {
        "capitals": {u: [i.upper() for i in LISTS[u]] for u in USERS},
        "chunks": {u: [f"{i}#0" for i in LISTS[u]] for u in USERS},
    }
    options: dict[str, Any] = {"metrics": ["nDCG@10"], "conventions": "standard", "panel": False}
    warnings = cc.compare(models, TRUTH, baseline="chunks", **options).warnings

    assert {each.code: each.models for each in warnings} == {
        "spelled_otherwise": ("capitals",),
        "no_common_item": ("chunks",),
    }


def _split(last: bool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return train and truth of one row per user: the last row, or else one in the middle.

    Users begin one after the other, and the items of each are in the order of their numbers.
    """
    table = pl.DataFrame(
        [(u, f"i{(u + n) % 50}", 10 * u + n) for u in USERS for n in range(12)],
        ["user", "item", "time"],
        orient="row",
    )
    is_truth = (pl.col("time") - 10 * pl.col("user")) == (11 if last else 0)
    return table.filter(~is_truth), table.filter(is_truth)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (True, ["items whose first training row is later", "items whose first training row is af"]),
        (False, ["of 40 users begins before", "users whose first training row is later"]),
    ],
)
def test_a_split_within_users_is_one_warning_with_the_line_to_acknowledge_it(
    last: bool, words: list[str]
) -> None:
    train, truth = _split(last)
    lists = {u: [f"i{(u + n) % 50}" for n in range(12, 30)] for u in USERS}
    options: dict[str, Any] = {"metrics": ["nDCG@10"], "baseline": "a", "train": train, **TIMES}
    warning, *hitless = _serious(cc.compare({"a": lists}, truth, **options))
    setting = warning.fix.split("`")[1].replace("…", "users differ by session")
    accepted = eval(f"dict({setting})")
    acknowledged = cc.compare({"a": lists}, truth, **options, **accepted)

    assert warning.code == "split_not_by_time"
    assert all(each in warning.sentence.replace("\N{NO-BREAK SPACE}", " ") for each in words)
    assert _serious(acknowledged) == hitless
    assert acknowledged.warnings[-1].is_acknowledged


def _serious(comparison: cc.results.Comparison) -> list[DataWarning]:
    """Return the serious warnings, that on the split first."""
    return sorted(comparison.serious, key=lambda each: each.code != "split_not_by_time")


RATED = {u: {f"i{(u + n) % 30}": 1 + (u + n) % 5 for n in range(5)} for u in USERS}
NOT_RELEVANT = {u: {f"i{(u + 3) % 30}": 1, **{f"x{n}": 0 for n in range(9)}} for u in USERS}


@pytest.mark.parametrize(
    ("truth", "threshold", "words", "is_warned"),
    [
        (RATED, 4, None, False),
        (RATED, 4, SEARCH, True),
        (NOT_RELEVANT, 1, None, True),  # somebody judged items as not relevant
        (NOT_RELEVANT, 1, SEARCH, True),
    ],
)
def test_few_judged_items_are_a_warning_only_where_items_were_judged(
    truth: Any, threshold: float, words: Any, *, is_warned: bool
) -> None:
    lists = {u: [f"i{(u + 3 * n) % 30}" for n in range(10)] for u in USERS}
    conventions = cc.preset("standard", relevance_threshold=threshold)
    evaluated = cc.evaluate(lists, truth, metrics=["nDCG@10"], conventions=conventions, words=words)

    assert ("few_judged" in {each.code for each in evaluated.warnings}) == is_warned


@pytest.mark.parametrize(
    ("recs", "truth", "threshold", "k", "is_warned"),
    [
        ("demo/ease.jsonl.gz", "demo/truth.parquet", 2, 10, False),
        ("demo-search/bm25.run.json", "demo-search/qrels/test.tsv", 2, 100, True),
        ("demo-search/bm25.run.json", "demo-search/qrels/test.tsv", 2, 10, False),  # all judged
    ],
)
def test_few_judged_items_of_the_demos(
    recs: str, truth: str, threshold: float, k: int, *, is_warned: bool
) -> None:
    conventions = cc.preset("standard", relevance_threshold=threshold)
    evaluated = cc.evaluate(
        ROOT / "data" / recs, ROOT / "data" / truth, metrics=[f"P@{k}"], conventions=conventions
    )

    assert ("few_judged" in {each.code for each in evaluated.warnings}) == is_warned


@pytest.mark.parametrize(
    ("n_items", "severity", "words"),
    [(15, "notice", "the users are new to models"), (14, "serious", "learned from other data")],
)
def test_train_of_other_users_with_half_of_the_items_is_no_serious_warning(
    n_items: int, severity: str, words: str
) -> None:
    train = {"other": [f"i{n}" for n in range(n_items)]}
    evaluated = cc.evaluate(LISTS, TRUTH, train=train, metrics=["nDCG@10"], conventions="standard")
    (warning,) = (each for each in evaluated.warnings if each.code == "unrelated_train")

    assert warning.severity == severity
    assert words in warning.sentence


def _own_id_warnings(
    n_own: int,
    *,
    rank: int = 1,
    words: Any = SEARCH,
    truth: Any = TRUTH,
    conventions: Any = "standard",
) -> list[str]:
    """Return texts of the warning if the first queries have their own id at a rank of their list.

    Their ids are whole numbers in the ground truth and text in the lists.
    """
    lists = {u: list(items) for u, items in LISTS.items()}
    for user in USERS[:n_own]:
        lists[user].insert(rank - 1, str(user))
    evaluated = cc.evaluate(lists, truth, metrics=["nDCG@10"], conventions=conventions, words=words)
    return [each.sentence for each in evaluated.warnings if each.code == "own_id_listed"]


def test_queries_that_list_themselves_are_counted() -> None:
    (sentence,) = _own_id_warnings(10, rank=10)

    assert sentence.startswith("10 of 40 users have the item with their own id in the top 10")


@pytest.mark.parametrize(
    "case",
    [
        {"n_own": 9},
        {"rank": 11},
        {"truth": {user: {**items, str(user): 1} for user, items in TRUTH.items()}},
        {"conventions": cc.preset("standard", exclude="same_id")},
    ],
)
def test_an_own_id_is_no_warning_by_chance_or_if_judged_or_excluded(case: dict[str, Any]) -> None:
    assert _own_id_warnings(**{"n_own": 40, **case}) == []


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("as_id", [int, str])
def test_queries_that_list_themselves_need_no_words(as_id: Any, *, is_sorted: bool) -> None:
    """Sorted lists are evaluated while they are read."""
    users = sorted(map(as_id, USERS), reverse=not is_sorted)
    lists = {u: [u, *(as_id(1000 + int(u) + n) for n in range(12))] for u in users}

    warnings = cc.evaluate(lists, {u: [lists[u][2]] for u in users}, metrics=["RR@5"]).warnings

    assert "own_id_listed" in [each.code for each in warnings]


@pytest.mark.parametrize(("n_users", "n_items"), [(100, 10), (100, 20), (50, 50), (400, 200)])
def test_ids_of_users_and_items_that_are_equal_by_chance_are_no_warning(
    n_users: int, n_items: int
) -> None:
    generator = random.Random(1)
    lists = {u: generator.sample(range(n_items), min(n_items, 20)) for u in range(n_users)}
    truth = {u: [generator.randrange(n_items)] for u in lists}

    warnings = cc.evaluate(lists, truth, metrics=["RR@5"]).warnings

    assert "own_id_listed" not in [each.code for each in warnings]


def _copies(n_users: int, n_with_copies: int, **options: Any) -> list[DataWarning]:
    """Return the warnings about copies in lists of which some hold the relevant item twice."""
    lists = {u: ["a", "a", "b"] if u < n_with_copies else ["a", "b"] for u in range(n_users)}
    options = {"metrics": ["nDCG@2"], "conventions": "pytrec_eval", **options}
    evaluated = cc.evaluate(lists, {user: ["a"] for user in lists}, **options)
    return [each for each in evaluated.warnings if each.code == "duplicates_counted"]


@pytest.mark.parametrize(("n_users", "severity"), [(100, "serious"), (101, "notice")])
def test_copies_that_count_as_hits_are_a_warning(n_users: int, severity: str) -> None:
    (warning,) = _copies(n_users, n_with_copies=1)

    assert warning.severity == severity
    assert warning.models == ("recs",)
    assert "1 row of 1 user (recs)" in warning.sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert warning.fix.startswith("set `duplicates` of the conventions to drop or first")
    assert "chunks of one document" in warning.fix


@pytest.mark.parametrize(
    "options",
    [
        {"conventions": cc.preset("pytrec_eval", duplicates="drop")},
        {"conventions": cc.preset("pytrec_eval", duplicates="first")},
        {"metrics": ["Personalization@2"]},  # reads the items only
    ],
)
def test_copies_that_do_not_count_are_no_warning(options: dict[str, Any]) -> None:
    assert not _copies(10, n_with_copies=5, **options)
    assert _copies(10, n_with_copies=5)
    assert not _copies(10, n_with_copies=0)


@pytest.mark.parametrize("preset", ["trec_eval", "pytrec_eval", "ir_measures"])
def test_copies_that_push_the_first_hit_down_are_a_warning(preset: Any) -> None:
    (warning,) = _copies(100, n_with_copies=1, metrics=["RR"], conventions=preset)

    assert warning.severity == "serious"
    assert "they push later hits down: values may be too low" in warning.sentence


@pytest.mark.parametrize(("words", "severities"), [(SEARCH, ["notice"]), (None, [])])
def test_few_queries_without_a_list_of_any_model_are_a_notice_in_search(
    words: Any, severities: list[str]
) -> None:
    models = {name: {u: LISTS[u] for u in range(N - 1)} for name in ("a", "b")}
    options = {"metrics": ["nDCG@10"], "conventions": "standard", "panel": False, "words": words}
    warnings = cc.compare(models, TRUTH, baseline="a", **options).warnings

    assert [each.severity for each in warnings if each.code == "few_lists"] == severities
