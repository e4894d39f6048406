"""A pull request that makes a segment worse, in a subfolder of a repository that knows nothing of Concord."""

from pathlib import Path

import pytest

from tests.action import Server, run_action
from tests.installed.repository import Repository

pytestmark = pytest.mark.whole

TRAINING, EVALUATION = "recommender", "recommender/evaluation"
PARAMS = {
    "gate: {} ": "gate: {segments: {activity: {nDCG@10: 5%}}} ",
    "edges: [0, 20, 50]": "edges: [0, 9]",
}
WEIGHT = "WEIGHT * topics[a[0]]"


def test_it_fails_the_gate_and_its_comment_says_why(installed: Path, tmp_path: Path) -> None:
    there = Repository("monorepo", tmp_path, installed)
    there.run("dvc", "repro", "-q", at=TRAINING)
    there.commit("training")
    there.run("concord", "init", at=TRAINING)
    for before, after in PARAMS.items():
        there.replace(f"{EVALUATION}/params.yaml", before, after)
    there.run("dvc", "repro", "-q", at=EVALUATION)
    there.commit("evaluation")
    remote = tmp_path / "remote.git"
    there.run("git", "init", "-q", "--bare", str(remote))
    there.run("git", "remote", "add", "origin", remote.as_uri())
    there.run("dvc", "remote", "add", "-q", "-d", "shared", str(tmp_path / "dvc remote"))
    there.run("dvc", "push", "-q", "--run-cache")
    there.commit("remote")
    base = there.push("main")
    model = "recommender/models/same_topic.py"
    there.replace(model, WEIGHT, f"{WEIGHT} * (len(read[visitor]) < 10)")
    there.commit("change")
    head = there.push("change")

    job = there.cloned(tmp_path / "job", remote, "change")
    job.run("dvc", "pull", "-q", "--run-cache", "--allow-missing")
    server = Server(tmp_path / "client")
    context = {"base": base, "head": head, "number": "7"}
    done = run_action(job.root, tmp_path, {"dir": EVALUATION}, server, job.environment(), **context)
    ((_, _, text),) = server.writes
    text = text.replace("\\_", "_")

    assert "Running stage 'evaluate@same_topic'" in done["dvc repro"].stdout
    assert done["dvc repro"].stdout.count("Running stage 'evaluate@") == 1
    assert done["gate"].returncode == 1, done["gate"].stderr
    assert text.startswith(f"<!-- concord: {EVALUATION} -->\n\n## Gate: worse\n")
    assert f"**monorepo. Against {base[:12]}: same_topic is worse" in text
    assert "same_topic on nDCG@10 of activity “over 9”" in text
    assert text.count("is worse") == 1
