"""Redirects of an S3 server: pyarrow follows them to any host, so that others than the store could give the data."""

from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from concord.metrics_core.checking.addresses import Address
from concord.metrics_core.checking.problems import refuse

_SHOWN = 80  # characters of a location


class _Unfollowed(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Leave the redirect to be raised as an HTTPError."""


def refuse_redirect(address: Address, server: str, timeout: float) -> None:
    """Refuse a named object whose server redirects an unsigned request for it to another server.

    pyarrow cannot be told to follow no redirects, so two cases remain: a server that redirects signed requests only, and
    objects that are found by listing a folder.

    Raises
    ------
    InputError : the server answers with a redirect to another server
    """
    location = _location(f"{server}/{address.bucket}/{quote(address.key)}", timeout)
    is_own = location.startswith(f"{server}/") or (location[:1] == "/" and location[1:2] != "/")
    if location and not is_own:
        shown = location.partition("?")[0].rpartition("@")[2][:_SHOWN]  # no secrets
        what = f"is redirected to another server: {shown}"
        fix = "set AWS_ENDPOINT_URL to the server that has the data"
        raise refuse(str(address), what, fix)


def _location(url: str, timeout: float) -> str:
    """Return where the server says the object is; empty if it has it, refuses or does not answer, which pyarrow tells."""
    try:
        build_opener(_Unfollowed).open(Request(url, method="HEAD"), timeout=timeout).close()
    except HTTPError as answer:
        return answer.headers.get("Location", "")
    except (OSError, HTTPException):
        pass
    return ""
