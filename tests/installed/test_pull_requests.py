"""A pull request that makes a segment worse, in three repositories that know nothing of Concord."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.action import run_action
from tests.installed.repository import Repository
from tests.pipeline.posting.forge import BOT, forge

pytestmark = pytest.mark.whole


@dataclass(frozen=True)
class Case:
    """Where Concord was set up, what its gate guards, and an edit of the training that costs a segment."""

    evaluation: str
    prepare: tuple[tuple[str, ...], ...]
    params: tuple[tuple[str, str], ...]
    file: str
    before: str
    after: str
    model: str
    worse: str


GATE = "gate: {} "
CASES = {
    "get_started": Case(
        "evaluation",
        (("python", "data/make_ratings.py"), ("dvc", "add", "-q", "data/ratings.csv")),
        ((GATE, "gate: {segments: {wanted items: {R@10: 10%}}} "),),
        "src/train.py",
        "count[movie] / 100\n",
        "count[movie] / (10 if model == 'als' else 100)\n",
        "als",
        "als on R@10 of wanted items “tail”",
    ),
    "own_packages": Case(
        "evaluation",
        (),
        (
            (GATE, "gate: {guardrails: {Coverage@10: 5%}, segments: {plan: {nDCG@10: 5%}}} "),
            ("  activity: {by: activity", "  plan: {by: user, column: plan}\n  activity: {by: activity"),
        ),
        "pipeline/train.py",
        'if model == "top_sellers":',
        'if model == "top_sellers" or int(customer[1:]) % 2:',
        "neighbours",
        "neighbours on nDCG@10 of plan “paid”",
    ),
    "monorepo": Case(
        "recommender/evaluation",
        (),
        (
            (GATE, "gate: {segments: {activity: {nDCG@10: 5%}}} "),
            ("edges: [0, 20, 50]", "edges: [0, 9]"),
        ),
        "recommender/models/same_topic.py",
        "WEIGHT * topics[a[0]]",
        "WEIGHT * topics[a[0]] * (len(read[visitor]) < 10)",
        "same_topic",
        "same_topic on nDCG@10 of activity “over 9”",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_fails_the_gate_and_its_comment_says_why(
    installed: Path, tmp_path: Path, name: str
) -> None:
    case = CASES[name]
    there = Repository(name, tmp_path, installed)
    training = str(Path(case.evaluation).parent)
    for command in case.prepare:
        there.run(*command)
    there.run("dvc", "repro", "-q", at=training)
    there.commit("training")
    there.run("concord", "init", at=training)
    for before, after in case.params:
        there.replace(f"{case.evaluation}/params.yaml", before, after)
    there.run("dvc", "repro", "-q", at=case.evaluation)
    there.commit("evaluation")
    remote = tmp_path / "remote.git"
    there.run("git", "init", "-q", "--bare", str(remote))
    there.run("git", "remote", "add", "origin", remote.as_uri())
    there.run("dvc", "remote", "add", "-q", "-d", "shared", str(tmp_path / "dvc remote"))
    there.run("dvc", "push", "-q", "--run-cache")
    there.commit("remote")
    base = there.push("main")
    there.replace(case.file, case.before, case.after)
    there.commit("change")
    head = there.push("change")

    job = there.cloned(tmp_path / "job", remote, "change")
    job.run("dvc", "pull", "-q", "--run-cache", "--allow-missing")
    with forge() as server:
        environment = _pull_request(tmp_path, server.address, base, head)
        repro, comment = run_action(
            job.root, {"dir": case.evaluation}, BOT, job.environment(**environment)
        )
        text = server.texts[0].replace("\\_", "_")

    assert f"Running stage 'evaluate@{case.model}'" in repro.stdout
    assert repro.stdout.count("Running stage 'evaluate@") == 1
    assert comment.returncode == 1, comment.stdout + comment.stderr
    assert "\n## Gate: worse\n" in text
    assert f"**{name}. Against {base[:12]}: {case.model} is worse" in text
    assert case.worse in text
    assert "the whole interval lies beyond what is allowed" in text
    assert text.count("is worse") == 1


def _pull_request(folder: Path, address: str, base: str, head: str) -> dict[str, str]:
    """The environment of the job, and the event in a file."""
    branches = {"base": {"ref": "main", "sha": base}, "head": {"ref": "change", "sha": head}}
    event = {"action": "opened", "number": 7, "pull_request": {"number": 7, **branches}}
    path = folder / "event.json"
    path.write_text(json.dumps({**event, "repository": {"full_name": "shop/models"}}))
    return {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": address,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "shop/models",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
