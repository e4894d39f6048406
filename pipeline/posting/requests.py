"""Requests to the API of a server, in JSON; the token goes to that server alone and into no message."""

import json
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

from concord.metrics_core.checking.problems import refuse

SECONDS = 30
A_PAGE, MOST_PAGES = 100, 100
_SHOWN = 200  # characters of what a server says


def token_of(environment: Mapping[str, str], variable: str) -> str:
    """The token that a variable holds, without white space around it; empty if it holds none.

    Raises
    ------
    InputError : it cannot be sent, in words that do not quote it
    """
    token = environment.get(variable, "").strip()
    if not (token.isascii() and token.isprintable()):
        fix = "store the token again: one line, without quotes"
        raise refuse(variable, "holds a character that no token has", fix)
    return token


class RefusedError(Exception):
    """The server does not do it, or does not answer; `status` is None where there was no answer."""

    def __init__(self, said: str, status: int | None = None) -> None:
        super().__init__(said)
        self.status = status


class _Nowhere(HTTPRedirectHandler):
    """A redirect would take the token to wherever it leads."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Api:
    """An API below an address, with the headers that say who asks."""

    def __init__(self, address: str, headers: Mapping[str, str]) -> None:
        self._address = address.rstrip("/")
        self._headers = {"Accept": "application/json", "User-Agent": "concord", **headers}
        self._opener = build_opener(_Nowhere)

    def call(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        """What the server answers.

        Raises
        ------
        RefusedError : with the words of the server
        """
        content = None if body is None else json.dumps(body).encode()
        headers = self._headers if body is None else {**self._headers, "Content-Type": "application/json"}  # fmt: skip
        try:
            request = Request(self._address + path, content, headers, method=method)
            with self._opener.open(request, timeout=SECONDS) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            with error:
                raise RefusedError(f"{error.code} {error.reason}{_said(error)}", error.code) from None  # fmt: skip
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise RefusedError(f"no answer that can be read: {reason}") from None
        except (HTTPException, ValueError) as error:  # whose words may quote a header
            raise RefusedError(f"no answer that can be read: {type(error).__name__}") from None

    def pages(self, path: str, **query: str) -> Iterator[Any]:
        """All entries of a list that comes in pages."""
        for page in range(1, MOST_PAGES + 1):
            asked = urlencode({**query, "per_page": A_PAGE, "page": page})
            found = self.call("GET", f"{path}?{asked}")
            yield from found
            if len(found) < A_PAGE:
                return


def _said(error: HTTPError) -> str:
    try:
        content = json.loads(error.read())
        said = content.get("message") or content.get("error") or ""
    except (OSError, HTTPException, ValueError, AttributeError):
        return ""
    return f": {str(said)[:_SHOWN]}" if said else ""
