"""A pull request that makes a segment worse: `concord comment`, the steps of action.yml, and the job of GitLab."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML

from concord.pipeline.commands.comment import comment as write_comment
from tests.action import BASH, OWN_PATH, TOKEN, Done, Server, action, comment, run_action
from tests.project import ROOT, attempt, change_params, copied, run, run_stages

IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "a"), ("EMAIL", "a@b.c"))}  # fmt: skip
GATE = {"guardrails": {"Coverage@10": 0.5}, "segments": {"activity": {"nDCG@10": "5%"}}}
PARAMS = {
    "models": {"ease": {"path": "data/demo/ease.parquet"}, "knn": {"path": "data/demo/item-knn.parquet"}},
    "comparison.baseline": "knn",
    "comparison.primary": ["nDCG@10"],
    "comparison.resamples": 199,
    "segments": {"activity": {"by": "activity", "edges": [0, 20, 50]}},
    "evaluation.metrics": ["nDCG", "Coverage"],
    "evaluation.ks": [10],
    "evaluation.panel": False,
    "gate": GATE,
}  # fmt: skip
LOADS = ("load-background train", "load-background items", "load-background users", "load ease", "load knn")  # fmt: skip
MARKER = "<!-- concord: . -->"
TEXT = f"{MARKER}\n\n## Gate: pass $(id) `id` '\"\n"
POST, PATCH = "repos/shop/models/issues/7/comments", "repos/shop/models/issues/comments"


@dataclass(frozen=True)
class PullRequest:
    """A shallow checkout of a request with its results, and three commits of its repository."""

    project: Path
    empty: str
    base: str
    head: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> PullRequest:
    """On `main` two models; the request spoils one of them for users of whom much is known."""
    folder = tmp_path_factory.mktemp("action")
    project = copied(folder)
    remote = folder / "remote.git"
    run(folder, "git", "init", "-q", "--bare", str(remote))
    for name in ("allowFilter", "allowAnySHA1InWant"):  # as the servers do
        run(remote, "git", "config", f"uploadpack.{name}", "true")
    run(project, "git", "remote", "add", "origin", remote.as_uri())
    run(project, "git", "commit", "-q", "--allow-empty", "-m", "nothing yet", **IDENTITY)
    empty = run(project, "git", "rev-parse", "HEAD").strip()
    change_params(project, PARAMS)
    demo = project / "data/demo"
    lists = pl.read_ndjson(demo / "ease.jsonl.gz").explode("items", "scores")
    lists = lists.rename({"items": "item", "scores": "score"})
    lists.write_parquet(demo / "ease.parquet")
    run_stages(project, "load-truth", *LOADS, "evaluate ease", "evaluate knn", "compare")
    run(project, "dvc", "commit", "-q", "-f", "--with-deps", "compare")
    base = _commit(project, "main")
    train = pl.read_parquet(demo / "train.parquet").group_by("user").len()
    busy = train.filter(pl.col("len") > 50)["user"].implode()
    turned = pl.when(pl.col("user").is_in(busy)).then(-pl.col("score")).otherwise(pl.col("score"))
    lists.with_columns(turned.alias("score")).write_parquet(demo / "ease.parquet")
    run_stages(project, "load ease", "evaluate ease", "compare")
    head = _commit(project, "change")
    job = folder / "job"
    run(folder, "git", "clone", "-q", "--depth=1", "--branch=change", remote.as_uri(), str(job))
    for ignored in ("results", ".dvc/cache"):
        shutil.copytree(project / ignored, job / ignored, dirs_exist_ok=True)
    return PullRequest(job, empty, base, head)


def _commit(project: Path, branch: str) -> str:
    run(project, "git", "add", "-A", "-f", "data")
    run(project, "git", "add", "-A")
    run(project, "git", "commit", "-q", "-m", "a state", **IDENTITY)
    run(project, "git", "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
    return run(project, "git", "rev-parse", "HEAD").strip()


@pytest.fixture
def request_(made: PullRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[PullRequest]:
    """The checkout as the current folder; its params.yaml is restored."""
    params = made.project / "params.yaml"
    before = params.read_bytes()
    monkeypatch.chdir(made.project)
    yield made
    params.write_bytes(before)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """A server without comments, and a `dvc` that does nothing: the results are there."""
    server = Server(tmp_path / "programs")
    server.programs.mkdir()
    (server.programs / "dvc").write_text("#!/bin/sh\necho dvc $*\n")
    (server.programs / "dvc").chmod(0o755)
    return server


def _text(revision: str | None, folder: Path, undecided: str | None = None) -> tuple[int, str]:
    """Return the exit code of `concord comment`, and what it wrote."""
    file = folder / "comment.md"
    code = write_comment(revision, undecided, output=str(file), commit=None)
    return code, file.read_text(encoding="utf-8")


@pytest.mark.whole
def test_the_action_fails_as_the_gate_and_its_comment_says_why(
    request_: PullRequest, server: Server, tmp_path: Path
) -> None:
    context = {"base": request_.base, "head": request_.head, "number": "7"}
    done = run_action(request_.project, tmp_path, {}, server, {}, **context)
    ((method, url, text),) = server.writes

    assert done["dvc repro"].stdout == "dvc repro\n"
    assert done["gate"].returncode == 1
    assert done["gate"].stdout.splitlines()[0] == f"worse, against {request_.base[:12]}: ease is worse; knn passes."  # fmt: skip
    assert (done["comment"].returncode, method, url) == (0, "POST", POST)
    assert text.splitlines()[:3] == [MARKER, "", "## Gate: worse"]
    assert "ease on nDCG@10 of activity “over 50”: −0.2" in text
    assert "| ease | activity “over 50” | nDCG@10 | worse | 0.3" in text
    assert f"Evaluated for {request_.head[:12]}." in text
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == text


@pytest.mark.whole
def test_a_push_is_compared_with_the_baseline_and_comments_nowhere(
    request_: PullRequest, server: Server, tmp_path: Path
) -> None:
    done = run_action(request_.project, tmp_path, {"undecided": "pass"}, server, {})

    assert done["gate"].stdout.startswith("worse, against knn: ease is worse.")
    assert done["comment"].returncode == 0
    assert server.calls == []
    assert "## Gate: worse" in (tmp_path / "summary.md").read_text(encoding="utf-8")


@pytest.mark.whole
def test_the_base_may_lack_the_evaluation_or_be_missing(
    request_: PullRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(request_.project, "git", "fetch", "-q", "--depth=1", "origin", request_.empty)

    assert _text(request_.empty, tmp_path)[0] == 1
    assert capsys.readouterr().out.startswith("worse, against knn: ease is worse.")
    code, text = _text("0" * 40, tmp_path)
    assert code == 2
    assert "## Gate: no decision" in text
    assert "'000000000000' is no revision of a git repository here" in text.replace("\\", "")


@pytest.mark.whole
def test_undecided_and_its_option(request_: PullRequest, tmp_path: Path) -> None:
    run(request_.project, "git", "fetch", "-q", "--depth=1", "origin", request_.base)
    _, text = _text(request_.base, tmp_path)
    lost = re.search(r"“over 50”: −([\d.]+)", text)
    assert lost
    narrow = {"segments": {"activity": {"nDCG@10": float(lost[1])}}}
    change_params(request_.project, {"gate": narrow})

    assert _text(request_.base, tmp_path)[0] == 3
    code, text = _text(request_.base, tmp_path, "pass")
    assert code == 0
    assert "## Gate: pass, though undecided" in text
    assert "| gate.segments.activity.nDCG@10 | 5% | 0." in text
    change_params(request_.project, {"gate": {**narrow, "undecided": "pass"}})
    assert _text(request_.base, tmp_path, "fail")[0] == 3

    change_params(request_.project, {"gate": None})
    code, text = _text(request_.base, tmp_path)
    assert code == 0
    assert f"**Since {request_.base[:12]}: worse: ease on nDCG@10; identical: knn on nDCG@10.**" in text  # fmt: skip
    assert "Gate:" not in text


def _post(server: Server, folder: Path, number: str = "7", text: str = TEXT) -> Done:
    """Run the last step of the action on a comment that is written."""
    (step,) = [each for each in action()["runs"]["steps"] if each["name"] == "comment"]
    file = folder / "comment.md"
    file.write_text(text, encoding="utf-8")
    environment = {
        "COMMENT": str(file),
        "GH_TOKEN": TOKEN,
        "GITHUB_REPOSITORY": "shop/models",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "NUMBER": number,
        "PATH": server.path(OWN_PATH),
    }
    done = attempt(folder, *BASH, "-c", step["run"], **environment)
    assert done.returncode == 0, done.stderr
    assert TOKEN not in done.stdout + done.stderr + str(server.calls)
    return done


@pytest.mark.parametrize(
    ("login", "pages", "call"),
    [
        (None, [[]], ("POST", POST)),
        (None, [[comment("hi", 1)], [comment(TEXT, 2), comment(TEXT, 3)]], ("PATCH", f"{PATCH}/2")),
        (None, [[comment(TEXT, 1, "mallory"), comment(f"> {TEXT}", 2)]], ("POST", POST)),
        (None, [[comment("<!-- concord: other -->\n\n", 1)]], ("POST", POST)),
        ("ann", [[comment(TEXT, 1)]], ("POST", POST)),
        ("ann", [[comment(TEXT, 1)], [comment(TEXT, 2, "ann")]], ("PATCH", f"{PATCH}/2")),
    ],
)
def test_one_own_comment_of_an_evaluation_is_edited(
    server: Server, tmp_path: Path, login: str | None, pages: Any, call: tuple[str, str]
) -> None:
    """A job may write over the comment of anybody, who could then change what it says."""
    server.user = None if login is None else {"login": login}
    server.pages = pages
    done = _post(server, tmp_path)

    assert server.writes == [(*call, TEXT)]
    assert {each["host"] for each in server.calls} == {"github.com"}
    assert done.stdout == "comment: https://github.com/shop/models/pull/7#issuecomment-1\n"


def test_a_pull_request_from_a_fork_has_a_summary_and_a_warning(
    server: Server, tmp_path: Path
) -> None:
    server.may_post = False
    done = _post(server, tmp_path)

    assert done.stdout.startswith("::warning::no comment was written")
    assert len(done.stdout.splitlines()) == 1
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == TEXT


def test_an_error_without_a_comment_posts_nothing(server: Server, tmp_path: Path) -> None:
    done = _post(server, tmp_path, text="")

    assert (done.stdout, done.stderr, server.calls) == ("", "", [])


def test_the_shell_of_the_action_holds_no_expression() -> None:
    """What a stranger names a branch or a title would else be run."""
    for step in action()["runs"]["steps"]:
        assert "${{" not in step["run"]
        subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


def test_only_the_step_that_posts_knows_the_token() -> None:
    """`dvc repro` and the metrics of a project are code of the request."""
    secret = [each["name"] for each in action()["runs"]["steps"] if "inputs.token" in str(each)]

    assert secret == ["comment"]


@pytest.mark.parametrize(
    ("pages", "method", "url"), [([[]], "POST", ""), ([[], [comment(TEXT, 5, "ann")]], "PUT", "/5")]
)
def test_the_job_of_gitlab_edits_its_one_note(
    server: Server, tmp_path: Path, pages: Any, method: str, url: str
) -> None:
    page = (ROOT / "docs/how-to/ci.md").read_text(encoding="utf-8")
    (template,) = re.findall(r"```yaml\n# .gitlab-ci.yml\n(.*?)```", page, re.DOTALL)
    script = YAML(typ="safe").load(template)["evaluation"]["after_script"][-1]
    (tmp_path / "comment.md").write_text(TEXT, encoding="utf-8")
    server.user, server.pages = {"id": len("ann")}, pages
    environment = {
        "CI_API_V4_URL": "https://gitlab.com/api/v4",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_PROJECT_ID": "42",
        "GITLAB_TOKEN": TOKEN,
        "PATH": server.path(OWN_PATH),
    }
    done = attempt(tmp_path, *BASH, "-c", script, **environment)
    notes = "https://gitlab.com/api/v4/projects/42/merge_requests/7/notes"

    assert done.returncode == 0, done.stderr
    assert server.writes == [(method, f"{notes}{url}", TEXT)]
    assert TOKEN not in done.stdout + done.stderr
