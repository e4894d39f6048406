"""Files and addresses: regular files, JSON files, objects in a store, and what identifies their content."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from concord.metrics_core.errors import refuse

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
    """Parts of an address of an object store.

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
    """True if a text begins as an address of any kind."""
    return _ADDRESS.match(text) is not None


def is_remote(text: str) -> bool:
    """True for an address of an object store, also with Hadoop's schemes, which `parse_address` rejects."""
    found = _ADDRESS.match(text)
    return found is not None and found[1].lower() in (*STORES, *_OF_HADOOP)


def parse_address(text: str) -> Address:
    """Parse an address of an object store.

    Raises
    ------
    InputError : it holds a user, a password, a query or a fragment, which are not repeated, names no object, or has
        a scheme of Hadoop's
    """
    scheme, rest = text.split(":", 1)
    scheme = scheme.lower()
    host, _, key = rest.lstrip("/").partition("/")
    where = redact_address(text)
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


def redact_address(text: str) -> str:
    """Return an address without parts that may be secret: before an `@`, in a query or after a `:`."""
    scheme, rest = text.split(":", 1)
    if not set("@?#:") & set(rest):
        return text
    host = "…" if "@" in rest else re.split("[/?#:]", rest.lstrip("/"))[0]
    return f"{scheme.lower()}://{host}/…"


_WHAT = "is a pipe, a socket or a device, which cannot be read twice"


def open_file(path: Path, fix: str, *, encoding: str | None = None) -> IO[Any]:
    """Open a file to read its bytes, or its text with line ends as they are.

    Raises
    ------
    InputError : it is a pipe, a socket or a device; `fix` says what to do
    """
    refuse_special(path, fix)
    return path.open("rb") if encoding is None else path.open(encoding=encoding, newline="")


def refuse_special(path: Path, fix: str) -> None:
    """Refuse a pipe, a socket or a device: opening it may wait and reading it may go on for ever."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise refuse(str(path), _WHAT, fix)


def load_json(path: Path, fix: str) -> dict[str, Any]:
    """Return the object that a file holds.

    Raises
    ------
    InputError : there is no such file, or it is damaged; `fix` says what makes it again
    """
    try:
        with open_file(path, fix) as file:
            text = file.read()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise refuse(str(path), "there is no such file", fix) from None
    try:
        content = json.loads(text.decode("utf-8"), parse_float=_finite, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise refuse(str(path), f"is damaged, no valid JSON: {error}", fix) from None
    if not isinstance(content, dict):
        raise refuse(str(path), "is damaged: it holds no JSON object", fix)
    return content


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(number: str) -> NoReturn:
    """Raise for a number that JSON does not have, or that a float cannot hold."""
    msg = f"{number} is not a finite number"
    raise ValueError(msg)


TABLES = ("train", "items", "users", "metrics")  # files beside recommendations and ground truth
NO_FOLD = ""  # in the place of a fold: one truth for all lists


def content_ids(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return path and hashes of a table from its quality file."""
    return {
        key: found[key]
        for key in ("path", "sha256", "md5", "etag")
        if key in found or key != "etag"
    }


def content_id(known: Mapping[str, Any]) -> str | None:
    """Return the content id: SHA-256, else etag; None for a table in memory."""
    return known.get("sha256") or known.get("etag")


def content_id_text(known: Mapping[str, Any], characters: int) -> str:
    """Return text such as `sha256 0123456789ab…`."""
    name = "sha256" if known.get("sha256") else "etag"
    return f"{name} {(content_id(known) or '')[:characters]}…"
