"""Results of models that have left params.yaml: DVC keeps their files, and they would enter the hash of each folder."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from metrics_core.catalogue import parse
from pipeline.params import Params
from pipeline.params_checks import MODEL_NAME
from pipeline.per_user_file import read_carried


def remove_orphans(params: Params) -> dict[str, int]:
    """Removes the files of models that params.yaml no longer names; model -> number of files.

    A file is removed only if it, or another result of the same name, says that Concord made it for a model.
    """
    removed: dict[str, int] = {}
    for model in sorted(set(_made_for(params)) - set(params.models)):
        for path in _files(params, model):
            if path.is_file():
                path.unlink()
                removed[model] = removed.get(model, 0) + 1
    return removed


def _files(params: Params, model: str) -> list[Path]:
    folders = params.results
    return [
        Path(folders.lists) / f"{model}.parquet",
        Path(folders.quality) / f"{model}.json",
        Path(folders.per_user) / f"{model}.parquet",
        Path(folders.panel) / f"{model}.parquet",
        Path(folders.summary) / f"{model}.json",
        Path(folders.metrics) / f"{model}.json",
    ]


def _made_for(params: Params) -> Iterator[str]:
    """The models that results on disk were made for, by what the results themselves say."""
    folders = params.results
    for folder in (folders.quality, folders.summary):
        for path in _named_like_a_model(folder, ".json"):
            if _json(path).get("model") == path.stem:
                yield path.stem
    for path in _named_like_a_model(folders.per_user, ".parquet"):
        if _carried(path).get("model") == path.stem:
            yield path.stem
    for path in _named_like_a_model(folders.metrics, ".json"):
        if _only_labels(_json(path)):
            yield path.stem


def _named_like_a_model(folder: str, suffix: str) -> list[Path]:
    found = [path for path in Path(folder).glob(f"*{suffix}") if path.is_file()]
    return sorted(path for path in found if MODEL_NAME.match(path.stem))


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _carried(path: Path) -> dict[str, Any]:
    try:
        return read_carried(path)
    except (KeyError, pa.ArrowInvalid):
        return {}


def _only_labels(content: dict[str, Any]) -> bool:
    try:
        return bool(content) and all(str(parse(label)) == label for label in content)
    except ValueError:
        return False
