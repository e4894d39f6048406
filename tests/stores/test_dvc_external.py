"""DVC tracks models whose files are in a store: same bytes, and unchanged files run nothing."""

import json
from pathlib import Path

import pytest

from tests.project import change_params, copied, run, run_stages
from tests.stores.server import KEY, SECRET, Store, environment

STAGES = ("load-truth", "load@popularity", "load@ease-recent")
FILES = ("data/truth.parquet", "lists/popularity.parquet", "lists/ease-recent.parquet")


@pytest.mark.whole
def test_models_in_a_store_run_when_their_files_change(server: Store, tmp_path: Path) -> None:
    pytest.importorskip("dvc_s3")
    project = copied(tmp_path)
    run_stages(project, *(stage.replace("@", " ") for stage in STAGES))
    local = {name: (project / "results" / name).read_bytes() for name in FILES}
    demo = project / "data" / "demo"
    truth, popularity, recent = (
        server.put(demo / name, f"demo/{name}")
        for name in ("truth.parquet", "popularity.csv", "ease-recent")
    )
    change_params(
        project,
        {
            "input.allow_outside": True,
            "data.truth.path": truth,
            "models.popularity.path": popularity,
            "models.ease-recent.path": recent,
        },
    )
    remote = environment(server.port)

    run_stages(project, *(stage.replace("@", " ") for stage in STAGES), **remote)
    run(project, "dvc", "commit", "-f", "-q", *STAGES, **remote)
    again = run(project, "dvc", "status", "--json", *STAGES, **remote)
    content = (demo / "popularity.csv").read_bytes()
    server.client.put_object(
        Bucket=server.bucket, Key="demo/popularity.csv", Body=content.rstrip(b"\n")
    )
    changed = run(project, "dvc", "status", "--json", *STAGES, **remote)

    assert json.loads(again) == {}
    assert list(json.loads(changed)) == ["load@popularity"]
    assert {name: (project / "results" / name).read_bytes() for name in FILES} == local
    lock = (project / "dvc.lock").read_text(encoding="utf-8")
    assert f"path: {truth}\n      hash: md5\n      etag: " in lock
    written = [path for path in project.rglob("*") if path.is_file()]
    for path in written:
        assert SECRET.encode() not in path.read_bytes(), path
        assert KEY.encode() not in path.read_bytes(), path
