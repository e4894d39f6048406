"""Object stores: file systems, their failures, and redirects."""

import os
import re
from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta
from functools import cache
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pyarrow import fs

from concord.metrics_core.errors import Problem, refuse
from concord.metrics_core.files import STORES, Address

_SAID = re.compile(
    r"AWS Error ([A-Z_]+)|google::cloud::Status\(([A-Z_]+)|Azure Error: \[(\w*)\]|(AuthenticationException)"
)
_STATUS = re.compile(r"HTTP status (\d{3})")
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE,",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or log in to Azure,",
}
_WHERE = {
    "s3": "AWS_ENDPOINT_URL, AWS_REGION",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, STORAGE_EMULATOR_HOST",
    "az": "AZURE_STORAGE_ACCOUNT",
}
# As AWS, Google and Azure call it, in small letters and without what stands between words.
_NO_BUCKET = {"nosuchbucket", "containernotfound"}
_NOT_THERE = {"nosuchkey", "resourcenotfound", "notfound", "blobnotfound", "404"}
_NO_TOKEN = "Could not create a OAuth2 access token"  # as Google's client begins, where it has no credentials
_ELSEWHERE = {"permanentredirect", "301", "authorizationheadermalformed"}
_DENIED = {
    "accessdenied", "invalidaccesskeyid", "invalidsignature", "signaturedoesnotmatch",
    "missingauthenticationtoken", "invalidclienttokenid", "unrecognizedclient", "expiredtoken",
    "permissiondenied", "unauthenticated", "authenticationexception", "authenticationfailed",
    "authorizationfailure", "authorizationpermissionmismatch", "invalidauthenticationinfo", "401", "403",
}  # fmt: skip


def is_store_failure(where: str, error: Exception) -> bool:
    """True if the store failed, rather than the content of an object."""
    return _scheme(where) in STORES and _code(error) is not None


def has_store_failure(problems: Collection[Problem]) -> bool:
    """True if a problem is that of a store: reading on would wait for it again."""
    return any(each.message.startswith(_UNREAD) for each in problems)


_UNREAD = "could not be read to its end"


def store_problem(where: str, error: Exception) -> Problem:
    """Return the problem: no such bucket, access denied, or no connection."""
    store, code = STORES[_scheme(where)], _code(error) or ""
    if code in _NO_BUCKET:
        return missing_bucket(where)
    if code in _NOT_THERE or isinstance(error, FileNotFoundError):
        return Problem(where, "is not there", f"check the address, and {_WHERE[store]}")
    if _NO_TOKEN in str(error):
        what = "access denied: no valid credentials were found"
        return Problem(
            where, what, f"set {_CREDENTIALS[store]} to those of an account that may read it"
        )
    if code in _DENIED:
        what = f"access denied ({code}): the store rejects the credentials, or there are none"
        return Problem(where, what, f"set {_CREDENTIALS[store]} of an account that may read it")
    if code in _ELSEWHERE:
        what = "is in another region than the configured one"
        return Problem(where, what, f"check {_WHERE[store]}")
    lost = code in {"", "networkconnection", "requesttimeout", "unavailable"}
    why = "there was no connection, or it was cut" if lost else f"the store answered {code}"
    fix = f"run again; if it goes on, check {_WHERE[store]} and the network"
    return Problem(where, f"{_UNREAD}: {why}", fix)


def missing_bucket(where: str) -> Problem:
    """Return the problem of a missing bucket or container."""
    store, rest = STORES[_scheme(where)], where.partition(":")[2]
    noun = "container" if store == "az" else "bucket"
    what = f"the {noun} {rest.lstrip('/').partition('/')[0]!r} does not exist"
    fix = f"check its name and {_WHERE[store]}, which say where the {noun} is looked for"
    return Problem(where, what, fix)


def _scheme(where: str) -> str:
    return where.partition(":")[0].lower()


def _code(error: Exception) -> str | None:
    """Return a code such as `accessdenied` or `403`; empty if there is none, None if the error is not that of a store."""
    found = _SAID.search(str(error))
    if found is None:
        return None
    code = next(filter(None, found.groups()), "").lower().replace("_", "")
    status = _STATUS.search(str(error))
    return status[1] if code == "unknown" and status else code


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


CONNECT, STALLED = 5.0, 10.0  # seconds until a connection, or a byte, has to come
ATTEMPTS = 3
_AZURE = {  # argument of pyarrow -> variables, of which the first that is set counts
    "account_name": ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"),
    "account_key": ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"),
    "sas_token": ("AZURE_STORAGE_SAS_TOKEN",),
}
_LOOKED_AT = {  # store -> how the variables begin that its clients look at
    "s3": ("AWS_", "HOME"),
    "gs": ("GOOGLE_", "CLOUDSDK_", "STORAGE_EMULATOR_HOST", "HOME"),
    "az": ("AZURE_", "HOME"),
}


