"""`concord.audit`, against a worked example and a reference in plain Python."""

import json
import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import concord as cc
from concord.metrics_core.errors import InputError
from tests.metrics_core.analyses.audit import audit_reference as reference

COLUMNS = {"truth": {"time": "time"}, "train": {"time": "time"}}
TRAIN = [("a", "x", 1), ("a", "y", 5), ("b", "x", 2), ("b", "z", 9), ("c", "y", 3)]
TRUTH = [("a", "z", 4), ("b", "y", 6), ("b", "z", 10), ("c", "x", 7), ("d", "w", 8)]
LISTS = {"a": ["z", "w"], "b": ["y", "x"], "c": ["z"], "d": ["x"]}
ARGUMENTS: dict[str, Any] = {"metrics": ["Hit@2"], "conventions": "standard", "columns": COLUMNS}
TITLES = {"x": "Up", "y": " up", "z": "Coco", "w": "WALL·E"}


def rows(items: Any) -> pl.DataFrame:
    return pl.DataFrame(items, schema=["user", "item", "time"], orient="row")


def example_audit(models: Any = None, **changes: Any) -> cc.results.Audit:
    arguments: dict[str, Any] = {
        "train": rows(TRAIN),
        "items": pl.DataFrame({"item": list(TITLES), "title": list(TITLES.values())}),
        **ARGUMENTS,
    }
    return cc.audit(models or {"als": LISTS}, rows(TRUTH), **(arguments | changes))


@pytest.fixture(scope="module")
def audit() -> cc.results.Audit:
    return example_audit()


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("truth_before_train", (2, 5, 2, 2)),  # a: y at 5, truth from 4; b: z at 9, truth from 6
        ("train_after_truth", (2, 5, 4, 2)),  # those two are later than 4; all begin before 9
        ("future_items", (2, 6, 2, 1)),  # z is new at 9; the truth of a ends at 4, that of c at 7
        ("items_born_after", (1, 5, 1, 1)),  # z is in the truth of a at 4
        ("users_born_after", (0, 5, 0, 0)),
        ("truth_in_train", (1, 5, 1, 1)),  # b and z
        ("item_copies", (2, 5, 2, 2)),  # Up: b has x in train and y in truth, c vice versa
        ("user_copies", (0, 5, 0, 0)),
        ("cold_users", (1, 5, 1, 1)),  # d
        ("cold_items", (1, 5, 1, 1)),  # w
    ],
)
def test_each_check_counts_rows_users_and_items(
    audit: cc.results.Audit, check: str, expected: tuple[int, ...]
) -> None:
    count = audit[check].count

    assert (count.rows, count.of_rows, count.users, count.items) == expected
    assert count.of_users == 4
    assert count.is_performed
    assert (count.severity is not None) == bool(count.rows)


def test_drift_is_the_divergence_of_shares(audit: cc.results.Audit) -> None:
    """x and y have 2 of 5 rows of train and 1 of 5 of the truth, z 1 and 2, w 0 and 1."""
    train = 2 * 0.4 * math.log2(0.4 / 0.3) + 0.2 * math.log2(0.2 / 0.3)
    truth = 2 * 0.2 * math.log2(0.2 / 0.3) + 0.4 * math.log2(0.4 / 0.3) + 0.2 * math.log2(2)

    assert audit["popularity_drift"].count.bits == pytest.approx((train + truth) / 2)


def test_means_are_shown_with_and_without_affected_users(audit: cc.results.Audit) -> None:
    """a and b have a hit, c and d do not; the truth of a and b begins before their train ends."""
    (effect,) = audit["truth_before_train"].effects

    assert (effect.model, effect.label) == ("als", "Hit@2")
    assert (effect.mean, effect.n_users) == (2 / 4, 4)
    assert (effect.mean_without, effect.n_without, effect.shift) == (0 / 2, 2, -2 / 4)
    assert (effect.ci_low, effect.ci_high) == (None, None)  # fewer than ten users


def test_examples_name_rows(audit: cc.results.Audit) -> None:
    assert audit["truth_before_train"].examples == (
        {"user": "a", "item": "y", "train_time": 5, "truth_time": 4},
        {"user": "b", "item": "z", "train_time": 9, "truth_time": 6},
    )
    assert audit["item_copies"].examples == (
        {"user": "b", "item": "y", "copy": "x"},
        {"user": "c", "item": "x", "copy": "y"},
    )


def test_warnings_equal_those_of_a_comparison(audit: cc.results.Audit) -> None:
    comparison = cc.compare(
        {"als": LISTS}, rows(TRUTH), baseline="als", train=rows(TRAIN), **ARGUMENTS
    )

    warnings = {each.code: each for each in comparison.warnings}
    assert audit["truth_in_train"].warning == warnings["truth_in_train"]
    signs = warnings["split_not_by_time"].details["parts"]
    assert set(signs) == {"truth_before_train", "future_items", "items_born_after"}
    for name, sign in signs.items():
        warning = audit[name].warning
        assert warning is not None
        assert (warning.code, warning.details["parts"]) == ("split_not_by_time", {name: sign})
        assert audit[name].count.severity == warning.severity
    serious = {each.name for each in audit.findings if each.count.severity == "serious"}
    signs_and_codes = {*signs, *(each.code for each in comparison.serious)}
    assert serious - signs_and_codes == {"item_copies"}  # audit only


