"""Schema and profile of the tables that a model was evaluated on, as MLflow shows them of a data set."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from concord.pipeline.tracking.content.run_content import DataFile

Json = Mapping[str, Any]
_TYPES = {"text": "string", "integer": "long"}
_LONGEST = 36


def data_files(inputs: Json, quality: Json, model: str) -> tuple[DataFile, ...]:
    """The files behind the run of a model.

    Parameters
    ----------
    inputs  : name -> path and md5, or etag of what lies in an object store
    quality : what was found in the tables: of each model under its name, of the truth under `truth`
    """
    lists = quality.get(model)
    truth = quality.get("truth")
    if truth and lists and "fold" in lists:
        truth = truth["folds"][lists["fold"]]
    found = {"truth": truth, "lists": lists}
    return tuple(
        DataFile(name, source["path"], _digest(source), *_described(name, found.get(name)))
        for name, source in inputs.items()
    )


def _digest(source: Json) -> str:
    """The md5; of what lies in an object store its etag, of which MLflow takes no more than so many characters."""
    etag = str(source.get("etag", ""))
    if len(etag) > _LONGEST:
        etag = hashlib.md5(etag.encode(), usedforsecurity=False).hexdigest()
    return source["md5"] or etag


def _described(name: str, found: Json | None) -> tuple[str, str] | tuple[None, None]:
    if not found:
        return None, None
    columns = [
        {"type": kind, "name": column, "required": True} for column, kind in _columns(name, found)
    ]
    users = found["users"]
    profile = {
        "num_rows": found["rows"],
        "num_elements": found["rows"] * len(columns),
        "num_users": users if isinstance(users, int) else users["in_lists"],
        "num_items": found["items"],
    }
    return json.dumps({"mlflow_colspec": columns}), json.dumps(profile)


def _columns(name: str, found: Json) -> Iterator[tuple[str, str]]:
    """What Concord reads of the table, under its own names of columns."""
    yield "user", _TYPES[found["user_type"]]
    yield "item", _TYPES[found["item_type"]]
    if name == "lists":
        yield "rank", "long"
    if found.get("has_scores"):
        yield "score", "double"
    if found.get("grades"):
        yield "grade", "double"
