"""dvc.lock read by lines is dvc.lock read as YAML."""

from typing import Any

import pytest
from ruamel.yaml import YAML

from concord.pipeline.history.locked import Asked, Locked
from tests.project import ROOT

TEXT = (ROOT / "dvc.lock").read_text(encoding="utf-8")
STAGES: dict[str, Any] = YAML(typ="safe", pure=True).load(TEXT)["stages"]


def test_every_hash_is_that_of_the_yaml() -> None:
    locked = Locked(TEXT)

    assert list(locked.stages) == list(STAGES)
    for name, stage in STAGES.items():
        assert locked.outs(name) == {out["path"]: out["md5"] for out in stage["outs"]}


def test_results_and_truth_are_found_by_what_params_yaml_named_them() -> None:
    locked = Locked(TEXT)
    evaluated = {out["path"]: out["md5"] for out in STAGES["evaluate@ease"]["outs"]}

    assert locked.values("ease") == evaluated["results/per_user/ease.parquet"]
    assert locked.summary("ease") == evaluated["results/summary/ease.json"]
    assert locked.truth == _given("load-truth", "data/demo/truth.parquet")
    assert locked.background == {
        name: _given(f"load-background@{name}", f"data/demo/{name}.parquet")
        for name in ("train", "items", "users")
    }
    assert locked.folder("report", "report") == "results/report"
    assert locked.comparison == STAGES["compare"]["outs"][0]["md5"]
    assert locked.lists("ease") == _given("load@ease", "data/demo/ease.jsonl.gz")
    assert locked.lists("ease-recent") == _given("load@ease-recent", "data/demo/ease-recent")


def _given(stage: str, path: str) -> str:
    (found,) = (dep["md5"] for dep in STAGES[stage]["deps"] if dep["path"] == path)
    return str(found)


def test_what_was_asked_is_what_params_yaml_said() -> None:
    params = STAGES["compare"]["params"]["params.yaml"]
    asked = Locked(TEXT).asked

    assert asked.models == tuple(params["models"])
    assert asked.baseline == params["comparison"]["baseline"]
    assert asked.primary == tuple(params["comparison"]["primary"])
    known = YAML(typ="safe", pure=True).load(asked.conventions)
    assert known == {k: v for k, v in params["conventions"].items() if k != "preset"}


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

    assert Locked(text).truth == "0123"
    assert Locked(text).comparison is None
    assert Locked("").truth is None
    assert Locked("").asked == Asked((), None, {}, (), "")


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

    assert Locked(text).asked.replicates == read
