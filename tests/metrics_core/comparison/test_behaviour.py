"""Overlap with the baseline, its notices, and the owner's checks on lists."""

import random
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.comparison import top_lists
from concord.metrics_core.comparison.top_lists import P

ITEMS = pl.DataFrame(
    {
        "item": ["a", "b", "c", "d"],
        "rating": ["adult", "all", "all", "adult"],
        "categories": ["x|y", "y", "z", "x"],
        "title": ["A", "B", "C", "D"],
    }
)
USERS = pl.DataFrame(
    {
        "user": ["u1", "u2", "u3", "u4"],
        "age_group": ["minor", "minor", "adult", "adult"],
        "age": [9, 12, 40, 51],
        "is_child": [True, True, False, False],
    }
)
TRUTH = {user: ["b"] for user in USERS["user"]}
MODELS = {
    "production": {"u1": ["b", "c"], "u2": ["b", "c"], "u3": ["b", "c"]},
    "new": {"u1": ["a", "b", "d"], "u2": ["b", "c"], "u3": ["c", "b"], "u4": ["a", "b"]},
}
NEVER = {"never": {"items": {"group": "adult"}, "users": {"age_group": "minor"}}}
GATE = {"guardrails": {"R@3": 0.99}}


def _compare(checks: Any = None, models: Any = MODELS, **other: Any) -> cc.results.Comparison:
    arguments = {"metrics": ["R@3"], "baseline": "production", "resamples": 99, "panel": False}
    tables = {"items": ITEMS, "users": USERS, "columns": {"items": {"group": "rating"}}}
    policies = {"input": {"unknown_items": "keep"}}
    return cc.compare(models, TRUTH, checks=checks, **{**arguments, **tables, **policies, **other})


def test_other_failures_of_a_gate_are_named_without_repetition() -> None:
    models = {**MODELS, "worst": {user: ["a", "d"] for user in TRUTH}}
    decision = _compare({"adult": NEVER}, models, gate={"guardrails": {"R@3": 0.01}}).gate
    assert decision is not None
    _, reason, others = decision.lines

    assert reason == (  # a and d
        "new fails the check adult: 1 of 2 lists has a forbidden item in the top 3, at 2 places."
    )
    assert others == (
        "Also worse: worst on the check adult. Undecided: 2 guardrails. Improve the model or leave "
        "it out; if this is intended, change `checks:`. Checked: 2 guardrails of 2 models."
    )


def test_overlap_is_over_users_with_both_lists() -> None:
    (overlap,) = _compare().overlaps

    assert (overlap.model, overlap.k, overlap.n_users) == ("new", 3, 3)
    # u4 has no list of the baseline; u1 shares b of a, b, c, d; u2 and u3 share both items, u3 in
    # another order
    assert overlap.jaccard == pytest.approx((1 / 4 + 1 + 1) / 3)
    assert overlap.same == pytest.approx(1 / 3)


def test_lists_of_many_users_are_compared_for_evenly_chosen_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(top_lists, "MAX_USERS", 2)
    (overlap,) = _compare().overlaps

    assert overlap.n_users == 2  # u1 and u3
    assert overlap.same == 0.0


def test_items_of_a_condition_are_in_no_list_of_its_users() -> None:
    production, new = _compare({"adult": NEVER}).checks

    assert production.passed
    assert (production.n_users, production.n_failed) == (2, 0)
    assert not new.passed  # u1 has a and d; u4, who has a, is an adult
    assert (new.n_users, new.n_failed, new.n_places) == (2, 1, 2)
    assert [(x.user, x.item, x.rank) for x in new.examples] == [("u1", "a", 1), ("u1", "d", 3)]


@pytest.mark.parametrize(
    ("rule", "failed"),
    [
        ({"items": {"group": "adult"}}, 2),
        ({"items": {"group": "adult"}, "k": 1}, 2),
        ({"items": {"group": ["adult", "all"]}}, 4),
        ({"items": {"categories": "z"}, "users": {"age": 12}}, 1),
        ({"items": {"group": "adult", "title": "D"}}, 1),  # both conditions: only d
        ({"items": {"group": "adult"}, "users": {"is_child": False, "age": [40, 51]}}, 1),
    ],
)
def test_conditions_hold_together_and_any_of_their_values_meets_them(
    rule: dict[str, Any], failed: int
) -> None:
    new = _compare({"rule": {"never": rule}}).checks[-1]

    assert (new.model, new.n_failed) == ("new", failed)


