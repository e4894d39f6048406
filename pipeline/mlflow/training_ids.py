"""The runs that trained the models: named in params.yaml, or in files that the training writes."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.files import open_file
from concord.pipeline.params.model import PARAMS, Params, RunIdFile
from concord.pipeline.params.paths import check_inside

_MOST_BYTES = 1_000_000
_MOST_CHARACTERS = 250  # of an id
_WRITE = "let the training write the id of its MLflow run there, and run `dvc repro`"


def training_ids(params: Params) -> dict[str, str]:
    """The id of each model's training run, for those that name one.

    Raises
    ------
    InputError : files that hold no id, and ids that two models share though metrics go onto the run; all at once
    """
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for model, entry in params.models.items():
        named = entry.training_run_id
        if named is None:
            continue
        try:
            run_id = named if isinstance(named, str) else _read(params, model, named)
        except InputError as error:
            problems += error.problems
            continue
        if params.mlflow.attach == "metrics":
            problems += _shared(model, run_id, found)
        found[model] = run_id
    if problems:
        raise InputError(problems)
    return found


def _read(params: Params, model: str, named: RunIdFile) -> str:
    file, where = Path(named.file), f"models.{model}.training_run_id"
    check_inside(where, file, allow_outside=params.input.allow_outside, part="file")
    text = _text(file, where)
    if named.key is not None:
        return _id(_at_key(text, named, where), f"{file}: {named.key}")
    if text.lstrip().startswith(("{", "[")):
        what = f"holds JSON, and `{where}` names no key of it"
        raise refuse(str(file), what, f"add `key:` to {where} in {PARAMS}")
    return _id(text, str(file))


def _text(file: Path, where: str) -> str:
    if file.is_dir():
        raise refuse(str(file), "is a folder", f"name a file in {where}.file")
    try:
        with open_file(file, _WRITE) as opened:
            content = opened.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise refuse(str(file), f"there is no such file, and {where} reads it", _WRITE) from None
    except OSError as error:
        raise refuse(str(file), f"cannot be read: {error.strerror}", _WRITE) from None
    if len(content) > _MOST_BYTES:
        raise refuse(str(file), f"has more than {_MOST_BYTES:,} bytes", _WRITE)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise refuse(str(file), "is no text in UTF-8", _WRITE) from None
    if "\0" in text:
        raise refuse(str(file), "is no text: it holds a NUL", _WRITE)
    return text


def _at_key(text: str, named: RunIdFile, where: str) -> Any:
    """What stands at the key, whose dots lead into mappings; a key that holds the dots itself comes first."""
    key = str(named.key)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        fix = f"write JSON, or remove {where}.key to read the whole text"
        raise refuse(named.file, f"is not valid JSON: {error}", fix) from None
    for value in _values(content, key.split(".")):
        return value
    known = ", ".join(map(str, content)) if isinstance(content, dict) else ""
    holds = f"; it holds {known[:200]}" if known else ""
    raise refuse(named.file, f"has no key {key!r}{holds}", f"mend {where}.key in {PARAMS}")


def _values(content: Any, parts: list[str]) -> Iterator[Any]:
    """Every reading of a dotted key, those of the longest names first."""
    if not parts:
        yield content
    if not isinstance(content, dict):
        return
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        if name in content:
            yield from _values(content[name], parts[end:])


def _id(value: Any, where: str) -> str:
    if not isinstance(value, str):
        shown = json.dumps(value, ensure_ascii=False)[:60]
        raise refuse(where, f"is {shown}, which is no text", _WRITE)
    run_id = value.strip()
    if not run_id:
        raise refuse(where, "is empty", _WRITE)
    if len(run_id.splitlines()) > 1:
        raise refuse(where, f"has {len(run_id.splitlines())} lines, not one", _WRITE)
    if len(run_id) > _MOST_CHARACTERS or not run_id.isprintable():
        raise refuse(where, f"is no id of a run: {run_id[:60]!r}", _WRITE)
    return run_id


def _shared(model: str, run_id: str, found: Mapping[str, str]) -> Iterator[Problem]:
    """Of two models on one training run, the metrics of the second would hide those of the first."""
    for other, known in found.items():
        if known == run_id:
            what = f"{run_id!r} is the training run of {other} too"
            fix = "name another run, or set `mlflow.attach: child`"
            yield Problem(f"{PARAMS}: models.{model}.training_run_id", what, fix)
