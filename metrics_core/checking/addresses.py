"""Addresses of object stores: `s3://bucket/key` and their like, without anything secret."""

import re
from dataclasses import dataclass

from concord.metrics_core.checking.problems import refuse

STORES = {  # scheme -> store
    "s3": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "abfs": "az",
    "abfss": "az",
    "azure": "az",  # as DVC calls it
}
_OF_HADOOP = ("s3a", "s3n")  # what Hadoop calls S3
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/", re.IGNORECASE)  # a Path keeps one slash of s3://
_ACCOUNT = re.compile(r"([a-z0-9-]+)@([a-z0-9]+)\.dfs\.core\.windows\.net", re.IGNORECASE)
_ELSEWHERE = "take them out: credentials and endpoints come from the environment"


@dataclass(frozen=True)
class Address:
    """What an address names.

    bucket  : or container
    key     : of the object, or of the folder, as it is: nothing in it is decoded
    account : of Azure, where the address names it
    """

    scheme: str
    bucket: str
    key: str
    account: str | None = None

    @property
    def store(self) -> str:
        return STORES[self.scheme]

    def __str__(self) -> str:
        host = f"{self.bucket}@{self.account}.dfs.core.windows.net" if self.account else self.bucket
        return f"{self.scheme}://{host}/{self.key}"


def is_address(text: str) -> bool:
    """Does it begin as an address, of whatever kind?"""
    return _ADDRESS.match(text) is not None


def is_remote(text: str) -> bool:
    """Is it an address of an object store, also by a name of Hadoop's, which `address_of` refuses?"""
    found = _ADDRESS.match(text)
    return found is not None and found[1].lower() in (*STORES, *_OF_HADOOP)


def address_of(text: str) -> Address:
    """What an address of an object store names.

    Raises
    ------
    InputError : it holds a user, a password, a query or a fragment, which are not repeated, names no object, or has
        a scheme of Hadoop's
    """
    scheme, rest = text.split(":", 1)
    scheme = scheme.lower()
    host, _, key = rest.lstrip("/").partition("/")
    where = shown(text)
    account = None
    if STORES.get(scheme) == "az" and (found := _ACCOUNT.fullmatch(host)):
        host, account = found.groups()
    if "@" in host or ":" in host:
        raise refuse(where, "holds a user, a password or a port", _ELSEWHERE)
    if "?" in rest or "#" in rest:
        raise refuse(where, "holds a query (?…) or a fragment (#…)", _ELSEWHERE)
    if scheme in _OF_HADOOP:
        what = f"begins with {scheme}://, as Hadoop calls S3"
        raise refuse(where, what, f"write s3://{host}/{key}")
    parts = key.strip("/").split("/")
    if not host or parts == [""]:
        raise refuse(where, "names no object", f"write {scheme}://bucket/folder/file.parquet")
    if {"", ".", ".."} & set(parts):
        raise refuse(f"{scheme}://{host}/{key}", "holds `//`, `.` or `..`", "write the whole key")
    return Address(scheme, host, "/".join(parts), account)


def shown(text: str) -> str:
    """An address as messages may name it: what stands before an `@`, in a query or behind a `:` may be secret."""
    scheme, rest = text.split(":", 1)
    if not set("@?#:") & set(rest):
        return text
    host = "…" if "@" in rest else re.split("[/?#:]", rest.lstrip("/"))[0]
    return f"{scheme.lower()}://{host}/…"