def test_lists_keep_a_share_of_the_other_lists() -> None:
    rule = {"with": "production", "at_least": 0.8, "k": 2}
    (check,) = _compare({"stable": {"overlap": rule}}).checks

    # in the top 2, u1 keeps b of b and c; u2 and u3 keep both
    assert check.share == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert (check.passed, check.n_users, check.n_failed) == (True, 3, 1)
    assert [(each.user, each.share) for each in check.examples] == [("u1", 0.5)]
    assert not _compare({"stable": {"overlap": rule | {"at_least": 0.84}}}).checks[0].passed


def test_a_mean_share_that_is_the_bound_is_enough() -> None:
    users = ["u1", "u2", "u3"]
    lists = {user: [f"i{n}" for n in range(10)] for user in users}
    kept = {user: [*items[:7], "x", "y", "z"] for user, items in lists.items()}
    rule = {"with": "production", "at_least": 0.7}
    models = {"production": lists, "new": kept}
    (check,) = _compare({"stable": {"overlap": rule}}, models, metrics=["R@10"]).checks

    assert check.passed  # 3 × 0.7 / 3, in floating point
    assert check.n_failed == 0


def test_a_model_that_fails_a_check_is_worse_and_the_baseline_changes_nothing() -> None:
    models = {"production": MODELS["new"], "new": MODELS["production"], "same": MODELS["new"]}
    decision = _compare({"adult": NEVER}, models, gate=GATE).gate
    assert decision is not None
    outcomes = {each.model: each.outcome for each in decision.models}

    assert outcomes["new"] != "worse"
    assert outcomes["same"] == decision.outcome == "worse"
    assert "same fails the check adult: 1 of 2 lists has a forbidden item" in decision.lines[1]
    assert all(not check.examples for check in decision.models[1].failed_checks)


@pytest.mark.parametrize(
    ("checks", "problem"),
    [
        ([1], r"checks: is \[1\]"),
        ({"a": 3}, "checks.a: is 3"),
        ({"a": {"never": {}, "overlap": {}}}, "checks.a: is {'never'"),
        ({"a": {"never": {"k": 0}}}, r"(?s)items: is missing.*checks.a.never.k: is 0"),
        ({"a": {"never": {"item": {"group": "x"}}}}, "did you mean 'items'"),
        ({"a": {"never": {"items": {"group": []}}}}, "checks.a.never.items: is {'group'"),
        ({"a": {"overlap": {"with": "new", "at_least": 70}}}, "at_least: is 70"),
        ({"a": {"overlap": {"with": "new", "at_least": np.array([0.5, 0.6])}}}, "at_least: is arr"),
        ({"a": {"overlap": {"with": "old", "at_least": 0.7}}}, "'old' is not among the models"),
        ({"a": {"never": {"items": {"group": "adlt"}}}}, "did you mean 'adult'"),
        ({"a": {"never": {"items": {"rating": "adult"}}}}, "items have no column 'rating'"),
        (
            {"a": {"never": {"items": {"group": "adult"}, "users": {"aeg": 9}}}},
            "users have no column 'aeg'\n  fix: did you mean 'age'",
        ),
    ],
)
def test_checks_that_cannot_be_meant_are_refused(checks: Any, problem: str) -> None:
    with pytest.raises(cc.InputError, match=problem):
        _compare(checks)


def test_a_condition_needs_its_table() -> None:
    with pytest.raises(cc.InputError, match=r"checks.adult.never.users: needs users"):
        _compare({"adult": NEVER}, users=None)


def test_equal_lists_and_one_list_for_all_are_notices() -> None:
    users = ["u1", *(f"v{n}" for n in range(19))]
    personal = {user: [f"i{n}", f"i{n + 1}", f"i{n + 2}"] for n, user in enumerate(users)}
    models = {
        "production": personal,
        "copy": {**personal},
        "popular": {user: ["b", "c", "d"] for user in users},
    }
    notices = {
        each.code: each
        for each in _compare(models=models).warnings
        if each.code in {"one_list", "same_lists"}
    }

    assert {code: each.models for code, each in notices.items()} == {
        "one_list": ("popular",),
        "same_lists": ("production", "copy"),
    }
    assert {each.severity for each in notices.values()} == {"notice"}

    first, *others = personal  # the only user with both lists
    halves = {"production": [first, *others[:10]], "other": [first, *others[10:]]}
    models = {model: {u: personal[u] for u in half} for model, half in halves.items()}
    assert "same_lists" not in {each.code for each in _compare(models=models).warnings}
    assert all(each.sentence and each.fix for each in notices.values())


