"""Outputs that are forgotten, or hold what JSON cannot say."""

import json
import math
from pathlib import Path

import pytest

from concord.pipeline.running.outputs import write_json
from tests.faults.tiny import MODELS
from tests.project import attempt

pytestmark = pytest.mark.whole


@pytest.mark.fault(23, "a stage that forgets an output fails by name")
def test_a_forgotten_output_fails_by_name(project: Path) -> None:
    path = project / "dvc.yaml"
    outs = "      - ${results.data}/truth.parquet\n"
    path.write_text(path.read_text().replace(f"outs:\n{outs}", f"outs:\n      - forgotten.csv\n{outs}", 1))  # fmt: skip
    done = attempt(project, "dvc", "repro", "load-truth")

    assert done.returncode != 0
    assert "output 'forgotten.csv' does not exist" in done.stderr


@pytest.mark.fault(24, "NaN and infinity are refused in JSON; the file before stays as it was")
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_json_refuses_what_it_cannot_say(tmp_path: Path, number: float) -> None:
    path = tmp_path / "metrics.json"
    write_json(path, {"nDCG@5": 0.5})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"nDCG@5": number})

    assert json.loads(path.read_text()) == {"nDCG@5": 0.5}
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.json"]


@pytest.mark.fault(24, "metrics without a value are null")
def test_metrics_are_strict_json(project: Path) -> None:
    def refuse(word: str) -> float:
        raise AssertionError(word)

    for model in MODELS:
        text = (project / "results" / "metrics" / f"{model}.json").read_text()
        assert json.loads(text, parse_constant=refuse)
