"""The steps of action.yml, run as GitHub runs those of a composite action, with a `gh` that records its calls."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.project import ROOT, attempt

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
TOKEN = "ghs_secret"
OWN_PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
_CLIENT = """#!{python}
# gh api and curl: records a call, answers from server.json beside it, filters by jq as gh does.
import json, os, subprocess, sys
from pathlib import Path

here, given = Path(__file__).parent, sys.argv[1:]
server = json.loads((here / "server.json").read_text())
url = next(each for each in given if each == "user" or each.startswith(("repos/", "https://")))
stdin = sys.stdin.read() if "body=@-" in given else ""
file = next((each.removeprefix("body@") for each in given if each.startswith("body@")), None)
method = given[given.index(flag) + 1] if (flag := "--method") in given or (flag := "--request") in given else "GET"
body = Path(file).read_text() if file else stdin
method = "POST" if body and method == "GET" else method
with (here / "calls.jsonl").open("a") as calls:
    call = {{"method": method, "url": url, "body": body, "arguments": given, "host": os.environ.get("GH_HOST")}}
    calls.write(json.dumps(call) + "\\n")
answer = server["user"] if url.endswith("user") else server["comments"] if method == "GET" else server["posted"]
if answer is None:
    print(json.dumps({{"message": "Resource not accessible by integration"}}), end="")
    sys.exit("gh: Resource not accessible by integration (HTTP 403)")
pages = answer if url.endswith("]") or "--paginate" in given else [answer]
for page in pages:
    if "--jq" in given:
        subprocess.run(["jq", "-r", given[given.index("--jq") + 1]], input=json.dumps(page), text=True, check=True)
    else:
        print(json.dumps(page))
"""
Done = subprocess.CompletedProcess[str]


@dataclass
class Server:
    """Programs in front of the PATH: `gh` and `curl` answer as a server does that holds these comments.

    user     : whom the token belongs to; None for the token of a job, which may not ask
    pages    : the comments that are there
    may_post : False for the token of a fork
    """

    programs: Path
    user: dict[str, Any] | None = None
    pages: list[list[dict[str, Any]]] = field(default_factory=lambda: [[]])
    may_post: bool = True

    def path(self, others: str) -> str:
        """Write the programs; return the PATH that finds them before others."""
        if shutil.which("jq") is None:
            pytest.skip("jq is not installed")
        self.programs.mkdir(exist_ok=True)
        posted = {"html_url": "https://github.com/shop/models/pull/7#issuecomment-1"}
        content = {"user": self.user, "comments": self.pages, "posted": posted if self.may_post else None}  # fmt: skip
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
        """Method, address and body of each call that writes."""
        return [(each["method"], each["url"], each["body"]) for each in self.calls if each["method"] != "GET"]  # fmt: skip


def comment(text: str, number: int, login: str = "github-actions[bot]") -> dict[str, Any]:
    """A comment as the servers give it."""
    kind = "Bot" if login.endswith("[bot]") else "User"
    return {"id": number, "body": text, "user": {"login": login, "type": kind}, "author": {"id": len(login)}}  # fmt: skip


def action() -> dict[str, Any]:
    content: dict[str, Any] = YAML(typ="safe").load(ROOT / "action.yml")
    return content


def run_action(
    workspace: Path,
    folder: Path,
    inputs: Mapping[str, str],
    server: Server,
    environment: Mapping[str, str],
    **context: str,
) -> dict[str, Done]:
    """Run the steps in a workspace; return what each did. `folder` takes the job summary.

    context : such as base="1a2b…", head="3c4d…", number="7"; a job without a pull request has none
    """
    content = action()
    pull_request = "github.event.pull_request"
    known = {"github.token": TOKEN, f"{pull_request}.base.sha": context.get("base", "")}
    known |= {f"{pull_request}.head.sha": context.get("head", ""), f"{pull_request}.number": context.get("number", "")}  # fmt: skip
    for name, declared in content["inputs"].items():
        known[f"inputs.{name}"] = inputs.get(name, _filled(declared.get("default", ""), known))
    known["steps.gate.outputs.comment"] = ""
    script, outputs = folder / "step.sh", folder / "outputs"
    runner = {
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_REPOSITORY": "shop/models",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
    }
    done: dict[str, Done] = {}
    for step in content["runs"]["steps"]:
        if condition := step.get("if"):
            assert condition == "${{ !cancelled() && steps.gate.outputs.comment }}"
            if not known["steps.gate.outputs.comment"]:
                continue
        elif any(each.returncode for each in done.values()):
            continue
        script.write_text(step["run"], encoding="utf-8")
        own = {name: _filled(value, known) for name, value in step.get("env", {}).items()}
        at = workspace / _filled(step.get("working-directory", "."), known)
        own["PATH"] = server.path(environment.get("PATH", OWN_PATH))
        done[step["name"]] = attempt(at, *BASH, str(script), **{**environment, **runner, **own})
        if outputs.exists():
            known["steps.gate.outputs.comment"] = outputs.read_text().strip().partition("=")[2]
    return done


def _filled(text: str, known: Mapping[str, str]) -> str:
    """With the values of its expressions; one that is not known is a fault of the action."""
    return _EXPRESSION.sub(lambda found: known[found[1]], text)
