"""The steps of action.yml, run as GitHub runs those of a composite action."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.project import ROOT, attempt

BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
Done = subprocess.CompletedProcess[str]


def action() -> dict[str, Any]:
    content: dict[str, Any] = YAML(typ="safe").load(ROOT / "action.yml")
    return content


def run_action(
    workspace: Path, given: Mapping[str, str], token: str, environment: Mapping[str, str]
) -> list[Done]:
    """What each step did, until one fails."""
    content = action()
    known = {"github.token": token}
    for name, asked in content["inputs"].items():
        known[f"inputs.{name}"] = given.get(name, _filled(asked.get("default", ""), known))
    done: list[Done] = []
    for step in content["runs"]["steps"]:
        assert step["shell"] == "bash"
        script = workspace.parent / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        own = {name: _filled(value, known) for name, value in step.get("env", {}).items()}
        folder = workspace / _filled(step["working-directory"], known)
        done.append(attempt(folder, *BASH, str(script), **{**environment, **own}))
        if done[-1].returncode:
            break
    return done


def _filled(text: str, known: Mapping[str, str]) -> str:
    """With the values of its expressions; one that is not known is a fault of the action."""
    return _EXPRESSION.sub(lambda found: known[found[1]], text)