@pytest.mark.parametrize("seed", range(12))
def test_plain_python_gives_the_same(seed: int) -> None:
    random_ = random.Random(seed)
    items, users = list(range(30)), list(range(15))
    models = {
        name: {
            user: random_.sample(items, random_.randint(1, 8))
            for user in users
            if random_.random() < 0.8
        }
        for name in ("production", "new", "third")
    }
    group = {item: random_.choice(["adult", "all", "other"]) for item in items[:-2]}
    group |= {0: "adult"}
    age = {user: random_.choice(["minor", "adult"]) for user in users[1:]} | {0: "minor"}
    k, at_least = random_.randint(1, 6), random_.choice([0.1, 0.3, 0.5])
    comparison = cc.compare(
        models,
        {user: [random_.choice(items)] for user in users},
        metrics=["R@5"],
        baseline="production",
        resamples=99,
        panel=False,
        items=pl.DataFrame({"item": group.keys(), "group": group.values()}, strict=False),
        users=pl.DataFrame({"user": age.keys(), "age": age.values()}, strict=False),
        columns={"items": {"group": "group"}},
        input={"unknown_items": "keep"},
        checks={
            "adult": {"never": {"items": {"group": "adult"}, "users": {"age": "minor"}, "k": k}},
            "stable": {"overlap": {"with": "third", "at_least": at_least, "k": k}},
        },
    )

    for overlap in comparison.overlaps:
        pairs = _pairs(models[overlap.model], models["production"], 5)
        expected = [len({*a} & {*b}) / len({*a} | {*b}) for a, b in pairs]
        assert overlap.jaccard == pytest.approx(sum(expected) / len(pairs))
        assert overlap.rbo == pytest.approx(sum(_rbo(a, b) for a, b in pairs) / len(pairs))
        assert overlap.same == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
        assert overlap.n_users == len(pairs)
    for check in comparison.checks:
        lists = models[check.model]
        if check.kind == "never":
            minors = {user: lists[user][:k] for user in lists if age.get(user) == "minor"}
            places = [
                (str(user), str(item), rank)
                for user, top in minors.items()
                for rank, item in enumerate(top, 1)
                if group.get(item) == "adult"
            ]
            assert (check.n_users, check.n_places) == (len(minors), len(places))
            found = [(each.user, each.item, each.rank) for each in check.examples]
            assert found == sorted(places, key=lambda place: (place[0], place[2]))[:5]
        else:
            pairs = _pairs(lists, models["third"], k)
            kept = [len({*a} & {*b}) / len(b) for a, b in pairs]
            assert check.share == pytest.approx(sum(kept) / len(kept))
            assert check.n_failed == sum(share < at_least - 1e-9 for share in kept)


def _pairs(a: dict[int, list[int]], b: dict[int, list[int]], k: int) -> list[tuple[Any, Any]]:
    return [(a[user][:k], b[user][:k]) for user in a if user in b]


def _rbo(a: list[int], b: list[int]) -> float:
    """Return rank-biased overlap, extrapolated; Webber et al. (2010), equation 32."""
    short, long = sorted((a, b), key=len)
    s, size = len(short), len(long)
    x = [len({*short[:d]} & {*long[:d]}) for d in range(size + 1)]
    first = sum(x[d] / d * P**d for d in range(1, size + 1))
    second = sum(x[s] * (d - s) / (s * d) * P**d for d in range(s + 1, size + 1))
    return (1 - P) / P * (first + second) + ((x[size] - x[s]) / size + x[s] / s) * P**size


def test_order_of_rows_and_types_of_ids_change_nothing() -> None:
    rows = [
        (user, item, rank)
        for user in range(12)
        for rank, item in enumerate([user, user + 1, 50, 50 + user][: 2 + user % 3], 1)
    ]
    lists = pl.DataFrame(rows, ["user", "item", "rank"], orient="row")
    other = lists.with_columns(pl.col("item").replace(50, 60))
    arguments: dict[str, Any] = {
        "truth": {user: [50] for user in range(12)},
        "metrics": ["R@3"],
        "baseline": "a",
        "resamples": 99,
        "panel": False,
        "checks": {"stable": {"overlap": {"with": "a", "at_least": 0.9}}},
    }
    expected = cc.compare({"a": lists, "b": other}, **arguments)
    shuffled = {"a": lists.sample(fraction=1, shuffle=True, seed=1), "b": other.reverse()}
    as_text = {"a": lists, "b": other.with_columns(pl.col("user", "item").cast(pl.String))}

    for models in (shuffled, as_text):
        comparison = cc.compare(models, **arguments)
        assert comparison.overlaps == expected.overlaps
        assert comparison.checks == expected.checks


def test_later_copies_of_an_item_do_not_count() -> None:
    models = {"production": {"u1": ["a", "b", "a"]}, "new": {"u1": ["a", "b"]}}
    (overlap,) = _compare(
        models=models, conventions=cc.preset("standard", duplicates="keep")
    ).overlaps

    assert (overlap.jaccard, overlap.rbo, overlap.same) == pytest.approx((1.0, 1.0, 1.0))
