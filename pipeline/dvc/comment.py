"""The content of a pull request's comment: the comparison, the changes since a revision and the gate's decision."""

import re
from dataclasses import replace

from concord.metrics_core.errors import InputError
from concord.metrics_core.results.history import RevisionChanges
from concord.pipeline.dvc.current_results import load_comparison, warn_if_stale
from concord.pipeline.dvc.gate import decide_gate
from concord.pipeline.dvc.git import run_git
from concord.pipeline.dvc.since import changes_since
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.running.messages import LOG
from concord.reports.comment import Comment

_SHORT = 12  # characters of a commit that are shown
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


def comment_content(params: Params, revision: str | None, undecided: str | None) -> Comment:
    """Return all that the comment is rendered from; a revision that cannot be compared is a sentence of it."""
    if revision is not None:
        revision = short_hash(revision) if _has_params(revision) else None
    comparison = load_comparison(params)
    stale = warn_if_stale(params)
    changes = None if revision is None else _since(params, revision)
    folder = run_git("rev-parse", "--show-prefix").stdout.strip().rstrip("/")  # empty at the root
    content = Comment(folder, comparison, None, since=changes, stale=stale)
    if params.gate is None:
        return content
    passes = None if undecided is None else undecided == "pass"
    try:
        result = decide_gate(params, revision, undecided_passes=passes)
    except InputError as error:
        return replace(content, no_decision=_reasons(error))
    return replace(content, decision=result.decision)


def _since(params: Params, revision: str) -> RevisionChanges:
    """Return the changes since a revision, or why nothing can be compared: a reviewer sees the comment alone."""
    try:
        return changes_since(params, revision)
    except InputError as error:
        return RevisionChanges(revision, _reasons(error), (), (), (), False, (), ())


def _reasons(error: InputError) -> tuple[str, ...]:
    return tuple(f"{each.where}: {each.what}; {each.fix}" for each in error.problems)


def _has_params(revision: str) -> bool:
    """True if the revision has a params.yaml in this folder, or git cannot tell."""
    files = run_git("ls-tree", "--name-only", revision, str(PARAMS))
    if files.returncode or files.stdout:
        return True
    LOG.warning("%s has no %s in this folder: the models are compared with the baseline", revision, PARAMS)  # fmt: skip
    return False


def short_hash(revision: str) -> str:
    """Return the revision, a full commit hash cut to 12 characters."""
    return revision[:_SHORT] if _COMMIT.fullmatch(revision) else revision
