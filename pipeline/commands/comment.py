"""`concord comment [REV]`: the comment of a pull request as Markdown, and the decision of the gate as the exit code."""

import re
from dataclasses import replace

from concord.metrics_core.errors import InputError
from concord.metrics_core.results.history import Since
from concord.pipeline.commands.gate import EXIT_CODES, tell
from concord.pipeline.commands.leaderboard import comparison_of
from concord.pipeline.commands.stale import warn_if_stale
from concord.pipeline.dvc.gate import gated
from concord.pipeline.dvc.git import run_git
from concord.pipeline.dvc.since import since
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.messages import LOG
from concord.pipeline.terminal.arguments import refuse_folder, write_named
from concord.reports.comment import Comment, render_comment

NO_DECISION = 2
_SHORT = 12  # characters of a commit that are shown
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


def comment(
    revision: str | None,
    undecided: str | None,
    *,
    output: str | None,
    commit: str | None,
    force: bool,
) -> int:
    """Write the comment to stdout, or to a file; return the exit code of the gate, 0 without one.

    With a file, the decision is printed. A revision that cannot be compared with is a sentence of the comment.

    Raises
    ------
    InputError : there are no results; the file may not be written
    """
    refuse_folder("--output", output)
    params = read_params()
    content = _content(params, None if revision is None else _with_evaluation(revision), undecided)
    text = render_comment(replace(content, commit=commit and _short(commit)))
    if output is None:
        print(text, end="")
    else:
        write_named("--output", output, text, force=force)
        tell(content.no_decision or (content.decision.lines if content.decision else ()))
    if params.gate is None:
        return 0
    return NO_DECISION if content.decision is None else EXIT_CODES[content.decision.outcome]


def _content(params: Params, revision: str | None, undecided: str | None) -> Comment:
    """Return all that the comment is rendered from."""
    comparison = comparison_of(params)
    stale = warn_if_stale(params)
    former = None if revision is None else _since(params, revision)
    content = Comment(_folder_in_git(), comparison, None, since=former, stale=stale)
    if params.gate is None:
        return content
    passes = None if undecided is None else undecided == "pass"
    try:
        decided = gated(params, revision, undecided_passes=passes)
    except InputError as error:
        return replace(content, no_decision=_reasons(error))
    return replace(content, decision=decided.decision)


def _since(params: Params, revision: str) -> Since:
    """Return the changes since a revision, or why nothing can be compared: a reviewer sees the comment alone."""
    try:
        return since(params, revision)
    except InputError as error:
        return Since(revision, _reasons(error), (), (), (), False, (), ())


def _reasons(error: InputError) -> tuple[str, ...]:
    return tuple(f"{each.where}: {each.what}; {each.fix}" for each in error.problems)


def _with_evaluation(revision: str) -> str | None:
    """Return the revision, a full hash cut; None where it holds no params.yaml in this folder yet."""
    files = run_git("ls-tree", "--name-only", revision, str(PARAMS))
    if files.returncode == 0 and not files.stdout:
        LOG.warning("%s has no %s in this folder: the models are compared with the baseline", revision, PARAMS)  # fmt: skip
        return None
    return _short(revision)


def _short(revision: str) -> str:
    return revision[:_SHORT] if _COMMIT.fullmatch(revision) else revision


def _folder_in_git() -> str:
    """Return this folder's path in its git repository, such as `evaluation`; empty at the root, and without git."""
    return run_git("rev-parse", "--show-prefix").stdout.strip().rstrip("/")
