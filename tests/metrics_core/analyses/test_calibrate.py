"""`concord.calibrate` on small comparisons with known differences and lifts."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.analyses.calibrate_statistics import permutation_p_values
from concord.metrics_core.results.comparison_parts import InputFile

TRUTH = {"u1": ["a"], "u2": ["b"]}
LISTS = {
    "none": {"u1": ["x", "y"], "u2": ["x", "y"]},
    "late": {"u1": ["x", "a"], "u2": ["x", "y"]},
    "half": {"u1": ["a", "x"], "u2": ["x", "y"]},
    "both": {"u1": ["a", "x"], "u2": ["b", "x"]},
    "deep": {"u1": ["x", "a"], "u2": ["x", "b"]},
}
# RR@2: none 0, late 1/4, half 1/2, both 1, deep 1/2; R@2: 0, 1/2, 1/2, 1, 1; R@1: 0, 0, 1/2, 1, 0


def _compare(models: dict[str, Any], baseline: str) -> cc.Comparison:
    return cc.compare(
        models,
        TRUTH,
        metrics=["RR@2", "R@2", "R@1"],
        baseline=baseline,
        primary=["R@2"],
        conventions="standard",
        resamples=99,
    )


@pytest.fixture(scope="module")
def compared() -> cc.Comparison:
    return _compare(LISTS, "none")


def _frame(*rows: tuple[str, str, float | None], **columns: list[float | None]) -> pl.DataFrame:
    experiments = [(f"e{i}", *row) for i, row in enumerate(rows)]
    schema = ["experiment", "control", "treatment", "ctr"]
    frame = pl.DataFrame(experiments, schema=schema, orient="row")
    return frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


def _row(
    actual: cc.Calibration, label: str, definition: str = "as configured"
) -> dict[str, object]:
    (row,) = actual.to_frame().filter(label=label, definition=definition).to_dicts()
    return row


def test_signs_and_order_by_hand(compared: cc.Comparison) -> None:
    """RR@2: +1/4, +1/4, -1/2, +3/4 against +1, +2, -3, +4: all signs; R@2: late -> half is 0."""
    inputs = _frame(
        ("none", "late", 1.0), ("late", "half", 2.0), ("both", "half", -3.0), ("late", "both", 4.0)
    )
    calibration = cc.calibrate(inputs, compared)
    rr, r = _row(calibration, "RR@2"), _row(calibration, "R@2")

    assert (rr["agree"], rr["n"], rr["n_zero"]) == (4, 4, 0)
    assert (r["agree"], r["n"], r["n_zero"]) == (3, 3, 1)
    assert rr["low"] == pytest.approx(0.025 ** (1 / 4))
    assert rr["tau"] == pytest.approx(5 / (5 * 6) ** 0.5)  # one tie of six pairs
    assert rr["tau_low"] is None
    assert calibration.online[0].agreements[0].label == "RR@2"
    assert calibration.reference == "R@2"


def test_a_label_is_compared_with_the_first_primary_one(compared: cc.Comparison) -> None:
    """half -> deep: R@1 -1/2, R@2 +1/2, lift -1: only R@1 has the right sign."""
    inputs = _frame(("half", "deep", -1.0), ("none", "both", 2.0))
    row = _row(cc.calibrate(inputs, compared), "R@1")
    reference_row = _row(cc.calibrate(inputs, compared), "R@2")

    assert (row["agree"], row["n"]) == (2, 2)
    assert (row["only_this"], row["only_reference"], row["p_reference"]) == (1, 0, 1.0)
    assert (
        reference_row["only_this"],
        reference_row["only_reference"],
        reference_row["p_reference"],
    ) == (0, 0, None)


def test_unsettled_lift_is_marked(compared: cc.Comparison) -> None:
    """1 / 0.6 = 1.67 standard errors; 2 / 0.5 = 4; without a standard error a lift is exact."""
    rows = [("none", "late", 1.0), ("none", "half", 2.0), ("none", "both", 3.0)]
    row = _row(cc.calibrate(_frame(*rows, ctr_se=[0.6, 0.5, None]), compared), "RR@2")
    ends = _row(
        cc.calibrate(_frame(*rows, ctr_low=[-1.0, 1.0, 2], ctr_high=[3.0, 3, 4]), compared), "RR@2"
    )

    for each in (row, ends):
        assert (each["n"], each["n_unsettled"], each["agree_unsettled"]) == (2, 1, 1)
        assert each["n_ranked"] == 3


def test_definitions_of_the_panel_have_rows(compared: cc.Comparison) -> None:
    entry = compared.panel[0]
    calibration = cc.calibrate(_frame(("half", "both", 1.0)), compared)

    assert entry.metric == "R@2"
    names = [each.name for each in entry.definitions[1:] if each.values["half"] is not None]
    assert names
    assert set(calibration.to_frame().filter(label="R@2")["definition"]) == {
        "as configured",
        *names,
    }


def test_sign_is_reversed_if_lower_is_better(compared: cc.Comparison) -> None:
    metrics = [replace(each, higher_is_better=each.label != "RR@2") for each in compared.metrics]
    calibration = cc.calibrate(
        _frame(("none", "both", 1.0)), replace(compared, metrics=tuple(metrics))
    )

    assert _row(calibration, "RR@2")["agree"] == 0
    assert _row(calibration, "R@2")["agree"] == 1


def _with_truth(compared: cc.Comparison, *hashes: str, conventions: str = "") -> cc.Comparison:
    """Return the comparison with this truth, or truths of folds, by their hashes."""
    roles = ["truth"] if len(hashes) == 1 else [f"truth of fold {n}" for n in range(len(hashes))]
    inputs = tuple(
        InputFile(*each) for each in zip(roles, ["t.csv"] * len(hashes), hashes, strict=True)
    )
    return replace(
        compared,
        provenance=replace(compared.provenance, inputs=inputs),
        conventions=replace(compared.conventions, fingerprint=conventions),
    )


def test_revisions_need_the_same_truth_in_every_fold_and_conventions(
    compared: cc.Comparison,
) -> None:
    revisions = {
        "now": _with_truth(compared, "t1"),
        "same": _with_truth(compared, "t1"),
        "other": _with_truth(compared, "t2"),
        "conventions": _with_truth(compared, "t1", conventions="others"),
        "unknown": _with_truth(compared),
    }
    fold_revisions = {
        "now": _with_truth(compared, "t1", "t2"),
        "same": _with_truth(compared, "t1", "t2"),
        "other": _with_truth(compared, "t1", "t3"),
    }
    experiments = [(f"none@{name}", "both", 1.0) for name in revisions]
    mixed = cc.calibrate(
        _frame(*experiments, ("none@conventions", "both@conventions", 1.0)), revisions
    )
    folds = cc.calibrate(_frame(*experiments[:3]), fold_revisions)

    assert (mixed.experiments, folds.experiments) == (("e0", "e1"), ("e0", "e1"))
    reasons = [{each.experiment: each.reason for each in c.skipped} for c in (mixed, folds)]
    assert reasons == [
        {
            "e2": "truths_differ",
            "e3": "conventions_differ",
            "e4": "truths_unknown",
            "e5": "unlike_other_experiments",
        },
        {"e2": "truths_differ"},
    ]
    assert "skipped: e3: control and treatment were evaluated under different" in mixed.summary


def test_all_unknown_names_are_reported_at_once(compared: cc.Comparison) -> None:
    with pytest.raises(cc.InputError) as refused:
        cc.calibrate(_frame(("none", "bth", 1.0), ("none@v9", "both", 1.0)), compared)

    message = str(refused.value)
    assert "experiments: row 1: treatment: 'bth' is not among the models" in message
    assert "experiments: row 2: control: 'none@v9' names the revision 'v9'" in message


@pytest.mark.parametrize("comparisons", [["c"], {"v1": 3}, 5, "v1"])
def test_other_objects_than_comparisons_are_refused(comparisons: Any) -> None:
    with pytest.raises(cc.InputError, match="must be a Comparison or a dict of comparisons"):
        cc.calibrate(_frame(("none", "both", 1.0)), comparisons)


def test_frames_and_files_give_the_same_result(compared: cc.Comparison, tmp_path: Path) -> None:
    frame = _frame(("none", "late", 1.0), ("late", "both", None), ("half", "none", -0.5))
    file = tmp_path / "ab.csv"
    frame.write_csv(file)
    results = [cc.calibrate(each, compared) for each in (frame, frame.to_pandas(), file, str(file))]

    assert isinstance(frame.to_pandas(), pd.DataFrame)
    assert all(each.to_frame().equals(results[0].to_frame()) for each in results)
    text = repr(results[0]).replace("\N{NO-BREAK SPACE}", " ")
    assert "agreed with the sign of ctr in 2 of 2 experiments (16 % to 100 %)" in text


def test_the_result_is_shown_as_text_html_and_plain_data(compared: cc.Comparison) -> None:
    calibration = cc.calibrate(_frame(("none", "late", 1.0)), compared)

    assert calibration.summary.startswith("1 of 1 experiment compared\n")
    assert "<strong>1 of 1 experiment compared</strong>" in calibration._repr_html_()
    assert json.loads(json.dumps(calibration.to_dict()))["online"][0]["agreements"][0]["n"] == 1


def test_ids_that_look_like_numbers_stay_text(tmp_path: Path) -> None:
    comparison = _compare({"007": LISTS["none"], "7": LISTS["both"]}, "007")
    file = tmp_path / "ab.csv"
    file.write_text("experiment,control,treatment,ctr\n01,007,7,+0.5\n1,7,007,-0.5\n")

    assert cc.calibrate(file, comparison).experiments == ("01", "1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("experiment,control,treatment,ctr\n", "has no experiment"),
        ("experiment,control,ctr\na,b,1\n", "has no column treatment"),
        ("experiment,control,treatment\na,b,c\n", "has no online metric"),
        ("experiment,control,treatment,ctr,ctr\na,b,c,1,1\n", "has 2 columns named 'ctr'"),
        ("experiment,control,treatment,ctr_se\na,b,c,1\n", "has ctr_se without the column"),
        ("experiment,control,treatment,ctr,ctr_low\na,b,c,1,0\n", "has ctr_low for ctr"),
        ("experiment,control,treatment,ctr\na,b,c,1,2\n", "line 2: has 5 cells"),
        ("experiment,control,treatment,ctr\na,b,c,1%\n", "line 2: ctr: '1%' is not a number"),
        ("experiment,control,treatment,ctr\na,b,c,nan\n", "line 2: ctr: 'nan' is not a number"),
        ("experiment,control,treatment,ctr,ctr_se\na,b,c,1,0\n", "line 2: ctr_se: is 0"),
        ("experiment,control,treatment,ctr,ctr_low,ctr_high\na,b,c,1,2,3\n", "1 is not between"),
        ("experiment,control,treatment,ctr,ctr_se\na,b,c,,3\n", "line 2: ctr: is empty"),
        ("experiment,control,treatment,ctr\na,b,b,1\n", "control and treatment are both 'b'"),
        ("experiment,control,treatment,ctr\na,b,c,1\na,c,b,1\n", "'a' occurs in two rows"),
        ('experiment,control,treatment,ctr\n"a,b,c,1\n', "is not valid CSV"),
    ],
)
def test_an_invalid_file_is_refused_with_its_location(
    compared: cc.Comparison, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "ab.csv"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(cc.InputError) as refused:
        cc.calibrate(file, compared)

    assert message in str(refused.value)
    assert str(refused.value).startswith(str(file))


def test_hundreds_of_experiments_take_seconds() -> None:
    """There are 1,999 random orders for any number of experiments."""
    rng = np.random.default_rng(1)
    online = rng.normal(size=300)
    offline = np.array([online + rng.normal(size=300), rng.normal(size=300)])
    start = time.process_time()

    p_values = permutation_p_values(offline, online, np.sign(online))

    assert time.process_time() - start < 10
    assert p_values.tau[0] == p_values.sign_best[0] == 1 / 2_000
    assert p_values.tau[1] > 0.05
