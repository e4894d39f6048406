"""Object stores: file systems, their errors and redirects."""

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

_ERROR_CODE = re.compile(
    r"AWS Error ([A-Z_]+)|google::cloud::Status\(([A-Z_]+)"
    r"|Azure Error: \[(\w*)\]|(AuthenticationException)"
)
_STATUS = re.compile(r"HTTP status (\d{3})")
_CREDENTIALS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE,",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN, or log in to Azure,",
}
_SERVER_SETTINGS = {
    "s3": "AWS_ENDPOINT_URL, AWS_REGION",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS, STORAGE_EMULATOR_HOST",
    "az": "AZURE_STORAGE_ACCOUNT",
}
# Error codes of AWS, Google and Azure in lower case, without separators.
_NO_BUCKET = {"nosuchbucket", "containernotfound"}
_NOT_FOUND = {"nosuchkey", "resourcenotfound", "notfound", "blobnotfound", "404"}
_NO_TOKEN = "Could not create a OAuth2 access token"  # of Google's client without credentials
_OTHER_REGION = {"permanentredirect", "301", "authorizationheadermalformed"}
_DENIED = {
    *("accessdenied", "permissiondenied", "unauthenticated", "unrecognizedclient"),
    *("invalidaccesskeyid", "invalidclienttokenid", "missingauthenticationtoken", "expiredtoken"),
    *("invalidsignature", "signaturedoesnotmatch", "invalidauthenticationinfo", "401", "403"),
    *("authenticationexception", "authenticationfailed", "authorizationfailure"),
    "authorizationpermissionmismatch",
}
_INCOMPLETE = "could not be read completely"  # also finds the problem again


def is_store_failure(location: str, error: Exception) -> bool:
    """True if the store failed; False if the content of an object is invalid."""
    return _scheme(location) in STORES and _code(error) is not None


def has_store_failure(problems: Collection[Problem]) -> bool:
    """True if a store failed: another attempt would only wait again."""
    return any(problem.message.startswith(_INCOMPLETE) for problem in problems)


def store_problem(location: str, error: Exception) -> Problem:
    """Return the problem: no such bucket, access denied, or no connection."""
    store, code = STORES[_scheme(location)], _code(error) or ""
    settings, credentials = _SERVER_SETTINGS[store], _CREDENTIALS[store]
    if code in _NO_BUCKET:
        return missing_bucket(location)
    if code in _NOT_FOUND or isinstance(error, FileNotFoundError):
        return Problem(location, "does not exist", f"check the address, and {settings}")
    if _NO_TOKEN in str(error):
        message = "access denied: no valid credentials were found"
        return Problem(location, message, f"set {credentials} of an account that may read it")
    if code in _DENIED:
        message = f"access denied ({code}): the credentials are missing or lack permission"
        return Problem(location, message, f"set {credentials} of an account that may read it")
    if code in _OTHER_REGION:
        message = "is in another region than the configured one"
        return Problem(location, message, f"check {settings}")
    is_network = code in {"", "networkconnection", "requesttimeout", "unavailable"}
    cause = "the network connection failed" if is_network else f"the store answered {code}"
    fix = f"run again; if it fails again, check {settings} and the network"
    return Problem(location, f"{_INCOMPLETE}: {cause}", fix)


def missing_bucket(location: str) -> Problem:
    """Return the problem of a missing bucket or container."""
    store, path = STORES[_scheme(location)], location.partition(":")[2]
    noun = "container" if store == "az" else "bucket"
    message = f"the {noun} {path.lstrip('/').partition('/')[0]!r} does not exist"
    fix = f"check its name and {_SERVER_SETTINGS[store]}, which select the server"
    return Problem(location, message, fix)


def _scheme(location: str) -> str:
    return location.partition(":")[0].lower()


def _code(error: Exception) -> str | None:
    """Return a code such as `accessdenied` or `403`.

    It is empty if the error has no code, None if the error is not that of a store.
    """
    match = _ERROR_CODE.search(str(error))
    if match is None:
        return None
    code = next(filter(None, match.groups()), "").lower().replace("_", "")
    status = _STATUS.search(str(error))
    return status[1] if code == "unknown" and status else code


_MAX_URL = 80  # characters in a message


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """Return None, so that a redirect raises an HTTPError."""


def _redirect_target(url: str) -> str:
    """Return the URL that the server redirects to; empty if there is no redirect.

    Other answers are ignored: pyarrow will report them.
    """
    try:
        request = Request(url, method="HEAD")
        build_opener(_NoRedirect).open(request, timeout=CONNECT_TIMEOUT).close()
    except HTTPError as answer:
        return answer.headers.get("Location", "")
    except (OSError, HTTPException):
        pass
    return ""


CONNECT_TIMEOUT, READ_TIMEOUT = 5.0, 10.0  # seconds
ATTEMPTS = 3
_AZURE_VARIABLES = {  # argument of pyarrow -> variables; the first that is set counts
    "account_name": ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"),
    "account_key": ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"),
    "sas_token": ("AZURE_STORAGE_SAS_TOKEN",),
}
_VARIABLE_PREFIXES = {  # store -> prefixes of the variables that its clients read
    "s3": ("AWS_", "HOME"),
    "gs": ("GOOGLE_", "CLOUDSDK_", "STORAGE_EMULATOR_HOST", "HOME"),
    "az": ("AZURE_", "HOME"),
}


