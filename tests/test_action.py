"""A pull request that makes a segment worse: `concord comment`, the actions and GitLab's job.

The steps run as GitHub runs those of a composite action, with a `gh` that records its calls.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from concord.pipeline.commands import comment as comment_command
from concord.pipeline.commands.cli import build_parser
from concord.reports.comment import marker as render_marker
from tests.pipeline.dvc.revisions import commit, git, scored_lists, worsen_for_active_users
from tests.project import ROOT, attempt, change_params, copied, run, run_stages

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
TOKEN = "ghs_secret"
OWN_PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
_CLIENT = """#!{python}
# gh api and curl: records a call, answers from server.json beside it, filters by jq as gh does.
import json, os, subprocess, sys
from pathlib import Path

folder, arguments = Path(__file__).parent, sys.argv[1:]
server = json.loads((folder / "server.json").read_text())
url = next(each for each in arguments if each == "user" or each.startswith(("repos/", "https://")))
piped = sys.stdin.read() if {{"body=@-", "@-"}} & {{*arguments}} else ""
stdin = "" if "@-" in arguments else piped  # curl takes a header there
file = next((each.removeprefix("body@") for each in arguments if each.startswith("body@")), None)
flag = next((each for each in ("--method", "--request") if each in arguments), None)
method = arguments[arguments.index(flag) + 1] if flag else "GET"
body = Path(file).read_text() if file else stdin
method = "POST" if body and method == "GET" else method
with (folder / "calls.jsonl").open("a") as calls:
    call = {{
        "method": method, "url": url, "body": body, "arguments": arguments,
        "host": os.environ.get("GH_HOST"), "has_header": piped.startswith("PRIVATE-TOKEN: "),
    }}
    calls.write(json.dumps(call) + "\\n")
reads = method == "GET"
answer = server["user" if url.endswith("user") else "comments" if reads else "posted"]
if answer is None:
    print(json.dumps({{"message": "Resource not accessible by integration"}}), end="")
    sys.exit(server["failure"].format(**os.environ))
pages = answer if url.endswith("]") or "--paginate" in arguments else [answer]
for page in pages:
    if "--jq" in arguments:
        jq = ["jq", "-r", arguments[arguments.index("--jq") + 1]]
        subprocess.run(jq, input=json.dumps(page), text=True, check=True)
    else:
        print(json.dumps(page))
