"""What to say where an object store does not give what was asked for. Its own words are not repeated: they may hold secrets."""

import re
from collections.abc import Collection

from concord.metrics_core.checking.addresses import STORES
from concord.metrics_core.checking.problems import Problem

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


def is_failure(where: str, error: Exception) -> bool:
    """Did the store fail, rather than the content of an object?"""
    return _scheme(where) in STORES and _code(error) is not None


def is_told(problems: Collection[Problem]) -> bool:
    """Is one of the problems that of a store? To read on would be to wait for it again."""
    return any(each.what.startswith(_UNREAD) for each in problems)


_UNREAD = "could not be read to its end"


def failure(where: str, error: Exception) -> Problem:
    """The problem: no such bucket, no leave to read, or no connection."""
    store, code = STORES[_scheme(where)], _code(error) or ""
    if code in _NO_BUCKET:
        return missing_bucket(where)
    if code in _NOT_THERE or isinstance(error, FileNotFoundError):
        return Problem(where, "is not there", f"check the address, and {_WHERE[store]}")
    if _NO_TOKEN in str(error):
        what = "may not be read: no credentials were found that the store takes"
        return Problem(
            where, what, f"set {_CREDENTIALS[store]} to those of somebody who may read it"
        )
    if code in _DENIED:
        what = f"may not be read ({code}): the store refuses the credentials, or there are none"
        return Problem(where, what, f"set {_CREDENTIALS[store]} of somebody who may read it")
    if code in _ELSEWHERE:
        what = "lies in another region than the one that is asked"
        return Problem(where, what, f"check {_WHERE[store]}")
    lost = code in {"", "networkconnection", "requesttimeout", "unavailable"}
    why = "there was no connection, or it was cut" if lost else f"the store said {code}"
    fix = f"run again; if it goes on, check {_WHERE[store]} and the network"
    return Problem(where, f"{_UNREAD}: {why}", fix)


def missing_bucket(where: str) -> Problem:
    """The problem of an object whose bucket, or container, the store does not have."""
    store, rest = STORES[_scheme(where)], where.partition(":")[2]
    noun = "container" if store == "az" else "bucket"
    what = f"the {noun} {rest.lstrip('/').partition('/')[0]!r} does not exist"
    fix = f"check its name and {_WHERE[store]}, which say where the {noun} is looked for"
    return Problem(where, what, fix)


def _scheme(where: str) -> str:
    return where.partition(":")[0].lower()


def _code(error: Exception) -> str | None:
    """`accessdenied`, `403`; empty where it says nothing, None where no store speaks."""
    found = _SAID.search(str(error))
    if found is None:
        return None
    code = next(filter(None, found.groups()), "").lower().replace("_", "")
    status = _STATUS.search(str(error))
    return status[1] if code == "unknown" and status else code
