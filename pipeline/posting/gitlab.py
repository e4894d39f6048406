"""Notes of a merge request on GitLab, as the environment of a job of GitLab CI names it."""

from collections.abc import Iterator, Mapping

from concord.pipeline.posting.place import Posted, Request
from concord.pipeline.posting.requests import Api, RefusedError, token_of


def request_of(environment: Mapping[str, str]) -> Request | None:
    """The merge request that the pipeline is for; None if it is for none.

    The base is the tip of the target branch where the pipeline is of the merged result, else where the branches parted.
    """
    number = environment.get("CI_MERGE_REQUEST_IID")
    if not number:
        return None
    base = environment.get("CI_MERGE_REQUEST_TARGET_BRANCH_SHA")
    base = base or environment.get("CI_MERGE_REQUEST_DIFF_BASE_SHA")
    head = environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or environment.get("CI_COMMIT_SHA")
    token = token_of(environment, "GITLAB_TOKEN")
    headers = {"PRIVATE-TOKEN": token} if token else {"JOB-TOKEN": token_of(environment, "CI_JOB_TOKEN")}  # fmt: skip
    api = Api(environment["CI_API_V4_URL"], headers)
    project = environment.get("CI_MERGE_REQUEST_PROJECT_ID") or environment["CI_PROJECT_ID"]
    address = f"{environment.get('CI_MERGE_REQUEST_PROJECT_URL', '')}/-/merge_requests/{number}"
    place = MergeRequest(api, int(project), int(number), address)
    return Request(base or None, head or None, place)


class MergeRequest:
    """The notes below a merge request."""

    hint = "the variable GITLAB_TOKEN has to hold a token with the scope `api`, which no job of a fork gets"

    def __init__(self, api: Api, project: int, number: int, address: str) -> None:
        self._api = api
        self._notes = f"/projects/{project}/merge_requests/{number}/notes"
        self._address = address

    def comments(self) -> Iterator[Posted]:
        own = self._user()
        for each in self._api.pages(self._notes, sort="asc", order_by="created_at"):
            author = (each.get("author") or {}).get("id")
            yield Posted(each["id"], each.get("body") or "", own is None or author == own)

    def create(self, text: str) -> str:
        return self._shown(self._api.call("POST", self._notes, {"body": text})["id"])

    def update(self, number: int, text: str) -> str:
        return self._shown(self._api.call("PUT", f"{self._notes}/{number}", {"body": text})["id"])

    def _shown(self, note: int) -> str:
        return f"{self._address}#note_{note}"

    def _user(self) -> int | None:
        """Whom the token stands for; the token of a job stands for nobody."""
        try:
            return int(self._api.call("GET", "/user")["id"])
        except RefusedError:
            return None
