"""The object stores as pyarrow opens them, with what the usual variables of the environment say."""

import os
from contextlib import suppress
from functools import cache
from typing import Any

from pyarrow import fs

from concord.metrics_core.checking.addresses import Address
from concord.metrics_core.checking.problems import refuse

CONNECT, STALLED = 5.0, 10.0  # seconds until a connection, or a byte, has to come
ATTEMPTS = 3
_AZURE = {  # argument of pyarrow -> variables, of which the first that is set counts
    "account_name": ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"),
    "account_key": ("AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"),
    "sas_token": ("AZURE_STORAGE_SAS_TOKEN",),
}


def filesystem(address: Address) -> fs.FileSystem:
    """The store of an address; one for all addresses of an environment.

    Raises
    ------
    InputError : pyarrow was built without it, or the account of Azure is not named
    """
    opened = {"s3": _s3_of_now, "gs": _gs, "az": _azure}[address.store]
    try:
        return opened(address)
    except (ImportError, AttributeError):
        what = f"is read by a pyarrow that was built with `{address.store}`, which this one is not"
        raise refuse(str(address), what, "`pip install pyarrow`, whose wheels have it") from None


def endpoint() -> str | None:
    """Where S3 is, if not at Amazon."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def _s3_of_now(_: Address) -> fs.FileSystem:
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return _s3(endpoint(), region, _credentials())


def _credentials() -> tuple[str | None, ...]:
    """What pyarrow reads by itself: another environment is another store."""
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE")
    return tuple(os.environ.get(name) for name in names)


@cache
def _s3(where: str | None, region: str | None, _credentials: object) -> fs.FileSystem:
    how: dict[str, Any] = {"connect_timeout": CONNECT, "request_timeout": STALLED}
    if where:
        scheme, _, host = where.rpartition("://")
        how |= {"scheme": scheme or "https", "endpoint_override": host.rstrip("/")}
    how["retry_strategy"] = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
    if bundle := os.environ.get("AWS_CA_BUNDLE"):
        with suppress(TypeError):  # an older pyarrow takes it for all stores at once only
            return fs.S3FileSystem(region=region, tls_ca_file_path=bundle, **how)
    return fs.S3FileSystem(region=region, **how)


def _gs(_: Address) -> fs.FileSystem:
    from datetime import timedelta

    return fs.GcsFileSystem(retry_time_limit=timedelta(seconds=STALLED))


def _azure(address: Address) -> fs.FileSystem:
    return fs.AzureFileSystem(**_of_azure(address))


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
    return {name: value for name, value in given.items() if value}


def delta_options(address: Address) -> tuple[str, None, dict[str, str]]:
    """Where `deltalake` finds a table: its address, no pinned version, and what it does not read from the environment."""
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
