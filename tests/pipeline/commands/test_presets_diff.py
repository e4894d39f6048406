"""`concord presets diff`: differences between two sets of conventions, with meanings."""

import shutil
from argparse import Namespace
from pathlib import Path

import pytest

import concord as cc
from concord.metrics_core.conventions.presets import STANDARD
from concord.pipeline.commands import presets
from concord.typing import PresetName
from tests.project import ROOT, change_params

WIDE = "600"


def print_differences(one: str, other: str) -> None:
    presets.run(Namespace(names=["diff", one, other]))


def print_rows(one: str, other: str, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Return the cells of each row."""
    print_differences(one, other)
    lines = capsys.readouterr().out.splitlines()
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", WIDE)


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the params.yaml of the demo, in the working directory."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(ROOT / "params.yaml", tmp_path))


def test_each_side_has_its_value_and_meaning_and_the_metrics_that_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert print_rows("wikipedia", "recohut_method0", capsys) == [
        ["convention", "wikipedia", "recohut_method0", "changes"],
        [
            "discount",
            "{log: 2} (ln b / ln(i + 1))",
            "{jk: 2} (1 / max(1, log_b i), so that the first b ranks are not discounted)",
            "DCG, nDCG, AWRF, EED, EER, EEL",
        ],
        [
            "ideal",
            "truth_at_k (the relevant items of the ground truth, best first, cut at k)",
            "retrieved (the relevant items of the whole list, best first, cut at k)",
            "nDCG",
        ],
    ]


@pytest.mark.parametrize("other", [name for name in cc.presets() if name != "standard"])
def test_exactly_the_differing_conventions_are_named(
    other: PresetName, capsys: pytest.CaptureFixture[str]
) -> None:
    conventions, actual = cc.preset("standard").preset_values(), cc.preset(other).preset_values()

    header, *rows = print_rows("standard", other, capsys)

    assert header == ["convention", "standard", other, "changes"]
    general = [row[0] for row in rows if ", for " not in row[0]]
    assert general == [
        convention for convention in STANDARD if conventions[convention] != actual[convention]
    ]


def test_overrides_of_a_metric_are_separate_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows = print_rows("ms_recommenders", "ms_spark_map", capsys)

    assert [row for row in rows if ", for " in row[0]] == [
        [
            "user_no_recs, for nDCG",
            "zero (the value is 0)",
            "drop (the user is left out of the metric)",
            "nDCG",
        ],
        [
            "user_empty_truth, for nDCG",
            "nan (the value is undefined; `undefined` decides what the mean does)",
            "drop (the user is left out of the metric)",
            "nDCG",
        ],
    ]


def test_metric_with_equal_overrides_is_not_listed_as_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reported = {row[0]: row[-1] for row in print_rows("standard", "ir_measures", capsys)}

    assert reported["rr_cutoff"] == "no metric"  # RR is cut at k in both
    assert reported["ties"] == "every metric"
    assert (
        reported["score_dtype"] == "every metric but RR@k, RBP, ERR, Judged"
    )  # of RR those with a cutoff


@pytest.mark.usefixtures("params")
def test_params_yaml_is_compared_like_a_preset(capsys: pytest.CaptureFixture[str]) -> None:
    header, *rows = print_rows("params.yaml", "wikipedia", capsys)

    assert header == ["convention", "params.yaml", "wikipedia", "changes"]
    assert rows == print_rows("standard", "wikipedia", capsys)[1:]
    assert [row[0] for row in rows] == ["ties", "duplicates"]


@pytest.mark.parametrize("names", [("params.yaml", "standard"), ("standard", "params.yaml")])
def test_scale_of_the_data_is_no_difference_to_a_preset(
    names: tuple[str, str], params: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    overrides = {"ERR": {"relevance_threshold": 3}}
    scale = {"preset": "custom", "relevance_threshold": 4, "overrides": overrides}
    change_params(params.parent, {f"conventions.{name}": value for name, value in scale.items()})

    print_differences(*names)

    same = f"{names[0]} and {names[1]} are the same in every convention.\n"
    assert capsys.readouterr().out == same


@pytest.mark.usefixtures("params")
def test_no_threshold_is_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    rows = print_rows("params.yaml", "ms_recommenders", capsys)

    assert ["relevance_threshold", "1", "null"] in [row[:3] for row in rows]
