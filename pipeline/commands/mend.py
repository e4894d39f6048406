"""`concord mend`: files of DVC's own over which it was killed, put aside so that `dvc repro` starts again."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from concord.metrics_core.checking.problems import refuse
from concord.pipeline.params.repository import repository

LOCK = Path("dvc.lock")
CLAIMS = "rwlock"  # in DVC's folder for what is temporary: which process reads and writes what
CONFLICT = "<<<<<<< "
A_MOMENT = 0.5  # seconds in which a living DVC has written a file to its end


def mend() -> None:
    """Put aside what was cut off; DVC makes both files again, and its cache gives back what dvc.lock described.

    DVC writes them in place, so `kill -9` in that moment cuts them off, and no `dvc repro` can read them any more.

    Raises
    ------
    InputError : dvc.lock holds a merge conflict, which is for people to resolve
    """
    if LOCK.exists() and CONFLICT in LOCK.read_text(encoding="utf-8", errors="replace"):
        fix = "resolve it; `git checkout --ours dvc.lock`, then `dvc repro`, will do"
        raise refuse(str(LOCK), "holds a merge conflict", fix)
    _put_aside_if(_no_lock_file, LOCK)
    _put_aside_if(_no_json, _kept() / CLAIMS)


def _kept() -> Path:
    """What DVC keeps for itself, as seen from here."""
    return Path(os.path.relpath(repository())) / ".dvc" / "tmp"


def _put_aside_if(cut_off: Callable[[Path], bool], path: Path) -> None:
    if not path.exists() or not cut_off(path):
        return
    time.sleep(A_MOMENT)
    if not path.exists() or not cut_off(path):
        return
    _kept().mkdir(parents=True, exist_ok=True)
    aside = _kept() / f"{path.name}.cut-off"
    path.replace(aside)
    print(f"{path} was cut off while DVC wrote it; it is {aside} now, `dvc repro` writes it again")


def _no_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return True
    return False


def _no_lock_file(path: Path) -> bool:
    """By DVC's own rules: a file that ends early may still be YAML, and even a valid list of fewer stages."""
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from voluptuous import Invalid

    try:
        COMPILED_LOCKFILE_SCHEMA(YAML(typ="safe").load(path.read_text(encoding="utf-8")))
    except (YAMLError, UnicodeDecodeError, Invalid):
        return True
    return False
