"""Outputs that a stage forgets, or that hold values without JSON."""

import json
import math
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from concord.pipeline.running.outputs import write_json
from tests.faults.small import MODELS
from tests.project import ROOT


@pytest.mark.fault(23, "DVC rejects a stage that does not write an output of dvc.yaml")
def test_no_stage_forgets_an_output(project: Path) -> None:
    stages = YAML(typ="safe").load(ROOT / "dvc.yaml")["stages"]
    actual = [stages.pop(name) for name in ("load-truth", "compare", "report")]
    actual += [stages[name]["do"] for name in ("load", "evaluate")]
    selected = [output for each in actual for output in (*each["outs"], *each.get("metrics", ()))]
    paths = [output if isinstance(output, str) else next(iter(output)) for output in selected]
    folders = YAML(typ="safe").load(project / "params.yaml")["results"]
    for name, folder in folders.items():
        paths = [path.replace(f"${{results.{name}}}", folder) for path in paths]
    expected = {path.replace("${key}", model) for path in paths for model in MODELS}

    assert {path for path in expected if not (project / path).exists()} == set()
    assert len(expected) > 15


@pytest.mark.fault(24, "an error in JSON; the previous file is kept")
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