"""
Done = subprocess.CompletedProcess[str]


@dataclass
class Server:
    """`gh` and `curl` in front of the PATH, which answer like a server with these comments.

    user     : whom the token belongs to; None for the token of a job, which may not ask
    pages    : the comments that are there
    may_post : False for the token of a fork
    failure  : what the program says then; `{{GH_TOKEN}}` stands for a variable of its environment
    """

    programs: Path
    user: dict[str, Any] | None = None
    pages: list[list[dict[str, Any]]] = field(default_factory=lambda: [[]])
    may_post: bool = True
    failure: str = "gh: Resource not accessible by integration (HTTP 403)"

    def path(self, others: str) -> str:
        """Write the programs; return the PATH that finds them before others."""
        if shutil.which("jq") is None:
            pytest.skip("jq is not installed")
        self.programs.mkdir(exist_ok=True)
        posted = {"html_url": "https://github.com/shop/models/pull/7#issuecomment-1"}
        content = {
            "user": self.user,
            "comments": self.pages,
            "posted": posted if self.may_post else None,
            "failure": self.failure,
        }
        (self.programs / "server.json").write_text(json.dumps(content))
        for name in ("gh", "curl"):
            (self.programs / name).write_text(_CLIENT.format(python=sys.executable))
            (self.programs / name).chmod(0o755)
        return f"{self.programs}{os.pathsep}{others}"

    @property
    def calls(self) -> list[dict[str, Any]]:
        file = self.programs / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def writes(self) -> list[tuple[str, str, str]]:
        """Return method, address and body of each call that writes."""
        return [
            (each["method"], each["url"], each["body"])
            for each in self.calls
            if each["method"] != "GET"
        ]


def comment(text: str, number: int, login: str = "github-actions[bot]") -> dict[str, Any]:
    """Return a comment as the servers do."""
    kind = "Bot" if login.endswith("[bot]") else "User"
    return {
        "id": number,
        "body": text,
        "user": {"login": login, "type": kind},
        "author": {"id": len(login)},
    }


EVALUATE, COMMENT = "action.yml", ".github/actions/comment/action.yml"


def action(name: str) -> dict[str, Any]:
    content: dict[str, Any] = YAML(typ="safe").load(ROOT / name)
    return content


def workflow_of_the_page() -> dict[str, Any]:
    page = (ROOT / "docs/how-to/ci.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n# .github/workflows/evaluation.yml\n(.*?)```", page, re.DOTALL)
    content: dict[str, Any] = YAML(typ="safe").load(text)
    return content


def run_action(
    workspace: Path,
    folder: Path,
    inputs: Mapping[str, str],
    server: Server,
    **context: str,
) -> dict[str, Done]:
    """Run the steps of both jobs; return what each did. `folder` takes the job summary.

    context : such as base="1a2b…", head="3c4d…", number="7"; a job without a pull request has none
    """
    pull_request = "github.event.pull_request"
    known = {"github.token": TOKEN, "github.action_path": str(ROOT)}
    known |= {f"{pull_request}.base.sha": context.get("base", "")}
    known |= {
        f"{pull_request}.head.sha": context.get("head", ""),
        f"{pull_request}.number": context.get("number", ""),
        "runner.temp": str(folder),
        "steps.gate.outputs.comment": "",
    }
    script, outputs, artifact = folder / "step.sh", folder / "outputs", folder / "concord"
    runner = {
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_REPOSITORY": "shop/models",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    done: dict[str, Done] = {}
    for name in (EVALUATE, COMMENT):
        content = action(name)
        for key, declaration in content["inputs"].items():
            known[f"inputs.{key}"] = inputs.get(key, _filled(declaration.get("default", ""), known))
        has_failed = False
        for step in content["runs"]["steps"]:
            runs_after_failure = "!cancelled()" in step.get("if", "")
            if has_failed and not runs_after_failure:
                continue
            if "if" in step and not _is_true(step["if"], known):
                continue
            if "uses" in step:  # upload, then download
                file = Path(known["steps.gate.outputs.comment"])
                artifact.mkdir(exist_ok=True)
                if file.is_file():
                    shutil.copy(file, artifact)
                continue
            script.write_text(step["run"], encoding="utf-8")
            step_environment = {
                name: _filled(value, known) for name, value in step.get("env", {}).items()
            }
            at = workspace / _filled(step.get("working-directory", "."), known)
            step_environment["PATH"] = server.path(OWN_PATH)
            ended = attempt(at, *BASH, str(script), **{**runner, **step_environment})
            done[step["name"]] = ended
            has_failed = has_failed or ended.returncode != 0
            if outputs.exists():
                comment = outputs.read_text().strip().partition("=")[2]
                known["steps.gate.outputs.comment"] = comment
    return done


def _is_true(condition: str, known: Mapping[str, str]) -> bool:
    """Return the value of a condition; one that the action did not have is an error."""
    conditions = {
        "${{ inputs.install == 'true' }}": known["inputs.install"] == "true",
        "${{ !cancelled() && steps.gate.outputs.comment }}": bool(
            known["steps.gate.outputs.comment"]
        ),
    }
    return conditions[condition]


def _filled(text: str, known: Mapping[str, str]) -> str:
    """Replace expressions by their values; an unknown one is an error of the action."""
    return _EXPRESSION.sub(lambda actual: known[actual[1]], text)


GATE = {"guardrails": {"Coverage@10": 0.5}, "segments": {"activity": {"nDCG@10": "5%"}}}
PARAMS = {
    "models": {
        "ease": {"path": "data/demo/ease.parquet"},
        "knn": {"path": "data/demo/item-knn.parquet"},
    },
    "comparison.baseline": "knn",
    "comparison.primary": ["nDCG@10"],
    "comparison.resamples": 199,
    "segments": {"activity": {"by": "activity", "edges": [0, 20, 50]}},
    "evaluation.metrics": ["nDCG", "Coverage"],
    "evaluation.ks": [10],
    "evaluation.panel": False,
    "gate": GATE,
}
LOADS = (
    "load-background train",
    "load-background items",
    "load-background users",
    "load ease",
    "load knn",
)
MARKER = "<!-- concord: . -->"
TEXT = f"{MARKER}\n\n## Gate: pass $(id) `id` '\"\n"
POST, PATCH = "repos/shop/models/issues/7/comments", "repos/shop/models/issues/comments"


@dataclass(frozen=True)
class PullRequest:
    """A shallow checkout of a pull request with results, and three commits."""

    project: Path
    empty: str
    base: str
    head: str


@pytest.fixture(scope="module")
def evaluated_pull_request(tmp_path_factory: pytest.TempPathFactory) -> PullRequest:
    """Create two models on `main`; the pull request makes one worse for active users."""
    folder = tmp_path_factory.mktemp("action")
    project = copied(folder)
    remote = folder / "remote.git"
    run(folder, "git", "init", "-q", "--bare", str(remote))
    for name in ("allowFilter", "allowAnySHA1InWant"):  # as the servers do
        run(remote, "git", "config", f"uploadpack.{name}", "true")
    run(project, "git", "remote", "add", "origin", remote.as_uri())
    git(project, "commit", "-q", "--allow-empty", "-m", "nothing yet")
    empty = run(project, "git", "rev-parse", "HEAD").strip()
    change_params(project, PARAMS)
    lists = scored_lists(project)
    lists.write_parquet(project / "data/demo/ease.parquet")
    run_stages(
        project, "load-truth", *LOADS, "reference", "evaluate ease", "evaluate knn", "compare"
    )
    run(project, "dvc", "commit", "-q", "-f", "--with-deps", "compare")
    base = _commit(project, "main")
    worsen_for_active_users(project, lists)
    run_stages(project, "load ease", "evaluate ease", "compare")
    head = _commit(project, "change")
    job = folder / "job"
    run(folder, "git", "clone", "-q", "--depth=1", "--branch=change", remote.as_uri(), str(job))
    for ignored in ("results", ".dvc/cache"):
        shutil.copytree(project / ignored, job / ignored, dirs_exist_ok=True)
    return PullRequest(job, empty, base, head)


def _commit(project: Path, branch: str) -> str:
    run(project, "git", "add", "-A", "-f", "data")
    commit(project, "a state")
    run(project, "git", "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
    return run(project, "git", "rev-parse", "HEAD").strip()


@pytest.fixture
def request_(
    evaluated_pull_request: PullRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PullRequest]:
    """Make the checkout the current folder; restore its params.yaml afterwards."""
    params = evaluated_pull_request.project / "params.yaml"
    before = params.read_bytes()
    monkeypatch.chdir(evaluated_pull_request.project)
    yield evaluated_pull_request
    params.write_bytes(before)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """Return a server without comments; `dvc` does nothing, as the results exist."""
    server = Server(tmp_path / "programs")
    server.programs.mkdir()
    (server.programs / "dvc").write_text("#!/bin/sh\necho dvc $*\n")
    (server.programs / "dvc").chmod(0o755)
    return server


def _text(revision: str | None, folder: Path, undecided: str | None = None) -> tuple[int, str]:
    """Return the exit code of `concord comment`, and what it wrote."""
    file = folder / "comment.md"
    words = [*filter(None, [revision]), "--output", str(file)]
    words += [] if undecided is None else ["--undecided", undecided]
    code = comment_command.run(build_parser().parse_args(["comment", *words]))
    return code, file.read_text(encoding="utf-8")


@pytest.mark.whole
def test_the_action_fails_as_the_gate_and_its_comment_says_why(
    request_: PullRequest, server: Server, tmp_path: Path
) -> None:
    context = {"base": request_.base, "head": request_.head, "number": "7"}
    done = run_action(request_.project, tmp_path, {}, server, **context)
    ((method, url, text),) = server.writes

    assert done["evaluate"].stdout == "dvc repro\n"
    assert done["gate"].returncode == 1
    assert (
        done["gate"].stdout.splitlines()[0]
        == f"worse, against {request_.base[:12]}: 1 of 2 models changed; ease is worse."
    )
    assert (done["comment"].returncode, method, url) == (0, "POST", POST)
    assert text.splitlines()[:3] == [MARKER, "", "## ❌ Gate: failed"]
    assert "ease on nDCG@10 of segment activity=over 50: −0.2" in text
    assert "| ease | activity=over 50 | nDCG@10 | worse | 0.3" in text
    assert f"Evaluated for {request_.head[:12]}." in text
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == text


@pytest.mark.whole
def test_a_push_is_compared_with_the_baseline_and_comments_nowhere(
    request_: PullRequest, server: Server, tmp_path: Path
) -> None:
    done = run_action(request_.project, tmp_path, {"undecided": "pass"}, server)

    assert done["gate"].stdout.startswith("worse, against knn: ease is worse.")
    assert done["comment"].returncode == 0
    assert server.calls == []
    assert "## ❌ Gate: failed" in (tmp_path / "summary.md").read_text(encoding="utf-8")


def test_concord_is_installed_if_asked_and_evaluates_without_dvc(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "evaluation").mkdir()
    for name in ("concord", "python"):
        (server.programs / name).write_text(f'#!/bin/sh\necho "{name} $* in $PWD"\n')
        (server.programs / name).chmod(0o755)
    (tmp_path / "evaluation/data.csv").touch()
    inputs = {"install": "true", "evaluate": "concord run report *", "dir": "evaluation"}
    done = run_action(tmp_path, tmp_path, inputs, server)

    assert [*done] == ["install", "evaluate", "gate", "summary", "comment"]
    assert done["install"].stdout == f"python -m pip install --quiet .[all] in {ROOT}\n"
    assert done["evaluate"].stdout == f"concord run report * in {tmp_path}/evaluation\n"


def test_an_empty_command_is_an_error(server: Server, tmp_path: Path) -> None:
    done = run_action(tmp_path, tmp_path, {"evaluate": " "}, server)

    assert [*done] == ["evaluate", "comment"]
    assert (done["evaluate"].returncode, done["comment"].returncode) == (1, 0)
    assert server.calls == []
    assert done["evaluate"].stdout.startswith("::error::evaluate: is empty")


@pytest.mark.whole
def test_the_base_may_lack_the_evaluation_or_be_missing(
    request_: PullRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(request_.project, "git", "fetch", "-q", "--depth=1", "origin", request_.empty)

    assert _text(request_.empty, tmp_path)[0] == 1
    assert capsys.readouterr().out.startswith("worse, against knn: ease is worse.")
    code, text = _text("0" * 40, tmp_path)
    assert code == 2
    assert "## ⚪ Gate: no decision" in text
    assert "'000000000000' is not in this checkout, which is shallow" in text.replace("\\", "")


@pytest.mark.whole
def test_undecided_and_its_option(request_: PullRequest, tmp_path: Path) -> None:
    run(request_.project, "git", "fetch", "-q", "--depth=1", "origin", request_.base)
    _, text = _text(request_.base, tmp_path)
    lost = re.search(r"=over 50: −([\d.]+)", text)
    assert lost
    narrow = {"segments": {"activity": {"nDCG@10": float(lost[1])}}}
    change_params(request_.project, {"gate": narrow})

    assert _text(request_.base, tmp_path)[0] == 3
    code, text = _text(request_.base, tmp_path, "pass")
    assert code == 0
    assert "## ✅ Gate: passed, though undecided" in text
    assert "| gate.segments.activity.nDCG@10 | 5 % | 0." in text
    change_params(request_.project, {"gate": {**narrow, "undecided": "pass"}})
    assert _text(request_.base, tmp_path, "fail")[0] == 3

    change_params(request_.project, {"gate": None})
    code, text = _text(request_.base, tmp_path)
    assert code == 0
    changes = "1 of 2 models changed. Worse: ease on nDCG@10."
    assert f"**Since {request_.base[:12]}, {changes}**" in text
    assert "Gate:" not in text


def _post(
    server: Server, folder: Path, number: str = "7", text: str = TEXT, evaluation: str = "."
) -> Done:
    """Run the step that comments on a written comment; stderr traces every command."""
    step = action(COMMENT)["runs"]["steps"][-1]
    file = folder / "comment.md"
    file.write_text(text, encoding="utf-8")
    environment = {
        "COMMENT": str(file),
        "FOLDER": evaluation,
        "GH_TOKEN": TOKEN,
        "GITHUB_REPOSITORY": "shop/models",
        "GITHUB_SERVER_URL": "https://github.com",
        "NUMBER": number,
        "PATH": server.path(OWN_PATH),
    }
    done = attempt(folder, *BASH, "-x", "-c", step["run"], **environment)
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
    """A job that overwrote another user's comment would let that user change its text."""
    server.user = None if login is None else {"login": login}
    server.pages = pages
    done = _post(server, tmp_path)

    assert server.writes == [(*call, TEXT)]
    assert {each["host"] for each in server.calls} == {"github.com"}
    assert done.stdout == "comment: https://github.com/shop/models/pull/7\n"


