"""Warnings that are acknowledged, in `compare` and by the function that params.yaml uses."""

import json
from typing import Any

import numpy as np
import pytest

import concord as cc
from concord.metrics_core.comparison.warnings.acknowledge import (
    CODES,
    acknowledge_warnings,
    parse_acknowledgements,
)
from concord.metrics_core.errors import InputError
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.results.stored import from_content, to_content
from concord.reports.text import warnings as texts

REASON = "repeat purchases are wanted"
USERS = range(40)
TRUTH = {user: {f"i{user % 5}": 1, "new": 1} for user in USERS}  # half of it is in train


def compared(**acknowledge: Any) -> cc.results.Comparison:
    return cc.compare(
        {"als": {user: [f"i{n}" for n in range(5)] for user in USERS}},
        TRUTH,
        train={user: [f"i{user % 5}", "old"] for user in range(50)},
        metrics=["nDCG@10"],
        baseline="als",
        conventions="standard",
        panel=False,
        acknowledge=acknowledge or None,
    )


def test_an_acknowledged_warning_comes_last_and_is_not_serious() -> None:
    comparison = compared(truth_in_train={"reason": REASON, "up_to": "50%"})

    assert compared().serious[0].code == "truth_in_train"
    assert comparison.serious == ()
    last = comparison.warnings[-1]
    assert (last.code, last.severity, last.is_acknowledged) == ("truth_in_train", "serious", True)
    assert last.sentence == compared().serious[0].sentence
    stored = json.loads(json.dumps(to_content(comparison)))
    assert stored["warnings"][-1]["acknowledgement"] == {
        "reason": REASON,
        "up_to": "50%",
        "is_exceeded": False,
    }
    assert from_content(stored) == comparison
    assert "acknowledgement" not in to_content(compared())["warnings"][0]


def test_a_warning_beyond_its_acknowledged_extent_counts_again() -> None:
    (warning,) = compared(truth_in_train={"reason": REASON, "up_to": "49.9%"}).serious

    assert warning.sentence.replace("\N{NO-BREAK SPACE}", " ").endswith(
        f"More than was acknowledged: {REASON} (up to 49.9 %)."
    )


@pytest.mark.parametrize(
    ("code", "details", "enough", "too_little"),
    [
        ("split_not_by_time", {"share": 0.29}, "29%", "28.9%"),
        ("duplicates_counted", {"share": 0.29}, "29%", "28.9%"),
        ("truth_in_train", {"rows": 58, "of_rows": 200}, "29%", "28%"),
        ("user_sets_differ", {"without_list": {"a": 1, "b": 3}, "n_users": 10}, "30%", "29%"),
        ("user_sets_differ", {"without_values": {"a": 3}, "n_users": 10}, "30%", "29%"),
        ("few_lists", {"without_list": 6, "n_users": 10}, "60%", "50%"),
        ("not_in_catalogue", {"rows": 12}, 12, 0),
    ],
)
def test_extents_are_shares_or_counts(
    code: str, details: dict[str, Any], enough: Any, too_little: Any
) -> None:
    warning = DataWarning(code, "serious", (), details)
    for up_to, is_acknowledged in ((enough, True), (None, True), (too_little, False)):
        parsed = parse_acknowledgements({code: {"reason": REASON, "up_to": up_to}})
        (marked,) = acknowledge_warnings([warning], parsed)
        assert marked.is_acknowledged is is_acknowledged


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (["truth_in_train"], "acknowledge: is ['truth_in_train']\n  fix: write a dict such as"),
        (
            {"truth_in_trian": {"reason": REASON}},
            "acknowledge.truth_in_trian: is not the code of a warning\n"
            "  fix: did you mean 'truth_in_train'?",
        ),
        (
            {"future_items": {"reason": REASON}},
            "acknowledge.future_items: is not the code of a warning\n"
            "  fix: write split_not_by_time",
        ),
        ({"same_file": "both"}, "acknowledge.same_file: is 'both'\n  fix: write a dict such as"),
        ({"same_file": {}}, "acknowledge.same_file.reason: is missing\n  fix: write on one line"),
        ({"same_file": {"reason": " "}}, "acknowledge.same_file.reason: is ' '"),
        ({"same_file": {"reason": "…"}}, "acknowledge.same_file.reason: is '…'"),
        ({"same_file": {"reason": "a\nb"}}, "acknowledge.same_file.reason: is"),
        (
            {"same_file": {"reason": REASON, "upto": 1}},
            "acknowledge.same_file: 'upto' is not a key of an acknowledgement\n"
            "  fix: did you mean 'up_to'?",
        ),
        (
            {"same_file": {"reason": REASON, "up_to": 1}},
            "acknowledge.same_file.up_to: is 1\n"
            "  fix: remove it: same_file has no share and no count that could grow",
        ),
        *(
            (
                {"short_lists": {"reason": REASON, "up_to": up_to}},
                f"acknowledge.short_lists.up_to: is {up_to!r}\n"
                "  fix: write a share from 0% to 100%, such as 25%",
            )
            for up_to in (25, 0.25, "101%", "25", "-1%")
        ),
        *(
            (
                {"not_in_catalogue": {"reason": REASON, "up_to": up_to}},
                f"acknowledge.not_in_catalogue.up_to: is {up_to!r}\n"
                "  fix: write a number of rows, such as 20",
            )
            for up_to in ("25%", -1, 1.5)
        ),
    ],
)
def test_invalid_acknowledgements_are_refused(value: Any, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_acknowledgements(value)

    assert str(refused.value).startswith(problem)


def test_models_may_be_names_of_an_array() -> None:
    names = list(np.array(["als"]))
    parsed = parse_acknowledgements({"holds_truth": {"reason": REASON, "models": names}})

    assert parsed["holds_truth"].models == ("als",)


def test_compare_refuses_an_unknown_code_with_its_other_problems() -> None:
    with pytest.raises(InputError, match=r"acknowledge\.nothing: is not the code"):
        compared(nothing={"reason": REASON})


def test_compare_values_refuses_codes_of_warnings_about_lists() -> None:
    values = {model: {"AP": dict.fromkeys(range(20), 0.5)} for model in ("a", "b")}

    with pytest.raises(InputError, match=r"acknowledge\.short_lists: is not the code of a warning"):
        cc.compare_values(
            values,
            baseline="a",
            acknowledge={"user_sets_differ": {"reason": REASON}, "short_lists": {"reason": REASON}},
        )


def test_every_warning_of_a_comparison_can_be_acknowledged() -> None:
    assert set(texts._TEXTS) - {"sample_not_random"} == CODES  # that is a warning of `ppi`
