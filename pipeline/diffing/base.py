"""The base of a request in the checkout of a job, which often holds one commit alone."""

import re
import subprocess

from concord.metrics_core.checking.problems import refuse
from concord.pipeline.diffing.revision import PLACE
from concord.pipeline.params.model import PARAMS
from concord.pipeline.running.announce import LOG

SHORT = 12  # characters of a commit that are shown
_SHA = re.compile(r"[0-9a-f]{40,64}")


def at_hand(commit: str) -> str | None:
    """The commit in short, brought here if it is missing; None if it holds no params.yaml in this folder yet."""
    if not _SHA.fullmatch(commit):
        raise refuse(PLACE, f"the base {commit!r} is no commit", "name a revision: `concord comment REV --post`")  # fmt: skip
    if _git("cat-file", "-e", f"{commit}^{{commit}}").returncode:
        fetched = _git("fetch", "--quiet", "--no-tags", "--depth=1", "origin", commit)
        if fetched.returncode:
            why = " ".join(fetched.stderr.split())
            LOG.warning("%s cannot be fetched: %s; check out all history: `fetch-depth: 0`, GIT_DEPTH: 0", commit, why)  # fmt: skip
            return commit
    if _git("cat-file", "-e", f"{commit}:./{PARAMS}").returncode:
        LOG.info("%s holds no %s in this folder: the baseline takes its place", commit, PARAMS)
        return None
    return _git("rev-parse", f"--short={SHORT}", commit).stdout.strip()


def folder_in_git() -> str:
    """Where this folder stands in its git repository, such as `evaluation`; empty at the root, and without git."""
    return _git("rev-parse", "--show-prefix").stdout.strip().rstrip("/")


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
