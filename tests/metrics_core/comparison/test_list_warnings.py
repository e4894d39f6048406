"""Warnings about lists and truth from `concord.compare` and `concord.evaluate`."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import concord as cc

OPTIONS: dict[str, Any] = {"metrics": ["nDCG@10"], "conventions": "standard"}


def _codes(actual: cc.results.Comparison | cc.results.Evaluation) -> set[str]:
    return {each.code for each in actual.warnings}


def _reranked(n_queries: int = 20) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return ten candidates per query in two orders, and the relevant document of each query."""
    first = {f"q{n}": [f"d{n}-{i}" for i in range(10)] for n in range(n_queries)}
    turned = {query: docs[::-1] for query, docs in first.items()}
    return {"first": first, "again": turned}, {
        query: [docs[n % 10]] for n, (query, docs) in enumerate(first.items())
    }


def test_lists_that_are_ranked_again_do_not_look_sampled() -> None:
    models, truth = _reranked()
    comparison = cc.compare(models, truth, baseline="first", **OPTIONS)
    assert "sampled_candidates" not in _codes(comparison)
    assert "sampled_candidates" not in comparison.checked


def test_lists_look_sampled_where_the_catalogue_is_known_to_be_larger() -> None:
    models, truth = _reranked()
    items = pl.DataFrame({"item": [doc for docs in models["first"].values() for doc in docs]})
    comparison = cc.compare(models, truth, baseline="first", items=items, **OPTIONS)
    assert "sampled_candidates" in _codes(comparison)


