"""Comments of a pull request on GitHub, as the environment of a job of Actions names it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from concord.pipeline.posting.place import Posted, Request
from concord.pipeline.posting.requests import Api, RefusedError, token_of


def request_of(environment: Mapping[str, str]) -> Request | None:
    """The pull request that started the job; None if none did."""
    asked = _event(environment).get("pull_request")
    if not asked:
        return None
    token = token_of(environment, "GITHUB_TOKEN")
    address = environment.get("GITHUB_API_URL", "https://api.github.com")
    headers = {"X-GitHub-Api-Version": "2022-11-28"}
    api = Api(address, headers | ({"Authorization": f"Bearer {token}"} if token else {}))
    place = PullRequest(api, environment["GITHUB_REPOSITORY"], int(asked["number"]))
    return Request(asked["base"]["sha"], asked["head"]["sha"], place)


def _event(environment: Mapping[str, str]) -> dict[str, Any]:
    try:
        content = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    except (KeyError, FileNotFoundError):
        return {}
    return content if isinstance(content, dict) else {}


class PullRequest:
    """The comments below a pull request."""

    hint = (
        "the job needs `permissions: pull-requests: write`, which one that a fork started never has"
    )

    def __init__(self, api: Api, repository: str, number: int) -> None:
        self._api = api
        self._issues = f"/repos/{repository}/issues"
        self._number = number

    def comments(self) -> Iterator[Posted]:
        login = self._login()
        for each in self._api.pages(f"{self._issues}/{self._number}/comments"):
            user = each.get("user") or {}
            own = user.get("login") == login if login else user.get("type") == "Bot"
            yield Posted(each["id"], each.get("body") or "", own)

    def create(self, text: str) -> str:
        path = f"{self._issues}/{self._number}/comments"
        return _address(self._api.call("POST", path, {"body": text}))

    def update(self, number: int, text: str) -> str:
        return _address(self._api.call("PATCH", f"{self._issues}/comments/{number}", {"body": text}))  # fmt: skip

    def _login(self) -> str | None:
        """Whom the token stands for; the token of a job stands for a bot, and may not ask."""
        try:
            return str(self._api.call("GET", "/user")["login"])
        except RefusedError:
            return None


def _address(comment: dict[str, Any]) -> str:
    return str(comment["html_url"])
