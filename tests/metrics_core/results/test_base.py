"""Every public function returns a result that can be shown, written as JSON and read as a frame."""

import json
from inspect import isfunction
from typing import Any, get_args, get_type_hints

import polars as pl
import pytest

import concord as cc
from concord.metrics_core.results.base import MAX_REPR_LINES, BaseResult
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.history import History
from concord.metrics_core.results.rendering import view_of
from concord.metrics_core.results.stored import from_content
from concord.pipeline.dvc.history import history
from tests.reports.samples import sample
from tests.reports.samples.sample_history import HISTORY

NO_RESULT = {"metric", "excluded_pairs"}  # a decorator, a value of a convention
FUNCTIONS = [name for name in cc.__all__ if isfunction(getattr(cc, name)) and name not in NO_RESULT]


def _result_types(function: Any) -> list[type]:
    annotation = get_type_hints(function)["return"]
    return [*get_args(annotation)] or [annotation]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_returns_results_that_can_be_shown(name: str) -> None:
    for result_type in _result_types(getattr(cc, name)):
        assert issubclass(result_type, BaseResult)
        assert result_type.to_frame is not BaseResult.to_frame
        assert result_type.__repr__ is BaseResult.__repr__
        assert callable(view_of(result_type).describe)


def test_history_and_gate_are_results() -> None:
    assert _result_types(history) == [History]
    assert issubclass(History, BaseResult)
    assert issubclass(Decision, BaseResult)


@pytest.mark.parametrize("models", [sample.two_models, sample.many_models, sample.gated])
def test_a_comparison_is_shown_in_few_lines_and_read_as_json_and_frame(models: Any) -> None:
    comparison = from_content(models())
    lines = repr(comparison).splitlines()

    assert len(lines) == min(len(comparison.summary.splitlines()), MAX_REPR_LINES)
    assert any(line.endswith(comparison.verdicts[0]) for line in lines)
    assert json.loads(json.dumps(comparison.to_dict(), allow_nan=False)) == {
        key: part for key, part in models().items() if key != "schema"
    }
    assert comparison.to_frame().equals(comparison.leaderboard)
    assert "<table" in comparison._repr_html_()


def test_a_decision_is_shown_in_sentences_and_as_a_row_for_each_model_and_rule() -> None:
    decision = from_content(sample.gated()).gate
    assert decision is not None
    frame = decision.to_frame()
    rules = [each for m in decision.models for each in (*m.guardrails, *m.success)]

    assert decision.summary == "\n".join(decision.lines)
    assert f"\n{decision.lines[-1]}</p>" in decision._repr_html_()  # lines are one paragraph
    assert frame["label"].to_list() == [each.label for each in rules]
    assert frame.filter(pl.col("rule") == "success")["outcome"].null_count() == sum(
        len(m.success) for m in decision.models
    )
    assert decision.to_dict()["outcome"] == decision.outcome


def test_a_history_is_shown_as_tables_and_as_a_row_for_each_revision_and_model() -> None:
    frame = HISTORY.to_frame()

    assert "what changed" in repr(HISTORY)
    # What changed; then, for each metric, means and changes of verdicts.
    assert HISTORY._repr_html_().count("<table") == 1 + 2 * len(HISTORY.labels)
    assert frame.height == sum(len(each.standings) for each in HISTORY.revisions)
    assert frame["change"].dtype == pl.Float64
    assert History("", 0.95, (), None).to_frame().columns == frame.columns
    assert len(HISTORY.to_dict()["revisions"]) == len(HISTORY.revisions)
