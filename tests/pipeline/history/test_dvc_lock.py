"""dvc.lock by stages is dvc.lock read as one YAML file."""

import json
from itertools import pairwise
from typing import Any

import pytest
from ruamel.yaml import YAML

from concord.pipeline.diffing.dvc_lock import ComparisonParams, DvcLock
from tests.project import ROOT

TEXT = (ROOT / "dvc.lock").read_text(encoding="utf-8")
STAGES: dict[str, Any] = YAML(typ="safe", pure=True).load(TEXT)["stages"]


def test_every_hash_is_that_of_the_yaml() -> None:
    lock = DvcLock(TEXT)

    assert list(lock.stages) == list(STAGES)
    for name, stage in STAGES.items():
        assert lock.stage(name).output_hashes() == {
            out["path"]: out["md5"] for out in stage["outs"]
        }


def test_results_and_truth_are_found_by_what_params_yaml_named_them() -> None:
    lock = DvcLock(TEXT)
    evaluated = {out["path"]: out["md5"] for out in STAGES["evaluate@ease"]["outs"]}

    assert lock.values("ease") == evaluated["results/per_user/ease.parquet"]
    assert lock.summary("ease") == evaluated["results/summary/ease.json"]
    assert lock.truth == _given("load-truth", "data/demo/truth.parquet")
    assert lock.background == {
        name: _given(f"load-background@{name}", f"data/demo/{name}.parquet")
        for name in ("train", "items", "users")
    }
    assert lock.folder("report", "report") == "results/report"
    assert lock.comparison == STAGES["compare"]["outs"][0]["md5"]
    assert lock.lists("ease") == _given("load@ease", "data/demo/ease.jsonl.gz")
    assert lock.lists("ease-recent") == _given("load@ease-recent", "data/demo/ease-recent")


def _given(stage: str, path: str) -> str:
    (found,) = (dep["md5"] for dep in STAGES[stage]["deps"] if dep["path"] == path)
    return str(found)


def test_what_was_asked_is_what_params_yaml_said() -> None:
    params = STAGES["compare"]["params"]["params.yaml"]
    asked = DvcLock(TEXT).comparison_params

    assert asked.models == tuple(params["models"])
    assert asked.baseline == params["comparison"]["baseline"]
    assert asked.primary == tuple(params["comparison"]["primary"])
    known = json.loads(asked.conventions)
    assert list(known) == [key for key in params["conventions"] if key != "preset"]
    assert known["ideal"] == params["conventions"]["ideal"]


def test_names_that_yaml_quotes_and_etags_of_stores() -> None:
    text = """schema: '2.0'
stages:
  load-truth:
    cmd: exec concord stage load-truth
    deps:
    - path: 's3://shop/my: truth.parquet'
      hash: etag
      etag: '0123'
      size: 4
    params:
      params.yaml:
        data.truth:
          path: 's3://shop/my: truth.parquet'
        results:
          data: results/data
    outs:
    - path: results/data/truth.parquet
      hash: md5
      md5: 89ab
"""

    assert DvcLock(text).truth == "0123"
    assert DvcLock(text).comparison is None
    assert DvcLock("").truth is None
    assert DvcLock("").comparison_params == ComparisonParams((), None, {}, (), "{}")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("als: als-*", {"als": {"1": "als-1", "2": "als-2"}}),
        ("als:\n              2: als-2\n              1: als-1", {"als": {"1": "als-1", "2": "als-2"}}),
        ("als:\n              1: als-1\n              9: als-9", {}),
    ],
)  # fmt: skip
def test_whose_trainings_lists_were(written: str, read: dict[str, dict[str, str]]) -> None:
    text = f"""schema: '2.0'
stages:
  compare:
    params:
      params.yaml:
        comparison:
          baseline: knn
          replicates:
            {written}
          seed: 1
        models:
          knn:
            path: knn.csv
          als-1:
            path: als-1.csv
          als-2:
            path: als-2.csv
"""

    assert DvcLock(text).comparison_params.replicates == read


SHARED = """schema: '2.0'
stages:
  load-truth:
    deps:
    - path: truth.csv
      md5: 1e10
    params:
      params.yaml:
        data: &id001
          truth:
            path: truth.csv
        also: *id001
  compare:
    params:
      params.yaml:
        models:
          no:
            path: 1.csv
        comparison: {rules}
    outs:
    - path: results/comparison
      md5: c1.dir
  report:
<<<<<<< HEAD
    outs:
"""
LAUGHS = "[&a [x], " + ", ".join(
    f"&{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in pairwise("abcdefghi")
)


def test_scalars_stay_text_and_aliases_are_followed() -> None:
    lock = DvcLock(SHARED.format(rules="{baseline: no, primary: [1.0]}"))

    assert lock.truth == "1e10"
    params = lock.comparison_params
    assert (params.models, params.baseline, params.primary) == (("no",), "no", ("1.0",))


@pytest.mark.parametrize(
    "rules", ["[" * 100_000, f"{LAUGHS}]", "&a [*a]", "{baseline: ", "!!python/name:os.system"]
)
def test_a_stage_that_is_hostile_or_no_yaml_is_left_out(rules: str) -> None:
    lock = DvcLock(SHARED.format(rules=rules))

    assert lock.comparison is None
    assert lock.truth == "1e10"
