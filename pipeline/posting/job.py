"""The job in which a comment is made: of GitHub Actions, or of GitLab CI."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from concord.metrics_core.checking.problems import InputError, refuse
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
    InputError : it is none of a server that is known, or its environment is not that of such a job
    """
    known = {"GITHUB_ACTIONS": github.request_of, "GITLAB_CI": gitlab.request_of}
    for variable, request_of in known.items():
        if environment.get(variable) == "true":
            summary = environment.get("GITHUB_STEP_SUMMARY")
            return Job(_asked(request_of, environment), Path(summary) if summary else None)
    what = "`--post` is for jobs of GitHub Actions and GitLab CI, and this is none"
    raise refuse(PLACE, what, "leave `--post` out: the comment is then printed")


def _asked(
    request_of: Callable[[Mapping[str, str]], Request | None], environment: Mapping[str, str]
) -> Request | None:
    try:
        return request_of(environment)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, OSError) as error:
        lacking = f", which lacks {error.args[0]}" if isinstance(error, KeyError) else ""
        what = f"the environment or the event of this job cannot be read{lacking}"
        raise refuse(PLACE, what, "let the server start the job, and leave its variables as they are") from None  # fmt: skip
