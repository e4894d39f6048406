"""SHA-256 of the results of the demo and MovieLens.

`python -m tests.pinned_outputs` writes tests/pinned_outputs.json again.

`values` are all numbers: they change only with what `CHANGELOG.md` names under "Values changed".
`text` is all that is read: sentences, tables of sentences and pages.
"""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import polars as pl

from tests.movielens import finished_movielens
from tests.project import copied, run_all_stages

PINNED = Path(__file__).with_suffix(".json")
NOT_COMPARED = {"versions", "path"}  # of packages, and of inputs
SENTENCES = ("conventions", "inputs", "metrics", "panel", "quality", "warnings")  # tables with text

Hashes = dict[str, dict[str, str]]


def hashes(project: Path) -> Hashes:
    """Return file -> SHA-256 of the values and of the text in all results but MLflow's."""
    actual: Hashes = {"values": {}, "text": {}}
    results = project / "results"
    for path in sorted(path for path in results.rglob("*") if path.is_file()):
        name = path.relative_to(results).as_posix()
        if name.startswith("mlflow/"):
            continue
        is_table = name.startswith("comparison/")
        if path.suffix in READERS and (is_table or path.suffix == ".json"):
            content = READERS[path.suffix](path)
            actual["values"][name] = _sha256(_without_sentences(content))
            actual["text"][name] = _sha256(content)
        elif path.suffix == ".parquet":
            actual["values"][name] = _sha256(_parquet(path))
        else:
            is_text = path.name.startswith(SENTENCES) or not is_table
            actual["text" if is_text else "values"][name] = _sha256(_page(path))
    return actual


def _json(path: Path) -> Any:
    return _without_versions(json.loads(path.read_text(encoding="utf-8")))


def _parquet(path: Path) -> Any:
    """Return columns, every digit of every value, and Concord's metadata without versions."""
    frame = pl.read_parquet(path)
    metadata = json.loads(pl.read_parquet_metadata(path).get("concord", "{}"))
    columns = [[name, str(kind), frame[name].to_list()] for name, kind in frame.schema.items()]
    return [columns, _without_versions(metadata)]


def _decision(path: Path) -> Any:
    """Return what the entries of a decision hold."""
    with TemporaryDirectory() as folder, ZipFile(path) as archive:
        archive.extractall(folder)
        names = sorted(archive.namelist())
        read = READERS | {".txt": Path.read_text}
        return [[name, read[Path(name).suffix](Path(folder) / name)] for name in names]


READERS: dict[str, Callable[[Path], Any]] = {
    ".json": _json,
    ".parquet": _parquet,
    ".concord": _decision,
}


def _page(path: Path) -> str:
    return re.sub(r"(</dt><dd>)[\d.]+(?=</dd>)", r"\1", path.read_text(encoding="utf-8"))


def _without_versions(items: Any) -> Any:
    if isinstance(items, dict):
        return {k: _without_versions(v) for k, v in items.items() if k not in NOT_COMPARED}
    return [_without_versions(each) for each in items] if isinstance(items, list) else items


def _without_sentences(items: Any) -> Any:
    """Return the same with an empty string for every string that holds a space."""
    if isinstance(items, dict):
        return {key: _without_sentences(value) for key, value in items.items()}
    if isinstance(items, list):
        return [_without_sentences(each) for each in items]
    return (
        "" if isinstance(items, str) and (" " in items or "\N{NO-BREAK SPACE}" in items) else items
    )


def _sha256(content: Any) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()


def main() -> None:
    """Run both projects and write their hashes."""
    with TemporaryDirectory() as temporary:
        folders = {name: Path(temporary) / name for name in ("demo", "movielens")}
        for folder in folders.values():
            folder.mkdir()
        run_all_stages(copied(folders["demo"]))
        finished_movielens(folders["movielens"])
        actual = {name: hashes(folder / "a project") for name, folder in folders.items()}
    PINNED.write_text(json.dumps(actual, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
