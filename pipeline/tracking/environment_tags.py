"""When, where and by whom a run is logged: tags that say how it came about and leave its fingerprint alone."""

import getpass
import os
import shutil
import subprocess
from collections.abc import Iterable


def circumstances(generated: Iterable[str]) -> dict[str, str]:
    """Tags for the user, the code's version and DVC's experiment, as far as each is known.

    Parameters
    ----------
    generated : paths that the pipeline itself writes; they do not make the code dirty
    """
    tags = {
        "mlflow.source.name": "concord",
        "mlflow.source.type": "LOCAL",
        **_user(),
        **_git(generated),
    }
    experiment = os.environ.get("DVC_EXP_NAME")
    return tags if not experiment else {**tags, "dvc.exp_name": experiment}


def _user() -> dict[str, str]:
    try:
        return {"mlflow.user": getpass.getuser()}
    except (KeyError, OSError):  # a container's user may have no name
        return {}


def _git(generated: Iterable[str]) -> dict[str, str]:
    commit = _ask_git("rev-parse", "HEAD")
    if commit is None:
        return {}
    others = ["--untracked-files=no", "--", ".", *(f":(exclude){path}" for path in generated)]
    changed = _ask_git("status", "--porcelain", *others)
    dirty = {} if changed is None else {"concord.git_dirty": "true" if changed else "false"}
    return {"mlflow.source.git.commit": commit, **dirty}


def _ask_git(*arguments: str) -> str | None:
    """Git's answer, or None without git, without a repository or without a commit."""
    git = shutil.which("git")
    if git is None:
        return None
    answer = subprocess.run([git, *arguments], capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else None