@pytest.mark.parametrize(
    ("evaluation", "marker"), [("evaluation", "."), (".", "other"), ("a b/c/", "a b/c")]
)
def test_only_the_comment_of_the_own_evaluation_is_posted(
    server: Server, tmp_path: Path, evaluation: str, marker: str
) -> None:
    text = TEXT.replace(MARKER, f"<!-- concord: {marker} -->")
    done = _post(server, tmp_path, text=text, evaluation=evaluation)

    assert not server.writes
    assert done.stdout.startswith("::warning::no comment was written: the file is not the comment")


def test_the_folder_of_an_evaluation_is_quoted_as_in_its_comment(
    server: Server, tmp_path: Path
) -> None:
    text = TEXT.replace(MARKER, render_marker("a b/é"))
    _post(server, tmp_path, text=text, evaluation="./a b/é/")

    assert server.writes == [("POST", POST, text)]


def test_a_pull_request_from_a_fork_gets_a_warning(server: Server, tmp_path: Path) -> None:
    server.may_post = False
    done = _post(server, tmp_path)

    assert done.stdout.startswith("::warning::no comment was written: gh: Resource not accessible")
    assert len(done.stdout.splitlines()) == 1


def test_answer_of_a_server_prints_no_token_and_no_workflow_command(
    server: Server, tmp_path: Path
) -> None:
    server.may_post = False
    server.failure = "gh: Bad credentials: {GH_TOKEN}\r\n::error::{GH_TOKEN}"
    done = _post(server, tmp_path)

    (line,) = done.stdout.splitlines()
    assert line.startswith("::warning::no comment was written: gh: Bad credentials: ***")
    assert not re.search(r"^::", done.stderr, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "said"),
    [("", ""), ("<!-- other -->\n", "::warning::no comment was written: the file is not the ")],
)
def test_what_is_no_comment_of_concord_is_not_posted(
    server: Server, tmp_path: Path, text: str, said: str
) -> None:
    """Code of the pull request can replace the file; the first line selects whom to edit."""
    done = _post(server, tmp_path, text=text)

    assert done.stdout.startswith(said)
    assert server.writes == []


