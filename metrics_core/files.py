"""Regular files, JSON files and schemas, addresses of objects in a store, ids of content."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

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
_SCHEMAS = "https://concord-eval.github.io/concord/schemas"
_HADOOP_SCHEMES = ("s3a", "s3n")  # Hadoop's names of S3
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/", re.IGNORECASE)  # a Path keeps one slash of s3://
_ACCOUNT = re.compile(r"([a-z0-9-]+)@([a-z0-9]+)\.dfs\.core\.windows\.net", re.IGNORECASE)
_REMOVE = "remove them: credentials and endpoints come from the environment"


def schema_address(name: str, version: int = 1) -> str:
    """Return the `$id` of the JSON Schema of a file; the documentation publishes it there."""
    return f"{_SCHEMAS}/{name}-{version}.json"


def described_schema(schema: dict[str, Any], name: str, version: int = 1) -> dict[str, Any]:
    """Return a JSON Schema with its dialect and address first."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "$id": schema_address(name, version), **schema}


@dataclass(frozen=True)
class Address:
    """Parts of an address of an object store.

    Attributes
    ----------
    bucket : str
        Bucket or container.
    key : str
        Key of the object or folder, not decoded.
    account : str, optional
        Azure account, if the address names it.
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
    """True if a text starts with the scheme of an address."""
    return _ADDRESS.match(text) is not None


def is_remote(text: str) -> bool:
    """True for an address of a store, also with Hadoop's schemes, which `parse_address` rejects."""
    match = _ADDRESS.match(text)
    return match is not None and match[1].lower() in (*STORES, *_HADOOP_SCHEMES)


def parse_address(text: str) -> Address:
    """Parse an address of an object store.

    Raises
    ------
    InputError
        If the address names no object, has a scheme of Hadoop's, or contains a user, a password, a
        query or a fragment (which the message does not repeat).
    """
    scheme, location = text.split(":", 1)
    scheme = scheme.lower()
    host, _, key = location.lstrip("/").partition("/")
    redacted = redact_address(text)
    account = None
    if STORES.get(scheme) == "az" and (match := _ACCOUNT.fullmatch(host)):
        host, account = match.groups()
    if "@" in host or ":" in host:
        raise refuse(redacted, "contains a user, a password or a port", _REMOVE)
    if "?" in location or "#" in location:
        raise refuse(redacted, "contains a query (?…) or a fragment (#…)", _REMOVE)
    if scheme in _HADOOP_SCHEMES:
        message = f"starts with {scheme}://, which is Hadoop's name of S3"
        raise refuse(redacted, message, f"write s3://{host}/{key}")
    parts = key.strip("/").split("/")
    if not host or parts == [""]:
        raise refuse(redacted, "names no object", f"write {scheme}://bucket/folder/file.parquet")
    if {"", ".", ".."} & set(parts):
        raise refuse(
            f"{scheme}://{host}/{key}", "contains `//`, `.` or `..`", "write the whole key"
        )
    return Address(scheme, host, "/".join(parts), account)


def redact_address(text: str) -> str:
    """Return an address without secrets, which may be before an `@`, in a query or after a `:`."""
    scheme, location = text.split(":", 1)
    if not set("@?#:") & set(location):
        return text
    host = "…" if "@" in location else re.split("[/?#:]", location.lstrip("/"))[0]
    return f"{scheme.lower()}://{host}/…"


def open_file(path: Path, fix: str, *, encoding: str | None = None) -> IO[Any]:
    """Open a file to read its bytes, or its text with line ends as they are.

    Raises
    ------
    InputError
        If it is a pipe, a socket or a device; `fix` says what to do.
    """
    refuse_special(path, fix)
    return path.open("rb") if encoding is None else path.open(encoding=encoding, newline="")


def refuse_special(path: Path, fix: str) -> None:
    """Raise for a pipe, a socket or a device, whose reading may never end."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        message = "is a pipe, a socket or a device, which cannot be read twice"
        raise refuse(str(path), message, fix)


def count_items(quality: Mapping[str, Any]) -> int:
    """Return the number of items of a train or catalogue, from its description."""
    return int(quality.get("items", quality["rows"]))


def load_json(path: Path, fix: str) -> dict[str, Any]:
    """Return the JSON object in a file.

    Raises
    ------
    InputError
        If the file does not exist or is damaged; `fix` says how to create it again.
    """
    try:
        with open_file(path, fix) as file:
            text = file.read()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise refuse(str(path), "there is no such file", fix) from None
    try:
        content = json.loads(
            text.decode("utf-8"), parse_float=_finite, parse_constant=_raise_not_finite
        )
    except (ValueError, RecursionError) as error:
        raise refuse(str(path), f"is damaged: it is not valid JSON ({error})", fix) from None
    if not isinstance(content, dict):
        raise refuse(str(path), "is damaged: it is not a JSON object", fix)
    return content


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _raise_not_finite(text)


def _raise_not_finite(number: str) -> NoReturn:
    msg = f"{number} is not a finite number"
    raise ValueError(msg)


TRUTH = "truth"
SIDE_TABLES = ("train", "items", "users", "metrics")  # other inputs than lists and truth
RESERVED_NAMES = frozenset({TRUTH, *SIDE_TABLES})  # a model has none of these names
NO_FOLD = ""  # fold name if there is one ground truth for all recommendations
T = TypeVar("T")


def sort_by_number(items: Mapping[str, T]) -> dict[str, T]:
    """Return the items in the order of their numbers: integers by size, before other texts."""

    def key(number: str) -> tuple[bool, int, str]:
        is_integer = number.isascii() and number.isdecimal()
        return not is_integer, int(number) if is_integer else 0, number

    return {number: items[number] for number in sorted(items, key=key)}


def content_ids(quality: Mapping[str, Any]) -> dict[str, Any]:
    """Return path and hashes of a table from its quality file."""
    etag = {"etag": quality["etag"]} if "etag" in quality else {}
    return {key: quality[key] for key in ("path", "sha256", "md5")} | etag


def content_id(hashes: Mapping[str, Any]) -> str | None:
    """Return the content id: SHA-256, else etag; None for a table in memory."""
    return hashes.get("sha256") or hashes.get("etag")


def content_id_text(hashes: Mapping[str, Any], n_characters: int) -> str:
    """Return text such as `sha256 0123456789ab…`."""
    name = "sha256" if hashes.get("sha256") else "etag"
    return f"{name} {(content_id(hashes) or '')[:n_characters]}…"