def open_filesystem(address: Address) -> fs.FileSystem:
    """Return the file system of an address; one for all addresses of an account in one environment.

    Raises
    ------
    InputError : pyarrow was built without it, or the account of Azure is not named or has two secrets
    """
    known = _of_azure(address) if address.store == "az" else {}
    try:
        return _opened(address.store, tuple(known.items()), _environment(address.store))
    except (ImportError, AttributeError):
        what = f"is read by a pyarrow that was built with `{address.store}`, which this one is not"
        raise refuse(str(address), what, "`pip install pyarrow`, whose wheels have it") from None


def endpoint() -> str | None:
    """Return the S3 endpoint, if it is not Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def refuse_other_servers(address: Address) -> None:
    """Refuse an object of S3 that its server, if it is not Amazon's, redirects to another one.

    Raises
    ------
    InputError : the object is redirected
    """
    if address.store == "s3" and (where := endpoint()):
        server = _server(where, "https")
        refuse_redirect(address, f"{server['scheme']}://{server['endpoint_override']}", CONNECT)


def _environment(store: str) -> tuple[tuple[str, str], ...]:
    """Return all variables that clients of the store read: another environment needs another client."""
    names = _LOOKED_AT[store]
    return tuple(sorted(each for each in os.environ.items() if each[0].startswith(names)))


@cache
def _opened(
    store: str, account: tuple[tuple[str, str], ...], _environment: object
) -> fs.FileSystem:
    if store == "az":
        return fs.AzureFileSystem(**dict(account))
    return _s3() if store == "s3" else _gs()


def _s3() -> fs.FileSystem:
    how: dict[str, Any] = {"connect_timeout": CONNECT, "request_timeout": STALLED}
    how["region"] = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if where := endpoint():
        how |= _server(where, "https")
    again = ATTEMPTS - 1  # what pyarrow calls attempts come after the first
    how["retry_strategy"] = fs.AwsStandardS3RetryStrategy(max_attempts=again)
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        with suppress(TypeError):  # an older pyarrow takes it for all stores at once only
            return fs.S3FileSystem(tls_ca_file_path=bundle, **how)
    return fs.S3FileSystem(**how)


def _gs() -> fs.FileSystem:
    how: dict[str, Any] = {"retry_time_limit": timedelta(seconds=STALLED)}
    if emulator := os.environ.get("STORAGE_EMULATOR_HOST"):  # which asks for no credentials
        how |= {**_server(emulator, "http"), "anonymous": True}
    return fs.GcsFileSystem(**how)


def _server(where: str, usual: str) -> dict[str, str]:
    """Return pyarrow's arguments for a server; `usual`: its scheme if none is written."""
    scheme, _, host = where.rpartition("://")
    return {"scheme": scheme or usual, "endpoint_override": host.rstrip("/")}


def _of_azure(address: Address) -> dict[str, str]:
    given = {
        name: next((os.environ[v] for v in variables if os.environ.get(v)), None)
        for name, variables in _AZURE.items()
    }
    if address.account:
        given["account_name"] = address.account
    if not given["account_name"]:
        fix = "set AZURE_STORAGE_ACCOUNT, or write abfs://container@account.dfs.core.windows.net/…"
        raise refuse(str(address), "names no account of Azure", fix)
    if given["account_key"] and given["sas_token"]:
        what = "would be read with a key or a SAS token, and the environment has both"
        raise refuse(str(address), what, "unset AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN")
    return {name: value for name, value in given.items() if value}


def delta_options(address: Address) -> tuple[str, None, dict[str, str]]:
    """Return deltalake's arguments: address, no version, and options that it does not read from the environment."""
    how = {
        "connect_timeout": f"{CONNECT:.0f}s",
        "timeout": f"{ATTEMPTS * STALLED:.0f}s",
        "max_retries": str(ATTEMPTS - 1),
        "retry_timeout": f"{ATTEMPTS * STALLED:.0f}s",
    }
    if address.store == "az":
        given = _of_azure(address)
        how |= {f"azure_storage_{name}": value for name, value in given.items()}
    elif address.store == "s3" and (where := endpoint()):
        how |= {"AWS_ENDPOINT_URL": where}
        if where.startswith("http://"):
            how["AWS_ALLOW_HTTP"] = "true"
    return f"{address.store}://{address.bucket}/{address.key}", None, how