@pytest.mark.parametrize("name", [EVALUATE, COMMENT])
def test_the_shell_of_an_action_holds_no_expression(name: str) -> None:
    """Otherwise a branch name or title from a stranger would be run."""
    for step in action(name)["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        subprocess.run(["bash", "-n", "-c", step.get("run", "")], check=True)


def test_the_job_that_runs_the_pull_request_has_no_token_that_may_write() -> None:
    """`dvc repro` can change later steps of its job, such as by BASH_ENV in $GITHUB_ENV."""
    workflow = workflow_of_the_page()
    evaluate, comment = workflow["jobs"].values()

    assert "token" not in str(action(EVALUATE))
    assert (workflow["permissions"], "permissions" in evaluate) == ({"contents": "read"}, False)
    assert comment["permissions"] == {"pull-requests": "write"}
    assert (comment["needs"], comment["if"]) == ("evaluate", "${{ !cancelled() }}")
    assert [step["uses"].partition("@")[0] for step in comment["steps"]] == [
        f"concord-eval/concord/{Path(COMMENT).parent}"
    ]


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
    done = attempt(tmp_path, *BASH, "-x", "-c", script, **environment)
    notes = "https://gitlab.com/api/v4/projects/42/merge_requests/7/notes"

    assert done.returncode == 0, done.stderr
    assert server.writes == [(method, f"{notes}{url}", TEXT)]
    assert all(each["has_header"] for each in server.calls)
    assert TOKEN not in done.stdout + done.stderr + str(server.calls)
