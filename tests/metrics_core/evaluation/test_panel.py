"""The convention panel: one metric under every definition that a text or library has."""

import duckdb
import pytest

import concord as cc
from concord.metrics_core.conventions.library_presets import SEARCH_PRESETS
from concord.metrics_core.conventions.presets import defines, preset
from concord.metrics_core.evaluation.accumulator import summarise_definition
from concord.metrics_core.evaluation.evaluate_block import evaluate_block
from concord.metrics_core.evaluation.inputs import load_inputs
from concord.metrics_core.evaluation.panel import changed_conventions, panel
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.metrics.label import parse
from tests.metrics_core.analyses.reconcile.test_reconcile import LISTS, TRUTH

STANDARD = cc.preset("standard")
LABELS = ["P@5", "R@5", "Hit@5", "AP@10", "RR@5", "nDCG@10", "F1@3", "Bpref", "RBP(p=0.8)@10"]


def _of_panel(pinned: str, label: str) -> list[str]:
    names = [name for name in cc.presets() if name not in SEARCH_PRESETS or name == pinned]
    return [name for name in names if defines(name, parse(label).name)]


@pytest.mark.parametrize("label", LABELS)
def test_every_preset_that_defines_the_metric_occurs_once(label: str) -> None:
    result = panel(parse(label), STANDARD)

    selected = [name for definition in result.definitions for name in definition.presets]
    assert sorted([*selected, *result.excluded]) == sorted(_of_panel("standard", label))
    assert "standard" in result.definitions[0].presets
    assert [d.number for d in result.definitions] == list(range(len(result.definitions)))


def test_presets_of_search_occur_only_if_one_is_pinned() -> None:
    result = panel(parse("RR@5"), cc.preset("mteb"))

    assert result.definitions[0].presets == ("mteb",)
    assert {name for each in result.definitions for name in each.presets} & {*SEARCH_PRESETS} == {
        "mteb"
    }


@pytest.mark.parametrize("label", LABELS)
def test_each_definition_gives_the_values_of_its_presets(label: str) -> None:
    actual = panel(parse(label), STANDARD)
    others = [d for d in actual.definitions if d.number]
    with duckdb.connect() as connection:
        task = Task((), STANDARD, definitions=others)
        part = evaluate_block(load_inputs(connection, LISTS, TRUTH, STANDARD).block(task), task)

    assert others
    for definition in others:
        for name in definition.presets:
            conventions = preset(name)
            result = cc.evaluate(LISTS, TRUTH, metrics=[label], conventions=conventions)
            assert summarise_definition([part.values], definition).mean == result[label], name


def test_the_scale_of_the_grades_is_that_of_the_data() -> None:
    pinned = cc.preset("standard", relevance_threshold=3)
    result = panel(parse("P@5"), pinned)

    thresholds = {
        name: definition.conventions.relevance_threshold
        for definition in result.definitions
        for name in definition.presets
    }
    assert thresholds["rectools"] == 3
    assert thresholds["ms_recommenders"] is None  # every row of the truth, whatever its grade


def test_definition_that_cannot_be_computed_is_excluded_with_a_reason() -> None:
    pinned = cc.preset("standard", relevance_threshold=None)

    excluded = panel(parse("nDCG@5"), pinned).excluded

    assert list(excluded) == ["spark_mllib_graded"]
    assert "the order of the ground truth's rows" in excluded["spark_mllib_graded"]


def test_a_definition_is_reported_by_the_conventions_that_matter_and_differ() -> None:
    reported = changed_conventions(parse("nDCG@5"), cc.preset("rectools"), STANDARD)

    assert reported["ideal"] == "full_k"
    assert "ap_denominator" not in reported