def open_filesystem(address: Address) -> fs.FileSystem:
    """Return the file system of an address; it is shared by all addresses of an account.

    Raises
    ------
    InputError
        If pyarrow was built without the store, or if the account of Azure is missing or has two
        secrets.
    """
    account = _azure_account(address) if address.store == "az" else {}
    try:
        return _cached_filesystem(
            address.store, tuple(account.items()), _environment(address.store)
        )
    except (ImportError, AttributeError):
        message = f"needs pyarrow with support of `{address.store}`, and this one was built without"
        raise refuse(str(address), message, "`pip install pyarrow`, whose wheels have it") from None


def endpoint() -> str | None:
    """Return the S3 endpoint, if it is not Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def refuse_other_servers(address: Address) -> None:
    """Raise for an object of S3 whose server, if it is not Amazon's, redirects to another one.

    The request is not signed. pyarrow always follows redirects, so two cases remain: a server that
    redirects only signed requests, and objects that are found by listing a folder.

    Raises
    ------
    InputError
        If the object is redirected.
    """
    if address.store != "s3" or not (url := endpoint()):
        return
    server = "{scheme}://{endpoint_override}".format(**_server(url, "https"))
    target = _redirect_target(f"{server}/{address.bucket}/{quote(address.key)}")
    is_own = target.startswith(f"{server}/") or (target[:1] == "/" and target[1:2] != "/")
    if target and not is_own:
        without_secrets = target.partition("?")[0].rpartition("@")[2][:_MAX_URL]
        message = f"is redirected to another server: {without_secrets}"
        fix = "set AWS_ENDPOINT_URL to the server that has the data"
        raise refuse(str(address), message, fix)


def _environment(store: str) -> tuple[tuple[str, str], ...]:
    """Return all variables that clients of the store read; they are part of the cache key."""
    prefixes = _VARIABLE_PREFIXES[store]
    variables = os.environ.items()
    return tuple(sorted((name, value) for name, value in variables if name.startswith(prefixes)))


@cache
def _cached_filesystem(
    store: str, account: tuple[tuple[str, str], ...], _environment: object
) -> fs.FileSystem:
    if store == "az":
        return fs.AzureFileSystem(**dict(account))
    return _s3_filesystem() if store == "s3" else _gs_filesystem()


def _s3_filesystem() -> fs.FileSystem:
    retries = ATTEMPTS - 1  # pyarrow's `max_attempts` does not count the first
    options: dict[str, Any] = {
        "connect_timeout": CONNECT_TIMEOUT,
        "request_timeout": READ_TIMEOUT,
        "region": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
        "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=retries),
    }
    if url := endpoint():
        options |= _server(url, "https")
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        with suppress(TypeError):  # an older pyarrow has no such option for one file system
            return fs.S3FileSystem(tls_ca_file_path=bundle, **options)
    return fs.S3FileSystem(**options)


def _gs_filesystem() -> fs.FileSystem:
    options: dict[str, Any] = {"retry_time_limit": timedelta(seconds=READ_TIMEOUT)}
    if emulator := os.environ.get("STORAGE_EMULATOR_HOST"):  # it needs no credentials
        options |= {**_server(emulator, "http"), "anonymous": True}
    return fs.GcsFileSystem(**options)


def _server(url: str, default_scheme: str) -> dict[str, str]:
    """Return pyarrow's arguments for a server."""
    scheme, _, host = url.rpartition("://")
    return {"scheme": scheme or default_scheme, "endpoint_override": host.rstrip("/")}


def _azure_account(address: Address) -> dict[str, str]:
    account = {
        name: next((os.environ[v] for v in variables if os.environ.get(v)), None)
        for name, variables in _AZURE_VARIABLES.items()
    }
    if address.account:
        account["account_name"] = address.account
    if not account["account_name"]:
        fix = "set AZURE_STORAGE_ACCOUNT, or write abfs://container@account.dfs.core.windows.net/…"
        raise refuse(str(address), "names no account of Azure", fix)
    if account["account_key"] and account["sas_token"]:
        message = "can be read with a key or a SAS token, and the environment has both"
        raise refuse(str(address), message, "unset AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN")
    return {name: value for name, value in account.items() if value}


def delta_options(address: Address) -> tuple[str, None, dict[str, str]]:
    """Return deltalake's arguments: address, no version, and options.

    The options are those that deltalake does not read from the environment.
    """
    options = {
        "connect_timeout": f"{CONNECT_TIMEOUT:.0f}s",
        "timeout": f"{ATTEMPTS * READ_TIMEOUT:.0f}s",
        "max_retries": str(ATTEMPTS - 1),
        "retry_timeout": f"{ATTEMPTS * READ_TIMEOUT:.0f}s",
    }
    if address.store == "az":
        account = _azure_account(address)
        options |= {f"azure_storage_{name}": value for name, value in account.items()}
    elif address.store == "s3" and (url := endpoint()):
        options |= {"AWS_ENDPOINT_URL": url}
        if url.startswith("http://"):
            options["AWS_ALLOW_HTTP"] = "true"
    return f"{address.store}://{address.bucket}/{address.key}", None, options
