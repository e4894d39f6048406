"""Remove results that params.yaml no longer names: DVC keeps them, and they would enter the hash of each folder."""

import json
import re
from pathlib import Path
from typing import Any

from concord.metrics_core.errors import in_words
from concord.pipeline.params.checks import BACKGROUND
from concord.pipeline.params.model import MODEL_NAME, Params
from concord.pipeline.running.announce import say

_INPUT_KEYS = {"path", "format", "sha256", "md5", "bytes", "rows"}  # of every input that was loaded


def remove_models(params: Params) -> None:
    """Remove the files of models that params.yaml no longer names, and say so.

    A model is known by its quality or summary file, which names it; other files of a user stay.
    """
    folders = params.results
    known = [*Path(folders.quality).glob("*.json"), *Path(folders.summary).glob("*.json")]
    models = {
        path.stem
        for path in known
        if re.fullmatch(MODEL_NAME, path.stem) and _json(path).get("model") == path.stem
    }
    for model in sorted(models - set(params.models)):
        _remove(
            model,
            Path(folders.lists) / f"{model}.parquet",
            Path(folders.quality) / f"{model}.json",
            Path(folders.per_user) / f"{model}.parquet",
            Path(folders.panel) / f"{model}.parquet",
            Path(folders.summary) / f"{model}.json",
            Path(folders.metrics) / f"{model}.json",
        )


def remove_background(params: Params) -> None:
    """Remove the loaded background tables that params.yaml no longer names, and say so."""
    for name in BACKGROUND:
        path = Path(params.results.data) / f"{name}.json"
        if name not in params.background and _json(path).keys() >= _INPUT_KEYS:
            _remove(name, path.with_suffix(".parquet"), path)


def _remove(name: str, *paths: Path) -> None:
    """Several stages may remove them at once."""
    removed = [path for path in paths if path.is_file()]
    for path in removed:
        path.unlink(missing_ok=True)
    if removed:
        files = in_words(len(removed), "result file")
        say(f"removed {files} of {name}, which params.yaml no longer names")


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
