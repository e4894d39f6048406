"""Are the results those of params.yaml and of the files as they are now? By what dvc.lock says they were made with."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from concord.metrics_core.reading.hashes import hashes
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.safe_yaml import load_yaml
from concord.pipeline.params.yaml_lines import read_yaml

LOCK = Path("dvc.lock")
# Stages in dvc.lock: two spaces before the name. What `compare` was run with, and what was read.
_STAGE = r"^  {}:\n(?:    .*\n)*"
_COMPARE, _LOADS = (re.compile(_STAGE.format(name), re.MULTILINE) for name in ("compare", "load.*"))


def told_stale(params: Params) -> str | None:
    """`params.yaml (models) and lists/two.csv have changed since …`; None where nothing has.

    `gate` is left out: whoever asks for a decision has it by the gate of now.
    """
    keys = [key for key in changed_since() if key != "gate"]
    changed = [f"{PARAMS} ({', '.join(keys)})"] if keys else []
    changed += changed_files(params)
    if not changed:
        return None
    have = "has" if len(changed) == 1 else "have"
    return f"{' and '.join(changed)} {have} changed since these results were made: run `dvc repro`"


def changed_since() -> Iterator[str]:
    """The keys of params.yaml that have another value than dvc.lock says the comparison was made with."""
    content = read_yaml(PARAMS).content
    for stage in _stages(_COMPARE):
        for key, value in stage.get("params", {}).get(PARAMS.name, {}).items():
            if _value(content, key) != value:
                yield key


def changed_files(params: Params) -> Iterator[str]:
    """The files of truth, lists and background that are others than were read; folders and addresses are not looked at."""
    paths = [params.data.truth.path, *(each.path for each in params.background.values())]
    paths += [each.path for each in params.models.values()]
    known = {dep["path"]: dep for stage in _stages(_LOADS) for dep in stage.get("deps", ())}
    for path in dict.fromkeys(paths):
        if path in known and Path(path).is_file() and _differs(Path(path), known[path]):
            yield path


def _differs(path: Path, known: dict[str, Any]) -> bool:
    """By its size; its content is read only if it is younger than dvc.lock."""
    if path.stat().st_size != known.get("size", path.stat().st_size):
        return True
    if known.get("hash") != "md5" or path.stat().st_mtime_ns <= LOCK.stat().st_mtime_ns:
        return False
    return hashes(path).md5 != known.get("md5")


def _stages(name: re.Pattern[str]) -> Iterable[dict[str, Any]]:
    if not LOCK.is_file():
        return ()
    found = name.findall(LOCK.read_text(encoding="utf-8", errors="replace"))
    return load_yaml("".join(found), str(LOCK)).values() if found else ()


def _value(content: Any, key: str) -> Any:
    for name in key.split("."):
        content = content.get(name) if isinstance(content, dict) else None
    return content
