"""`concord comment [REV]`: the Markdown of a comment in a pull request; `--post` writes it there, and leaves as the gate."""

import os
from dataclasses import replace
from pathlib import Path

from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.comparison.since import Since
from concord.pipeline.commands.asking.leaderboard import comparison_of
from concord.pipeline.commands.asking.stale import told_stale
from concord.pipeline.commands.gate import EXIT_CODES, tell
from concord.pipeline.diffing.base import SHORT, at_hand, folder_in_git
from concord.pipeline.diffing.gate import gated
from concord.pipeline.diffing.since import since
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.posting.job import this_job
from concord.pipeline.posting.place import post
from concord.pipeline.running.announce import LOG
from concord.reports.commenting.comment import Comment, marker, render_comment

NO_DECISION = 2


def comment(revision: str | None, undecided: str | None) -> None:
    """Prints the comment.

    Raises
    ------
    InputError : there are no results, or the revision is none or has none of them
    """
    params = read_params()
    found = _comment(params, revision, undecided, None if revision is None else since(params, revision))  # fmt: skip
    print(render_comment(found), end="")


def comment_and_decide(revision: str | None, undecided: str | None) -> int:
    """Writes the comment and the summary of the job; the exit code of the gate, 0 without one.

    The base of the request takes the place of a revision that is not named.
    """
    job = this_job(os.environ)
    params = read_params()
    request = job.request
    if revision is None and request is not None and request.base is not None:
        revision = at_hand(request.base)
    found = _comment(params, revision, undecided, _since(params, revision))
    if request is not None:
        found = replace(found, head=request.head and request.head[:SHORT])
    text = render_comment(found)
    summed = job.summary is not None and _summed(job.summary, text)
    tell(found.no_decision or (found.decision.lines if found.decision else ()))
    done, said = (False, "no comment: this job is of no pull or merge request")
    if request is not None:
        done, said = post(request.place, marker(found.folder), text)
    if not done and not summed:
        print(text)
    tell([said])
    return _exit_code(params, found)


def _summed(summary: Path, text: str) -> bool:
    """Writes the summary of the job; that it cannot be written keeps nobody from the comment."""
    try:
        with summary.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        LOG.warning("no summary of the job: %s", error.strerror)
        return False
    return True


def _comment(
    params: Params, revision: str | None, undecided: str | None, former: Since | None
) -> Comment:
    comparison = comparison_of(params)
    stale = told_stale(params)
    if stale:
        LOG.warning("beware, %s", stale)
    found = Comment(folder_in_git(), comparison, None, since=former, stale=stale)
    if params.gate is None:
        return found
    passes = None if undecided is None else undecided == "pass"
    try:
        decided = gated(params, revision, undecided_passes=passes)
    except InputError as error:
        why = tuple(f"{problem.what}; {problem.fix}" for problem in error.problems)
        return replace(found, no_decision=why)
    return replace(found, decision=decided.decision)


def _since(params: Params, revision: str | None) -> Since | None:
    """What is no comparison is told in the comment: a reader has nothing else."""
    if revision is None:
        return None
    try:
        return since(params, revision)
    except InputError as error:
        doubts = tuple(f"{problem.where}: {problem.what}; {problem.fix}" for problem in error.problems)  # fmt: skip
        return Since(revision, doubts, (), (), (), False, (), ())


def _exit_code(params: Params, found: Comment) -> int:
    if params.gate is None:
        return 0
    return NO_DECISION if found.decision is None else EXIT_CODES[found.decision.outcome]
