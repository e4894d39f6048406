"""dvc.lock read by lines is dvc.lock read as YAML."""

from typing import Any

from ruamel.yaml import YAML

from concord.pipeline.history.locked import Locked
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
    given = {dep["path"]: dep["md5"] for dep in STAGES["load-truth"]["deps"]}

    assert locked.values("ease") == evaluated["results/per_user/ease.parquet"]
    assert locked.summary("ease") == evaluated["results/summary/ease.json"]
    assert locked.truth == given["data/demo/truth.parquet"]
    assert locked.background == {
        name: STAGES[f"load-background@{name}"]["outs"][i]["md5"]
        for name, i in (("train", 1), ("items", 1), ("users", 1))
    }
    assert locked.folder("report", "report") == "results/report"
    assert locked.comparison == STAGES["compare"]["outs"][0]["md5"]
    assert locked.lists("ease") == STAGES["load@ease"]["outs"][0]["md5"]


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
