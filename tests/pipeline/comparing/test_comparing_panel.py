"""The convention panel of `compare`: values that a test chooses, under every definition that some preset has."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from concord.metrics_core.metrics.catalogue import parse
from concord.metrics_core.scoring.panel import Definition, panel
from concord.metrics_core.scoring.summary import summarise
from concord.pipeline.params.model import Params
from concord.pipeline.running.outputs import write_json
from concord.pipeline.running.per_user_file import per_user_writer
from tests.pipeline.comparing.compare_project import compared, params_of, write_evaluation

LABEL = "nDCG@10"
SMALL = [0.02, 0.05, -0.01, -0.03, 0.02, 0.01, 0.01, 0.07, 0.08, 0.08, 0.07, -0.04]
Chosen = Callable[[str, Definition], list[float]]


def _entry(root: Path, models: list[str], chosen: Chosen, **settings: Any) -> dict[str, Any]:
    plain = params_of(root, models, metrics=["nDCG"], ks=[10], **settings)
    switched = plain.evaluation.model_copy(update={"panel": True})
    params = plain.model_copy(update={"evaluation": switched})
    definitions = panel(parse(LABEL), params.pinned).definitions
    for model in models:
        values = {each.column: chosen(model, each) for each in definitions}
        write_evaluation(params, model, {LABEL: values[definitions[0].column]})
        _write_panel(params, model, values)
    (entry,) = compared(params)["panel"]
    assert isinstance(entry, dict)
    return entry


def _write_panel(params: Params, model: str, values: Mapping[str, list[float]]) -> None:
    frame = pl.DataFrame({"user": range(len(next(iter(values.values())))), **values})
    path = Path(params.results.panel) / f"{model}.parquet"
    with per_user_writer(path, pa.int64(), list(values), {}) as writer:
        writer.write(frame)
    path = Path(params.results.summary) / f"{model}.json"
    summary = json.loads(path.read_text(encoding="utf-8"))
    means = [{"column": name, "mean": _mean(params, column)} for name, column in values.items()]
    write_json(path, summary | {"panel": {LABEL: {"definitions": means}}})


def _mean(params: Params, values: list[float]) -> float:
    confidence = params.comparison.confidence
    found = summarise(parse(LABEL), np.array(values), params.pinned, confidence=confidence)
    return found.mean


@pytest.mark.parametrize("adjustment", ["holm", "max_t"])
def test_definitions_with_the_values_as_pinned_change_no_verdict(
    tmp_path: Path, adjustment: str
) -> None:
    def chosen(model: str, _: Definition) -> list[float]:
        return SMALL if model == "als" else [0.0] * len(SMALL)  # p by t 0.045, by flips 0.055

    entry = _entry(tmp_path, ["pop", "als"], chosen, adjustment=adjustment, min_effect=0)

    (definition,) = entry["definitions"]  # all give the same, which is told once
    assert definition["verdicts"] == {"als": "better"}
    assert len(definition["presets"]) > 5
    assert ("here by Holm's correction" in entry["sentence"]) is (adjustment == "max_t")


@pytest.mark.parametrize("first", ["a", "z"])
def test_a_tie_turns_no_order_round_whatever_the_names(tmp_path: Path, first: str) -> None:
    means = {first: 0.5, "m": 0.4, "pop": 0.1}

    def chosen(model: str, definition: Definition) -> list[float]:
        tied = definition.number == 1 and model != "pop"
        return [0.45 if tied else means[model]] * 20

    entry = _entry(tmp_path, ["pop", first, "m"], chosen)

    assert [each["top_two_hold"] for each in entry["definitions"]] == [True, True]
    assert entry["definitions"][1]["ranks"] == {"pop": 3, first: 1, "m": 1}


def test_who_overtakes_one_of_the_first_two_changes_them(tmp_path: Path) -> None:
    means = {"ease": 0.5, "als": 0.4, "pop": 0.1}

    def chosen(model: str, definition: Definition) -> list[float]:
        above = definition.number == 1 and model == "pop"
        return [0.45 if above else means[model]] * 20

    entry = _entry(tmp_path, ["pop", "ease", "als"], chosen)

    assert [each["top_two_hold"] for each in entry["definitions"]] == [True, False]
    assert entry["definitions"][1]["flips"] == [["als", "pop"]]
