"""`gate:` of params.yaml: it may be empty, and what is wrong with it is told with its line."""

from pathlib import Path

import pytest

from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.comparison.gate import Gate
from concord.pipeline.params.asked import asked_of
from concord.pipeline.params.read import read_params
from tests.project import ROOT

DEMO, _, _REST = (ROOT / "params.yaml").read_text(encoding="utf-8").partition("gate: {}")


def _written(folder: Path, gate: str) -> Path:
    path = folder / "params.yaml"
    path.write_text(f"{DEMO}{gate} {_REST}", encoding="utf-8")
    return path


def test_the_checkout_has_none_and_needs_none() -> None:
    assert asked_of(read_params(ROOT / "params.yaml")).gate is None


def test_labels_are_read_in_any_spelling_that_results_know(tmp_path: Path) -> None:
    path = _written(
        tmp_path,
        "gate: {guardrails: {nDCG @10: 2%, Coverage@10: 1}, segments: {channel: {R@20: min_effect}}, "
        "success: [RBP(p=0.80)@10], undecided: pass, models: [als]}",
    )

    assert asked_of(read_params(path)).gate == Gate(
        guardrails={"nDCG@10": "2%", "Coverage@10": 1.0},
        segments={"channel": {"R@20": "min_effect"}},
        success=("RBP(p=0.8)@10",),
        undecided_passes=True,
        models=("als",),
    )


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ("gate:\n  guardrails: {nDCG@11: 2%}", ", gate.guardrails: 'nDCG@11' is not evaluated"),
        ("gate:\n  guardrails: {nDCG@10: 0.0001, nDCG@010: 0.9}", "names nDCG@10 as 'nDCG@10' and 'nDCG@010'"),
        ("gate:\n  guardrails: {nDCG@10: -0.1}", "-0.1 is no margin"),
        ("gate:\n  gaurdrails: {nDCG@10: 2%}", "did you mean 'guardrails'?"),
        ("gate:\n  segments: {activity: {ERR@3: 2%, map@10: 2%}}", "gate.segments.activity: 'map@10' is not evaluated"),
        ("gate:\n  success: nDCG@10", "gate.success: is 'nDCG@10'"),
        ("gate: {undecided: pass}", "gate: names nothing that must not get worse, and nothing that must get better"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, gate: str, said: str) -> None:
    path = _written(tmp_path, gate)
    with pytest.raises(InputError) as caught:
        read_params(path)

    line = len(DEMO.splitlines()) + 1 + gate.count("\n")
    assert said in str(caught.value)
    assert f"line {line}, gate" in str(caught.value)
