"""The object stores as pyarrow opens them, with what the usual variables of the environment say."""

import os
from contextlib import suppress
from datetime import timedelta
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
_LOOKED_AT = {  # store -> how the variables begin that its clients look at
    "s3": ("AWS_", "HOME"),
    "gs": ("GOOGLE_", "CLOUDSDK_", "STORAGE_EMULATOR_HOST", "HOME"),
    "az": ("AZURE_", "HOME"),
}


def filesystem(address: Address) -> fs.FileSystem:
    """The store of an address; one for all addresses of an account in one environment.

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
    """Where S3 is, if not at Amazon."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def refuse_other_servers(address: Address) -> None:
    """Refuse an object of S3 that its server, if it is not Amazon's, redirects to another one.

    Raises
    ------
    InputError : the object is redirected
    """
    if address.store == "s3" and (where := endpoint()):
        from concord.metrics_core.reading.stores.redirects import refuse_redirect

        server = _server(where, "https")
        refuse_redirect(address, f"{server['scheme']}://{server['endpoint_override']}", CONNECT)


def _environment(store: str) -> tuple[tuple[str, str], ...]:
    """All that clients of the store look at: another environment is another client."""
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
    """How pyarrow names a server; `usual`: the scheme of one that is written without."""
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
