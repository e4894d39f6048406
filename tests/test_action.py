"""A pull request that makes a segment worse: action.yml and `concord comment --post` in checkouts as CI has them."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tests.action import Done, action, run_action
from tests.pipeline.posting.forge import BOT, PERSON, READER, Forge, forge
from tests.project import attempt, change_params, copied, run

IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "a"), ("EMAIL", "a@b.c"))}  # fmt: skip
GATE = {"guardrails": {"Coverage@10": 0.5}, "segments": {"activity": {"nDCG@10": "5%"}}}
PARAMS = {
    "comparison.baseline": "knn",
    "comparison.primary": ["nDCG@10"],
    "comparison.resamples": 199,
    "segments": {"activity": {"by": "activity", "edges": [0, 20, 50]}},
    "evaluation.metrics": ["nDCG", "Coverage"],
    "evaluation.ks": [10],
    "evaluation.panel": False,
    "gate": GATE,
}
MODELS = {"ease": {"path": "data/demo/ease.parquet"}, "knn": {"path": "data/demo/item-knn.parquet"}}  # fmt: skip


@dataclass(frozen=True)
class Request:
    """A shallow checkout of what a pull request would make, and its commits."""

    workspace: Path
    empty: str
    base: str
    head: str

    @property
    def project(self) -> Path:
        return self.workspace / "a project"


@pytest.fixture(scope="module")
def request_(tmp_path_factory: pytest.TempPathFactory) -> Request:
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
    change_params(project, {**PARAMS, "models": MODELS})
    demo = project / "data/demo"
    lists = pl.read_ndjson(demo / "ease.jsonl.gz").explode("items", "scores")
    lists = lists.rename({"items": "item", "scores": "score"})
    lists.write_parquet(demo / "ease.parquet")
    run(project, "dvc", "remote", "add", "-q", "-d", "shared", str(folder / "dvc remote"))
    run(project, "dvc", "repro", "-q", "compare")
    base = _commit(project, "main")
    run(project, "dvc", "push", "-q")
    train = pl.read_parquet(demo / "train.parquet").group_by("user").len()
    busy = train.filter(pl.col("len") > 50)["user"].implode()
    turned = pl.when(pl.col("user").is_in(busy)).then(-pl.col("score")).otherwise(pl.col("score"))
    lists.with_columns(turned.alias("score")).write_parquet(demo / "ease.parquet")
    head = _commit(project, "change")
    workspace = folder / "job"
    workspace.mkdir()
    clone = ("git", "clone", "-q", "--depth=1", "--branch=change", remote.as_uri(), "a project")
    run(workspace, *clone)
    return Request(workspace, empty, base, head)


def _commit(project: Path, branch: str) -> str:
    run(project, "git", "add", "-A", "-f", "data")
    run(project, "git", "add", "-A")
    run(project, "git", "commit", "-q", "-m", "a state", **IDENTITY)
    run(project, "git", "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
    return run(project, "git", "rev-parse", "HEAD").strip()


@pytest.fixture
def server() -> Iterator[Forge]:
    with forge() as kept:
        yield kept


@pytest.fixture(autouse=True)
def _params_as_they_were(request: pytest.FixtureRequest) -> Iterator[None]:
    if "request_" not in request.fixturenames:
        yield
        return
    params = request.getfixturevalue("request_").project / "params.yaml"
    kept = params.read_bytes()
    yield
    params.write_bytes(kept)


def _job(server: Forge, asked: Request, folder: Path, base: str | None = None) -> dict[str, str]:
    """As Actions sets it for a pull request; the token is given to the step that needs it, by the action."""
    event = {
        "action": "synchronize",
        "number": 7,
        "pull_request": {
            "number": 7,
            "base": {"ref": "main", "sha": base or asked.base},
            "head": {"ref": "change", "sha": asked.head},
        },
        "repository": {"full_name": "shop/models"},
    }
    path = folder / "event.json"
    path.write_text(json.dumps(event), encoding="utf-8")
    return {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": server.address,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "shop/models",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }


def _acted(server: Forge, asked: Request, folder: Path, token: str = BOT, **given: str) -> list[Done]:  # fmt: skip
    environment = _job(server, asked, folder)
    return run_action(asked.workspace, {"dir": "a project", **given}, token, environment)


def _made_with_base(asked: Request) -> None:
    """Results, and the base beside them."""
    run(asked.project, "dvc", "repro", "-q", "compare")
    run(asked.project, "git", "fetch", "-q", "--depth=1", "origin", asked.base)


def _post(asked: Request, environment: dict[str, str]) -> Done:
    return attempt(asked.project, "concord", "comment", "--post", **environment)


@pytest.mark.whole
def test_it_fails_the_gate_and_its_one_comment_says_why(
    server: Forge, request_: Request, tmp_path: Path
) -> None:
    repro, gate = _acted(server, request_, tmp_path)
    (text,) = server.texts

    assert "Running stage 'evaluate@ease'" in repro.stdout
    assert gate.returncode == 1
    assert gate.stdout.splitlines()[0] == f"worse, against {request_.base[:12]}: ease is worse; knn passes."  # fmt: skip
    assert text.splitlines()[:3] == ["<!-- concord: . -->", "", "## Gate: worse"]
    assert "ease on nDCG@10 of activity “over 50”: −0.2" in text
    assert "the whole interval lies beyond what is allowed" in text
    assert "| ease | activity “over 50” | nDCG@10 | worse | 0.3" in text
    assert f"Evaluated for {request_.head[:12]}." in text
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == f"{text}\n"
    assert BOT not in "".join(each.stdout + each.stderr for each in (repro, gate)) + text

    again = _acted(server, request_, tmp_path)[1]
    assert again.stdout.splitlines()[-1].startswith("comment updated: ")
    assert server.texts == [text]


@pytest.mark.whole
def test_a_request_from_a_fork_is_decided_and_summed_up(
    server: Forge, request_: Request, tmp_path: Path
) -> None:
    gate = _acted(server, request_, tmp_path, READER)[1]

    assert gate.returncode == 1
    assert "no comment: 403 Forbidden" in gate.stdout
    assert "## Gate: worse" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert server.texts == []


@pytest.mark.whole
def test_the_input_undecided_takes_the_place_of_what_params_say(
    server: Forge, request_: Request, tmp_path: Path
) -> None:
    _made_with_base(request_)
    found = json.loads(attempt(request_.project, "concord", "gate", request_.base, "--json").stdout)
    (lost,) = (each for each in found["models"][0]["guardrails"] if each["segment"] == "over 50")
    about = {"segments": {"activity": {"nDCG@10": -lost["difference"]}}}
    environment = {**_job(server, request_, tmp_path), "GITHUB_TOKEN": BOT}
    change_params(request_.project, {"gate": about})

    assert _post(request_, environment).returncode == 3
    assert _acted(server, request_, tmp_path, undecided="pass")[1].returncode == 0
    assert "## Gate: pass, though undecided" in server.texts[0]
    assert f"This changes what is asked of it**, in params.yaml since {request_.base[:12]}" in server.texts[0]  # fmt: skip
    assert "| gate.segments.activity.nDCG@10 | 5% | 0." in server.texts[0]
    assert "| gate.guardrails.Coverage@10 | 0.5 | none |" in server.texts[0]

    change_params(request_.project, {"gate": {**about, "undecided": "pass"}})

    assert _post(request_, environment).returncode == 0
    assert _acted(server, request_, tmp_path, undecided="fail")[1].returncode == 3
    assert "## Gate: undecided" in server.texts[0]


@pytest.mark.whole
def test_without_a_gate_nothing_is_decided(
    server: Forge, request_: Request, tmp_path: Path
) -> None:
    change_params(request_.project, {"gate": None})
    run(request_.project, "dvc", "repro", "-q", "compare")
    done = _post(request_, {**_job(server, request_, tmp_path), "GITHUB_TOKEN": BOT})

    assert done.returncode == 0, done.stderr
    assert f"**Since {request_.base[:12]}: worse: ease on nDCG@10; identical: knn on nDCG@10.**" in server.texts[0]  # fmt: skip
    assert "Gate:" not in server.texts[0]


@pytest.mark.whole
def test_other_conventions_are_named_and_not_decided_on(
    server: Forge, request_: Request, tmp_path: Path
) -> None:
    change_params(request_.project, {"conventions.preset": "custom", "conventions.gain": "exp2"})
    run(request_.project, "dvc", "repro", "-q", "compare")
    done = _post(request_, {**_job(server, request_, tmp_path), "GITHUB_TOKEN": BOT})
    (text,) = server.texts

    assert done.returncode == 2
    assert "## Gate: no decision" in text
    assert "gain was 'linear' and is 'exp2'" in text
    assert "| gain | linear | exp2 | ease, knn |" in text
    assert "| lists of ease | data/demo/ease.parquet, sha256 " in text


@pytest.mark.whole
def test_the_request_that_brings_the_evaluation_is_held_against_the_baseline(
    server: Forge, request_: Request, tmp_path: Path
) -> None:
    environment = _job(server, request_, tmp_path, base=request_.empty)
    run(request_.project, "dvc", "repro", "-q", "compare")
    done = _post(request_, {**environment, "GITHUB_TOKEN": BOT})

    assert done.returncode == 1
    assert done.stdout.startswith("worse, against knn: ease is worse.")
    assert "the baseline takes its place" in done.stderr


@pytest.mark.whole
def test_a_base_that_cannot_be_had_is_no_decision_and_is_told(
    server: Forge, request_: Request, tmp_path: Path
) -> None:
    environment = _job(server, request_, tmp_path, base="0" * 40)
    done = _post(request_, {**environment, "GITHUB_TOKEN": BOT})

    assert done.returncode == 2
    assert "check out all history: `fetch-depth: 0`" in done.stderr
    assert "## Gate: no decision" in server.texts[0]
    assert "is no revision of a git repository here" in server.texts[0]


@pytest.mark.whole
def test_a_summary_that_cannot_be_written_prevents_no_comment(
    server: Forge, request_: Request, tmp_path: Path
) -> None:
    run(request_.project, "dvc", "repro", "-q", "compare")
    environment = _job(server, request_, tmp_path) | {"GITHUB_STEP_SUMMARY": str(tmp_path)}
    done = _post(request_, {**environment, "GITHUB_TOKEN": BOT})

    assert done.returncode == 1
    assert "no summary of the job: Is a directory" in done.stderr
    assert "## Gate: worse" in server.texts[0]


@pytest.mark.whole
def test_a_merge_request_of_gitlab(server: Forge, request_: Request) -> None:
    run(request_.project, "dvc", "repro", "-q", "compare")
    environment = {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": server.address,
        "CI_COMMIT_SHA": request_.head,
        "CI_JOB_TOKEN": READER,
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": request_.base,
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_PROJECT_ID": "42",
        "CI_MERGE_REQUEST_PROJECT_URL": "https://lab.example/shop",
        "CI_PROJECT_ID": "42",
    }
    done = _post(request_, {**environment, "GITLAB_TOKEN": PERSON})

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "commented: https://lab.example/shop/-/merge_requests/7#note_100"  # fmt: skip
    assert "## Gate: worse" in server.texts[0]

    refused = _post(request_, environment)  # without a summary the log is all that is left
    assert refused.returncode == 1
    assert server.texts[0] in refused.stdout
    assert refused.stdout.splitlines()[-1].startswith("no comment: 403 Forbidden")
    assert len(server.texts) == 1


@pytest.mark.whole
def test_the_same_inputs_give_the_same_bytes(request_: Request) -> None:
    _made_with_base(request_)
    texts = {run(request_.project, "concord", "comment", request_.base) for _ in range(2)}

    assert len(texts) == 1
    assert str(request_.workspace) not in texts.pop()


def test_the_shell_of_the_action_is_shell_and_holds_no_expression() -> None:
    """What a stranger names a branch or a folder would else be run."""
    for step in action()["runs"]["steps"]:
        assert "${{" not in step["run"]
        subprocess.run(["bash", "-n", "-c", step["run"]], check=True)


def test_only_the_step_that_comments_knows_the_token() -> None:
    """`dvc repro` runs the code of the request."""
    repro, comment = action()["runs"]["steps"]

    assert repro["run"] == "dvc repro"
    assert "env" not in repro
    assert comment["env"]["GITHUB_TOKEN"] == "${{ inputs.token }}"
