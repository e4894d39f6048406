"""The job in which a comment is made: of GitHub Actions, or of GitLab CI."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from concord.metrics_core.checking.problems import refuse
from concord.pipeline.posting import github, gitlab
from concord.pipeline.posting.place import Request

PLACE = "command line"


@dataclass(frozen=True)
class Job:
    """What a job is told by its environment.

    request : that for which the job runs; None if it runs for none
    summary : the file that is shown as the summary of the job; None where there is none
    """

    request: Request | None
    summary: Path | None


def this_job(environment: Mapping[str, str]) -> Job:
    """The job of this process.

    Raises
    ------
    InputError : it is none of a server that is known
    """
    known = {"GITHUB_ACTIONS": github.request_of, "GITLAB_CI": gitlab.request_of}
    for variable, request_of in known.items():
        if environment.get(variable) == "true":
            summary = environment.get("GITHUB_STEP_SUMMARY")
            return Job(request_of(environment), Path(summary) if summary else None)
    what = "`--post` is for jobs of GitHub Actions and GitLab CI, and this is none"
    raise refuse(PLACE, what, "leave `--post` out: the comment is then printed")