def test_users_with_later_train_rows_are_reported_by_both() -> None:
    later = rows([("a", "x", 20), *TRAIN[2:]])
    comparison = cc.compare({"als": LISTS}, rows(TRUTH), baseline="als", train=later, **ARGUMENTS)
    (warning,) = (each for each in comparison.warnings if each.code == "split_not_by_time")
    found = example_audit(train=later)["users_born_after"].warning
    assert found is not None
    assert warning.details["parts"].items() >= found.details["parts"].items()
    assert "1 user whose first training row is later" in warning.sentence.replace(
        "\N{NO-BREAK SPACE}", " "
    )


def test_frames_and_json_have_all_checks(audit: cc.results.Audit) -> None:
    content = json.loads(json.dumps(audit.to_dict(), allow_nan=False))

    table = audit.to_frame()
    assert table["check"].to_list() == [check.name for check in audit.checks]
    assert audit.effects.filter(check="truth_before_train")["shift"].to_list() == [-0.5]
    assert audit.reversals.is_empty()
    assert [each["count"]["check"] for each in content["checks"]] == table["check"].to_list()
    assert repr(audit).startswith("8 of 11 checks found something, 4 users, conventions standard ")


def test_checks_of_times_are_not_made_without_times() -> None:
    audit = example_audit(columns={})

    assert [check.name for check in audit.not_performed] == [
        "truth_before_train",
        "train_after_truth",
        "future_items",
        "items_born_after",
        "users_born_after",
    ]
    assert all(check.count.rows is None for check in audit.not_performed)
    assert "{'truth': {'time': …}, 'train': {'time': …}}" in audit.times_fix
    assert audit["truth_in_train"].count.rows == 1


def test_train_of_other_users_has_the_warning_of_a_comparison() -> None:
    cold_users = example_audit(train=rows([("nobody", "x", 1)]))["cold_users"]

    assert cold_users.count.severity == "serious"
    assert cold_users.warning is not None
    assert cold_users.warning.code == "unrelated_train"


def test_ids_of_different_types_are_compared_as_text() -> None:
    """The train has integers, the truth strings."""
    audit = cc.audit(
        {"als": {"1": ["7"]}},
        {"1": ["7"]},
        train=pl.DataFrame({"user": [1], "item": [7]}),
        metrics=["Hit@1"],
        conventions="standard",
    )

    assert audit["truth_in_train"].count.rows == 1
    assert audit["truth_in_train"].effects[0].n_without == 0


def test_replicates_and_folds_are_combined() -> None:
    folds = {n: rows([row for row in TRUTH if (row[0] in "ab") == (n == 1)]) for n in (1, 2)}
    lists = {n: {user: LISTS[user] for user in users} for n, users in ((1, "ab"), (2, "cd"))}

    audit = cc.audit(
        {"als": {"replicates": lists}}, {"replicates": folds}, train=rows(TRAIN), **ARGUMENTS
    )

    assert audit.models == ("als",)
    assert audit["truth_in_train"].count.rows == 1
    assert audit["future_items"].count.rows == 2
    assert audit["truth_before_train"].effects[0].mean_without == 0


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"metrics": ["Coverage@2"]}, "metrics"),
        ({"metrics": ["Hit@2", "Hit@2"]}, "metrics"),
        ({"confidence": 2}, "confidence"),
        ({"columns": {"train": {"when": "time"}}}, "columns: train: 'when'"),
        ({"models": {"truth": LISTS}}, "models"),
    ],
)
def test_invalid_arguments_are_refused(changes: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as refused:
        example_audit(**changes)

    assert {problem.where for problem in refused.value.problems} == {where}


_ids, _times = st.integers(0, 4), st.integers(0, 6)
_train = st.lists(st.tuples(_ids, _ids, _times), min_size=1, max_size=14)
_truth = st.dictionaries(st.tuples(_ids, _ids), _times, min_size=1, max_size=10)
_lists = st.dictionaries(_ids, st.permutations(range(5)), min_size=1)


@settings(max_examples=20)  # a second each
@given(_train, _truth, _lists)
def test_counts_equal_the_reference(
    train: list[reference.Row], times: dict[tuple[int, int], int], lists: dict[int, list[int]]
) -> None:
    truth = [(user, item, time) for (user, item), time in times.items()]
    lists.setdefault(truth[0][0], [0, 1, 2, 3, 4])  # one user is evaluated

    audit = cc.audit({"als": lists}, rows(truth), train=rows(train), **ARGUMENTS)

    for check, counted in reference.checks(train, truth, lists, k=2).items():
        count = audit[check].count
        assert (count.rows, count.users, count.items) == (
            counted.rows,
            len(counted.users),
            len(counted.items),
        ), check
        assert bool(audit[check].effects) == bool(counted.users)
    assert audit["popularity_drift"].count.bits == pytest.approx(
        reference.divergence(train, truth), abs=1e-12
    )


def test_the_order_of_rows_changes_nothing(audit: cc.results.Audit) -> None:
    reverse = cc.audit(
        {"als": dict(reversed(LISTS.items()))},
        rows(TRUTH[::-1]),
        train=rows(TRAIN[::-1]),
        items=pl.DataFrame({"item": list(TITLES), "title": list(TITLES.values())}).reverse(),
        **ARGUMENTS,
    )

    assert reverse == audit
