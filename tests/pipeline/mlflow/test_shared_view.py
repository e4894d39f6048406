"""The shared view of an experiment, and whether MLflow's pages still know its keys."""

import json
from pathlib import Path

import mlflow

from concord.metrics_core.results.stored import from_content
from concord.pipeline.mlflow.newest import VIEW_TAG, shared_view, view_path
from tests.reports.samples import sample


def test_view_is_sorted_and_shows_place_means_and_verdicts_of_primary_metrics() -> None:
    state = json.loads(shared_view(from_content(sample.two_models()), "tags.a = 'b'"))

    assert (state["orderByKey"], state["orderByAsc"]) == ("metrics.`accuracy/ndcg_at_10`", False)
    assert state["selectedColumns"] == [
        "tags.`concord.place`",
        "metrics.`accuracy/ndcg_at_10`",
        "tags.`concord.verdict.ndcg_at_10`",
        "metrics.`accuracy/r_at_20`",
        "tags.`concord.verdict.r_at_20`",
    ]
    assert [chart["metricKey"] for chart in state["compareRunCharts"]] == [
        "accuracy/ndcg_at_10",
        "accuracy/r_at_20",
    ]


def test_pages_of_mlflow_know_the_tag_and_its_keys() -> None:
    scripts = Path(mlflow.__file__).parent.glob("server/js/build/static/js/main.*.js")
    (script,) = (file.read_text() for file in scripts)
    tag, _, key = VIEW_TAG.rpartition(".")
    state = json.loads(shared_view(from_content(sample.two_models()), "tags.a = 'b'"))

    assert f'"{tag}."' in script
    assert f'"{view_path("1").partition("?")[2].partition("=")[0]}"' in script
    assert view_path("1").endswith(f"={key}")
    assert [name for name in state if name not in script] == []
