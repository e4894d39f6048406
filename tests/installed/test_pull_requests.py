"""A pull request that makes a segment worse, in a subfolder of another project's repository."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.installed.repository import Repository
from tests.project import stages_run

pytestmark = pytest.mark.whole

EVALUATION = "recommender/evaluation"
WEIGHT = "WEIGHT * topics[a[0]]"


def test_it_fails_the_gate_and_its_comment_says_why(
    evaluated: Callable[[str], Repository], tmp_path: Path
) -> None:
    result = evaluated("monorepo").copied(tmp_path)
    remote, base = result.publish(tmp_path)
    model = "recommender/models/same_topic.py"
    result.replace(model, WEIGHT, f"{WEIGHT} * (len(read[visitor]) < 10)")
    result.commit("change")
    result.push("change")

    job = result.cloned(tmp_path / "job", remote, "change")
    job.run_here("dvc", "pull", "-q", "--run-cache", "--allow-missing")
    ran = stages_run(job.run("dvc", "repro", at=EVALUATION))
    gate = job.attempt("concord", "gate", base, at=EVALUATION)
    commented = job.attempt("concord", "comment", base, at=EVALUATION)
    comment = commented.stdout.replace("\\_", "_")

    assert ran == [
        "../dvc.yaml:same_topic",
        *(f"{stage}@same_topic" for stage in ("load", "evaluate")),
        "compare",
        "report",
        "log",
    ]
    # Visitors read by topic, whatever is popular: the baseline brings no more than chance.
    assert (gate.returncode, commented.returncode) == (4, 4), gate.stdout + gate.stderr
    assert "\n## 🔎 Gate: suspicious\n" in f"\n{comment}"
    assert f"Against {base[:12]}: most_popular is suspicious; same_topic is worse" in comment
    assert "nDCG@10 of segment activity=over 9" in comment
    assert "the whole interval is beyond the margin" in comment
    assert comment.count("is worse") == 1
