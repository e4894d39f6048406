"""What params.yaml no longer names: DVC keeps the files, and they would enter the hash of each folder."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.metrics.catalogue import parse
from concord.pipeline.params.checks import BACKGROUND
from concord.pipeline.params.model import MODEL_NAME, Params
from concord.pipeline.running.announce import say
from concord.pipeline.running.per_user_file import read_carried

_OF_A_FILE = {"path", "format", "sha256", "md5", "bytes", "rows"}  # what is known of any input


def remove_models(params: Params) -> None:
    """Removes the files of models that params.yaml no longer names, and says so.

    A file is removed only if it, or another result of the same name, says that Concord made it for a model.
    """
    for model in sorted(set(_made_for(params)) - set(params.models)):
        _remove(model, _files(params, model))


def remove_background(params: Params) -> None:
    """Removes what was loaded of background that params.yaml no longer names, and says so."""
    for name in BACKGROUND:
        known = Path(params.results.data) / f"{name}.json"
        if name not in params.background and known.is_file() and _json(known).keys() >= _OF_A_FILE:
            _remove(name, [known.with_suffix(".parquet"), known])


def _remove(name: str, paths: list[Path]) -> None:
    """Several stages may be at it at once."""
    removed = [path for path in paths if path.is_file()]
    for path in removed:
        path.unlink(missing_ok=True)
    if removed:
        files = in_words(len(removed), "result file")
        say(f"removed {files} of {name}, which params.yaml no longer names")


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
    return sorted(path for path in found if re.fullmatch(MODEL_NAME, path.stem))


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