def _lists_and_truth(n_users: int = 20) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return ten items per user, and the one to three of them that are relevant."""
    lists = {f"u{n}": [f"i{(7 * n + i) % 50}" for i in range(10)] for n in range(n_users)}
    return lists, {user: items[: 1 + n % 3] for n, (user, items) in enumerate(lists.items())}


def test_lists_and_truth_that_are_swapped_are_a_serious_warning() -> None:
    lists, truth = _lists_and_truth()
    swapped = cc.evaluate(recs=truth, truth=lists, **OPTIONS)
    (warning,) = (each for each in swapped.warnings if each.code == "swapped_tables")
    assert warning.severity == "serious"
    words = "Every user has 10 items in the ground truth, without grades, and the lists have 1 to 3"
    assert words in warning.sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert "swapped_tables" not in _codes(cc.evaluate(lists, truth, **OPTIONS))


@pytest.mark.parametrize(
    ("lists", "truth"),
    [
        ({"n_users": 9}, {}),  # too few users to tell
        ({"length": 5}, {}),  # all lists have one length
        ({}, {"grade": 2}),  # the truth has grades
        ({"scored": True}, {}),
        ({}, {"length": 4}),  # so few relevant items are usual
    ],
)
def test_short_lists_and_long_truths_may_be_meant(
    lists: dict[str, Any], truth: dict[str, Any]
) -> None:
    short = {
        f"u{n}": [f"i{i}" for i in range(lists.get("length", 1 + n % 3))]
        for n in range(lists.get("n_users", 20))
    }
    recs: dict[str, Any] = short
    if "scored" in lists:
        recs = {u: {item: -n for n, item in enumerate(items)} for u, items in short.items()}
    judged = {
        user: {f"i{i}": truth.get("grade", 1) for i in range(truth.get("length", 10))}
        for user in short
    }
    assert "swapped_tables" not in _codes(cc.evaluate(recs, judged, **OPTIONS))


RATINGS = {"u": {"a": 0.5, "b": 4.0}, "v": {"a": 1.0, "b": 2.5, "c": 5.0}}


@pytest.mark.parametrize(("threshold", "metric"), [(1, "nDCG@1"), (1, "P@1"), (None, "P@1")])
def test_ratings_without_a_threshold_are_a_warning(threshold: float | None, metric: str) -> None:
    conventions = cc.preset("standard", relevance_threshold=threshold)
    options: Any = OPTIONS | {"conventions": conventions, "metrics": [metric]}
    lists = {"u": ["a"], "v": ["b"]}
    evaluation = cc.evaluate(lists, RATINGS, **options)
    (warning,) = (each for each in evaluation.warnings if each.code == "low_threshold")
    assert "from 0.5 to 5, look like ratings" in warning.sentence
    remedy = 'set `conventions=cc.preset("standard", relevance_threshold=4)`, '
    assert warning.fix.startswith(remedy)
    comparison = cc.compare({"pop": lists, "als": lists}, RATINGS, baseline="pop", **options)
    assert warning in comparison.warnings


@pytest.mark.parametrize(
    ("preset", "metrics", "is_warned"),
    [
        ("sklearn_ndcg", ["nDCG@2"], False),  # grades are gains
        ("lenskit_graded", ["nDCG@2"], False),
        ("torchmetrics", ["nDCG@2"], False),
        ("torchmetrics", ["nDCG@2", "P@2"], True),  # its precision has a threshold
        ("ms_recommenders", ["P@2"], True),
        ("standard", ["Personalization@2"], False),  # reads no grades
        (
            cc.preset(
                "standard",
                relevance_threshold=4,
                overrides={"nDCG": {"relevance_threshold": 0.5}},
            ),
            ["nDCG@2", "P@2"],
            False,  # it is meant
        ),
        (cc.preset("standard", relevance_threshold=None, err_max_grade=5), ["ERR@2"], False),
        (cc.preset("standard", relevance_threshold=None, gain="binary"), ["nDCG@2"], True),
    ],
)
def test_a_threshold_that_no_metric_uses_is_no_warning(
    preset: Any, metrics: list[str], *, is_warned: bool
) -> None:
    lists = {"u": ["a", "b"], "v": ["b", "c"]}
    evaluation = cc.evaluate(lists, RATINGS, metrics=metrics, conventions=preset)

    assert ("low_threshold" in _codes(evaluation)) == is_warned


PROPENSITY: Any = {"column": "truth", "clip": 0.01, "fewest": 1}


@pytest.mark.parametrize(
    "conventions",
    [
        cc.preset("trec_eval", exclude="same_id", relevance_threshold=0.5, err_max_grade=5),
        cc.preset("standard", propensity=PROPENSITY),
    ],
)
def test_the_remedy_keeps_the_conventions_that_presets_leave_open(conventions: Any) -> None:
    truth = pl.DataFrame(
        [(user, item, grade, 0.5) for user, of in RATINGS.items() for item, grade in of.items()],
        ["user", "item", "grade", "propensity"],
        orient="row",
    )
    columns: Any = {"truth": {"propensity": "propensity"}} if conventions.propensity else {}
    lists = {"u": ["a", "b"], "v": ["b", "c"]}
    warnings = cc.evaluate(
        lists, truth, metrics=["P@2"], conventions=conventions, columns=columns
    ).warnings
    (warning,) = (each for each in warnings if each.code == "low_threshold")
    pasted = eval(f"dict({warning.fix.split('`')[1]})", {"cc": cc})["conventions"]

    assert pasted == replace(conventions, relevance_threshold=4)


@pytest.mark.parametrize(
    "conventions",
    [
        cc.preset("standard", user_no_recs="drop"),
        cc.preset("standard", exclude=cc.data.excluded_pairs({"u": ["c"]})),
    ],
)
def test_the_remedy_names_the_convention_if_it_cannot_write_all(conventions: Any) -> None:
    lists = {"u": ["a", "b"], "v": ["b", "c"]}
    warnings = cc.evaluate(lists, RATINGS, metrics=["P@2"], conventions=conventions).warnings
    (warning,) = (each for each in warnings if each.code == "low_threshold")

    assert warning.fix.startswith("set `relevance_threshold=4` of the conventions, ")


@pytest.mark.parametrize(
    ("grades", "threshold"),
    [
        ((0.5, 1, 2.5, 4, 5), 3),  # a threshold was set
        ((0, 1, 2, 3, 4), 1),  # graded judgements know 0
        ((0.5, 1, 2), 1),  # too few to be a scale
        ((0.5, 7, 40, 120), 1),  # counts
    ],
)
def test_grades_that_are_not_ratings_give_no_warning(
    grades: tuple[float, ...], threshold: float
) -> None:
    truth = {"u": {f"i{n}": grade for n, grade in enumerate(grades)}}
    conventions = cc.preset("standard", relevance_threshold=threshold)
    result = cc.evaluate({"u": ["i1"]}, truth, metrics=["P@1"], conventions=conventions)
    assert "low_threshold" not in _codes(result)


def _requests(counts: list[int]) -> pl.DataFrame:
    rows = [(f"u{u}", f"s{n}", "a", 1) for u, count in enumerate(counts) for n in range(count)]
    return pl.DataFrame(rows, schema=["user", "session", "item", "rank"], orient="row")


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ([10, *[1] * 9], "The user with most requests, of 10, has 52.6 % of all requests: "),
        (
            [19, 19, *[2] * 18],
            "The 2 users with most requests, of 20, have 51.4 % of all requests: ",
        ),
        ([9, *[1] * 9], ""),  # half of the requests
        ([20, 20, *[1] * 17], ""),  # a tenth of 19 users is one
        ([50] * 20 + [1] * 180, ""),  # twenty heavy users are enough
        ([9], ""),
    ],
)
def test_few_users_with_most_requests_are_a_warning(counts: list[int], words: str) -> None:
    lists = _requests(counts)
    options: dict[str, Any] = {
        "metrics": ["P@1"],
        "conventions": cc.preset("standard", unit_mean="requests"),
        "unit": ["user", "session"],
    }
    result = cc.evaluate(lists, lists.drop("rank"), **options)
    warnings = [each for each in result.warnings if each.code == "heavy_users"]
    assert [
        each.sentence.replace("\N{NO-BREAK SPACE}", " ").startswith(words) for each in warnings
    ] == [True] * bool(words)

    comparison = cc.compare({"a": lists, "b": lists}, lists.drop("rank"), baseline="a", **options)
    assert [each for each in comparison.warnings if each.code == "heavy_users"] == warnings

    by_user = options | {"conventions": cc.preset("standard", unit_mean="users")}
    assert "heavy_users" not in _codes(cc.evaluate(lists, lists.drop("rank"), **by_user))
