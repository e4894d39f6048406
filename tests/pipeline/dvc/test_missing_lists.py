"""Revisions at which most users have no list."""

from dataclasses import replace

import pytest

from concord.metrics_core.evaluation.model_result import ModelResult
from concord.pipeline.dvc.changes import changes
from concord.pipeline.dvc.lock import DvcLock
from concord.pipeline.dvc.revision import RevisionResults
from tests.metrics_core.comparison.tables import config_for, model_result

CONFIG = config_for(["nDCG@10"], "als")
NOW = model_result(CONFIG, {"nDCG@10": [0.0] * 60 + [0.5] * 40})
THEN = model_result(CONFIG, {"nDCG@10": [0.4, 0.5] * 50})


def _without_lists(evaluated: ModelResult, n: int) -> ModelResult:
    users = {"evaluated": 100, "without_list": n}
    return replace(evaluated, summary={**evaluated.summary, "users": users})


@pytest.mark.parametrize(
    ("now", "then", "verdict"),
    [(50, 0, "worse"), (51, 0, "not_comparable"), (0, 51, "not_comparable")],
)
def test_changes_with_too_few_lists_are_not_comparable(now: int, then: int, verdict: str) -> None:
    before = RevisionResults("v1", {}, ["als"], {"als": _without_lists(THEN, then)})

    (change,) = changes(CONFIG, {"als": _without_lists(NOW, now)}, before)

    assert change.verdict == verdict
    assert (change.p is None) == (verdict == "not_comparable")


@pytest.mark.parametrize(
    ("line", "share"), [("", 0.5), ("          max_missing_lists: 0.75\n", 0.75)]
)
def test_share_is_read_from_the_lock_file_of_the_revision(line: str, share: float) -> None:
    text = f"""schema: '2.0'
stages:
  compare:
    cmd: exec concord stage compare
    params:
      params.yaml:
        comparison:
          baseline: als
{line}"""

    assert DvcLock(text).comparison_params.max_missing_lists == share
