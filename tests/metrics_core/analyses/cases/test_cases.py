"""`concord.cases`, against hand calculation and plain Python on random data."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.analyses.cases.result import ExampleUser
from concord.metrics_core.errors import InputError
from concord.metrics_core.results.stored import cases_to_json, read_cases

STARS = cc.preset(
    "standard",
    relevance_threshold=4,
    err_max_grade=5,
    overrides={"nDCG": {"relevance_threshold": 1}},
)
LISTS = {
    "als": {"ann": ["a", "b", "c"], "bob": ["x", "d"], "cyd": ["a", "b"], "dan": ["e"]},
    "ease": {"ann": ["b", "a", "c"], "bob": ["d"], "cyd": ["a", "b"], "dan": ["e", "x"]},
}
TRUTH = {"ann": {"b": 5, "c": 2}, "bob": {"d": 4}, "cyd": {"a": 5}, "dan": {"x": 5}}
USERS = pl.DataFrame(
    {"user": ["ann", "bob", "cyd", "dan"], "channel": ["app", "app", "web", "web"]}
)
TITLES = pl.DataFrame(
    {"item": [*"abcdex"], "title": ["An apple", "A bell", None, "A door", "Earth", "X"]}
)
SEGMENTS = {"channel": {"by": "user", "column": "channel"}}


def _cases(metrics: tuple[str, ...] = ("R@2", "nDCG@3"), **changes: Any) -> cc.results.Cases:
    arguments = {"model": "als", "versus": "ease", "conventions": STARS, **changes}
    models, truth = arguments.pop("models", LISTS), arguments.pop("truth", TRUTH)
    return cc.cases(models, truth, metrics=metrics, **arguments)


def _example(cases: cc.results.Cases, user: str) -> ExampleUser:
    (example,) = (case for case in cases.cases if case.user == user)
    return example


def test_users_with_the_largest_losses_come_first_and_overlap_is_over_all_users() -> None:
    cases = _cases(("RR@2",))

    assert [(case.user, case.difference) for case in cases.cases] == [
        ("ann", 1 / 2 - 1 / 1),
        ("bob", 1 / 2 - 1 / 1),
        ("dan", 0 - 1 / 2),
    ]
    assert (cases.n_users, cases.n_behind, cases.n_ahead) == (4, 3, 0)
    # ann {a, b} and {b, a}, bob {x, d} and {d}, cyd equal, dan {e} and {e, x}
    assert cases.jaccard == pytest.approx((2 / 2 + 1 / 2 + 2 / 2 + 1 / 2) / 4)
    assert [case.user for case in _cases(("RR@2",), worst=1).cases] == ["ann"]


def test_users_without_a_list_are_counted_but_are_no_examples() -> None:
    lists = {**LISTS, "als": {user: LISTS["als"][user] for user in ("ann", "cyd", "dan")}}
    cases = _cases(("RR@2",), models=lists)

    assert (cases.n_users, cases.n_behind, cases.n_without_list) == (4, 3, 1)
    assert [case.user for case in cases.cases] == ["ann", "dan"]
    assert "The examples leave out 1 user without a list from als or ease" in repr(cases)


def test_each_value_has_its_hits_and_the_last_line_of_its_derivation() -> None:
    bob = _example(_cases(("RR@2", "R@2", "nDCG@1")), "bob")

    assert [(each.label, each.value_a, each.value_b) for each in bob.metric_values] == [
        ("RR@2", 1 / 2, 1.0),
        ("R@2", 1.0, 1.0),
        ("nDCG@1", 0.0, 1.0),
    ]
    assert [(each.reason_a, each.reason_b) for each in bob.metric_values] == [
        ("hit at 2; RR = 1 / 2  (the first hit)", "hit at 1; RR = 1 / 1  (the first hit)"),
        ("hit at 2; R = 1 / 1  (hits / relevant)", "hit at 1; R = 1 / 1  (hits / relevant)"),
        ("no hit in the top 1; nDCG = 0 / 4", "hit at 1; nDCG = 4 / 4"),
    ]


def test_values_equal_those_of_evaluate() -> None:
    cases = _cases(("RR@2", "nDCG@3", "Novelty@2"), train={"ann": ["a", "d"], "bob": ["a"]})

    for model, column in (("als", "value_a"), ("ease", "value_b")):
        metrics = ["RR@2", "nDCG@3", "Novelty@2"]
        values = cc.evaluate(
            LISTS[model],
            TRUTH,
            metrics=metrics,
            conventions=STARS,
            train={"ann": ["a", "d"], "bob": ["a"]},
        ).per_user
        wide = cases.values.pivot("label", index="user", values=column)
        assert wide.equals(
            values.filter(pl.col("user").is_in([case.user for case in cases.cases])).sort("user")
        )
    assert {
        each.reason_a
        for case in cases.cases
        for each in case.metric_values
        if each.label == "Novelty@2"
    } == {""}


def test_items_below_the_threshold_of_a_metric_name_it() -> None:
    ann = _example(_cases(("RR@2", "nDCG@3")), "ann")
    by_rr, by_ndcg = (
        _example(_cases(metrics), "ann") for metrics in (("RR@2", "nDCG@3"), ("nDCG@3", "RR@2"))
    )

    assert [(each.item, each.grade, each.relevant, each.below) for each in ann.judged] == [
        ("b", 5.0, True, ()),
        ("c", 2.0, False, ("RR@2",)),
    ]
    assert [each.relevant for each in by_rr.list_a] == [False, True]  # a, b in the top 2
    assert [each.relevant for each in by_ndcg.list_a] == [False, True, True]  # a, b, c
    assert _cases(("RR@2", "nDCG@3")).thresholds == {"RR@2": 4, "nDCG@3": 1}


def test_lists_have_ranks_grades_and_titles() -> None:
    cases = _cases(("RR@2",), items=TITLES)
    dan = _example(cases, "dan")

    assert [(x.rank, x.item, x.title, x.grade) for x in dan.list_b] == [
        (1, "e", "Earth", None),
        (2, "x", "X", 5.0),
    ]
    assert [(x.item, x.title, x.rank_a, x.rank_b) for x in dan.judged] == [("x", "X", None, 2)]
    assert dan.jaccard == 1 / 2
    assert cases.to_frame().columns == [
        "user",
        "difference",
        "Jaccard@2",
        "RBO(p=0.9)@2",
        "n_train",
    ]
    assert cases.lists.filter(user="dan", list="ease")["item"].to_list() == ["e", "x"]


def test_items_have_recall_and_exposure() -> None:
    items = _cases(("R@1",)).items

    assert items.select("item", "recall_a", "recall_b", "exposure_a", "exposure_b").rows() == [
        ("b", 0 / 1, 1 / 1, 0 / 4, 1 / 4),
        ("d", 0 / 1, 1 / 1, 0 / 4, 1 / 4),
    ]


def test_an_item_selects_users_with_it_in_truth_or_list() -> None:
    assert {case.user for case in _cases(("R@2",), item="a").cases} == {"ann", "cyd"}
    assert {case.user for case in _cases(("R@2",), item="x").cases} == {"bob", "dan"}


def test_a_segment_restricts_to_its_users() -> None:
    cases = _cases(("RR@2",), users=USERS, segments=SEGMENTS, segment="channel=app")

    assert [case.user for case in cases.cases] == ["ann", "bob"]
    assert (cases.n_users, cases.segment) == (2, "channel=app")
    assert cases.cases[0].segments == {"channel": "app"}
    assert cases.to_frame()["channel"].to_list() == ["app", "app"]


def test_the_first_replicate_represents_its_model() -> None:
    models = {"als": {"replicates": {1: LISTS["als"], 2: LISTS["ease"]}}, "ease": LISTS["ease"]}

    cases, second = (
        _cases(("RR@2",), models=models),
        _cases(("RR@2",), models=models, model="als-2"),
    )

    assert (cases.a, cases.model_a, cases.b, cases.model_b) == ("als-1", "als", "ease", "ease")
    assert cases.cases == _cases(("RR@2",)).cases
    assert second.n_behind == 0


def test_lists_of_a_fold_are_compared_with_its_truth() -> None:
    models = {name: {"replicates": {1: LISTS[name], 2: LISTS[name]}} for name in LISTS}
    truth = {"replicates": {1: TRUTH, 2: {"ann": {"a": 5}}}}

    cases = _cases(("RR@2",), models=models, truth=truth, model="als-2", versus="ease-2")

    assert cases.n_users == 1
    assert (cases.n_behind, cases.n_ahead) == (0, 1)
    with pytest.raises(cc.InputError, match="als-1 on fold 1 and ease-2 on fold 2"):
        _cases(("RR@2",), models=models, truth=truth, versus="ease-2")


@pytest.mark.parametrize(
    ("changes", "where", "message"),
    [
        ({"model": "alz"}, "model", "did you mean 'als'?"),
        ({"worst": 0}, "worst", "write a whole number above 0"),
        ({"item": "zebra"}, "item", "'zebra' is in no ground truth and in no list"),
        ({"segment": "channel=app"}, "segment", "add some to `segments`"),
        (
            {"segment": "channel=tv", "users": USERS, "segments": SEGMENTS},
            "segment",
            "name one of: channel=app, channel=web",
        ),
        ({"metrics": ("Coverage@2",)}, "metrics", "is one number over all users"),
        ({"segments": SEGMENTS}, "segments.channel", "needs users"),
        (
            {
                "models": {"als": {"ann": ["b"], "bob": []}, "ease": {"ann": [], "bob": ["d"]}},
                "conventions": replace(STARS, user_no_recs="drop"),
                "metrics": ("RR@2",),
            },
            "cases",
            "no requested user has a value of RR@2 from both models",
        ),
    ],
)
def test_invalid_arguments_are_refused(changes: dict[str, Any], where: str, message: str) -> None:
    with pytest.raises(cc.InputError) as refused:
        _cases(**changes)

    assert str(refused.value).startswith(f"{where}: ")
    assert message in str(refused.value)


Dataset = tuple[dict[str, dict[str, list[str]]], dict[str, dict[str, int]]]


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    some = st.permutations("abcdefg").flatmap(
        lambda x: st.integers(0, 7).map(lambda n: list(x[:n]))
    )
    users = [f"u{n}" for n in range(draw(st.integers(1, 6)))]
    lists = {name: {user: draw(some) for user in users} for name in ("one", "two")}
    grades = st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 5), min_size=1)
    truth = {user: draw(grades) for user in users}
    for (
        items
    ) in lists.values():  # neither tables without a row nor thresholds that no grade reaches
        items["v"] = ["a"]
    return lists, {**truth, "v": {"a": 5}}


def _reference(dataset: Dataset, k: int) -> dict[str, Any]:
    """Return the losses in recall by user, and the counts of each item with fewer hits."""
    lists, truth = dataset
    behind: list[tuple[float, str]] = []
    items: dict[str, list[int]] = {}
    for user, grades in truth.items():
        relevant = {item for item, grade in grades.items() if grade >= 4}
        tops = [lists[name][user][:k] for name in ("one", "two")]
        for item in set("abcdefg"):
            row = items.setdefault(item, [0] * 5)
            row[0] += item in relevant
            for side, top in enumerate(tops):
                row[1 + side] += item in relevant and item in top
                row[3 + side] += item in top
        if relevant:
            one, two = (len(relevant.intersection(top)) / len(relevant) for top in tops)
            if one < two and all(lists[name][user] for name in ("one", "two")):
                behind.append((one - two, user))
    fewer_hits = {item: row for item, row in items.items() if row[1] < row[2]}
    return {"behind": sorted(behind), "items": fewer_hits}


@given(datasets(), st.sampled_from([1, 3, 10]))
def test_random_data_give_the_result_of_the_reference(dataset: Dataset, k: int) -> None:
    lists, truth = dataset
    conventions = replace(STARS, user_empty_truth="zero", user_both_empty="zero")

    cases = cc.cases(
        lists, truth, model="one", versus="two", metrics=[f"R@{k}"], conventions=conventions
    )

    expected = _reference(dataset, k)
    assert [(case.difference, case.user) for case in cases.cases] == expected["behind"]
    reported = {
        x.item: [x.n_relevant, x.hits_a, x.hits_b, x.shown_a, x.shown_b] for x in cases.item_cases
    }
    assert reported == expected["items"]
    for case in cases.cases:
        tops = [set(lists[name][case.user][:k]) for name in ("one", "two")]
        union = tops[0] | tops[1]
        assert case.jaccard == (len(tops[0] & tops[1]) / len(union) if union else None)
        assert [x.item for x in case.list_a] == lists["one"][case.user][:k]


NUMBERS = {"ann": 1, "bob": 20, "cyd": 3, "dan": 40}


def _frames(kind: type[pl.DataType], seed: int | None = None) -> dict[str, Any]:
    """Return lists and truth as frames, with user ids of this type; a seed shuffles the rows."""

    def frame(rows: list[tuple[Any, ...]], column: str) -> pl.DataFrame:
        ordered = pl.DataFrame(rows, schema=["user", "item", column], orient="row")
        ordered = ordered.with_columns(pl.col("user").replace_strict(NUMBERS).cast(kind))
        return ordered if seed is None else ordered.sample(fraction=1, shuffle=True, seed=seed)

    def ranked(lists: dict[str, list[str]]) -> list[tuple[Any, ...]]:
        return [(u, item, rank) for u, items in lists.items() for rank, item in enumerate(items, 1)]

    models = {name: frame(ranked(lists), "rank") for name, lists in LISTS.items()}
    grades = [(user, *pair) for user, judged in TRUTH.items() for pair in judged.items()]
    return {"models": models, "truth": frame(grades, "grade")}


@pytest.mark.parametrize("kind", [pl.Int64, pl.String])
def test_order_of_rows_and_type_of_ids_change_nothing(kind: type[pl.DataType]) -> None:
    shuffled = {"models": _frames(kind, 3)["models"], "truth": _frames(pl.Int64, 4)["truth"]}

    assert _cases(**shuffled, items=TITLES) == _cases(**_frames(pl.String), items=TITLES)


def test_a_repeated_item_counts_at_its_first_rank() -> None:
    twice = {"als": {"ann": ["a", "a", "b"]}, "ease": {"ann": ["b", "a", "c"]}}
    keeping = replace(STARS, duplicates="keep")

    cases = cc.cases(
        twice, {"ann": {"b": 5}}, model="als", versus="ease", metrics=["RR@3"], conventions=keeping
    )

    (ann,) = cases.cases
    assert [(each.rank, each.item) for each in ann.list_a] == [(1, "a"), (3, "b")]
    assert ann.jaccard == 2 / 3


def test_text_html_and_json_have_the_same_content() -> None:
    cases = _cases(("RR@2",), items=TITLES)

    assert json.loads(json.dumps(cases.to_dict()))["n_behind"] == 3
    for text in (cases.summary, repr(cases), cases._repr_html_()):
        assert "3 of 4 users have a lower RR@2 with als than with ease" in text
    assert "<td" in cases._repr_html_()
    assert len(repr(cases).splitlines()) == 20 < len(cases.summary.splitlines())


def test_cases_json_is_read_back_unchanged(tmp_path: Path) -> None:
    file, cases = (
        tmp_path / "cases.json",
        _cases(items=TITLES, users=USERS, segments=SEGMENTS, input={"unknown_items": "keep"}),
    )
    file.write_text(cases_to_json(cases), encoding="utf-8")

    assert read_cases(file) == cases
    for old, new, message in (
        ('"schema": 1', '"schema": 2', "has schema 2"),
        ('"title"', '"name"', "Field required"),
    ):
        file.write_text(cases_to_json(cases).replace(old, new, 1))
        with pytest.raises(InputError, match=message):
            read_cases(file)
