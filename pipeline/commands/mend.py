"""`concord mend`: a dvc.lock that DVC was killed over, put aside so that `dvc repro` writes it again."""

from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from pipeline.checks import refuse

LOCK = Path("dvc.lock")
ASIDE = Path(".dvc", "tmp", "dvc.lock.cut-off")
CONFLICT = "<<<<<<< "


def mend() -> None:
    """Put aside a dvc.lock that cannot be read; DVC's cache gives back what it described.

    DVC writes dvc.lock in place, so `kill -9` in that moment cuts it off, and no `dvc repro` can read it any more.

    Raises
    ------
    InputError : dvc.lock holds a merge conflict, which is for people to resolve
    """
    if not LOCK.exists() or _readable(LOCK):
        return
    if CONFLICT in LOCK.read_text(encoding="utf-8", errors="replace"):
        fix = "resolve it; `git checkout --ours dvc.lock`, then `dvc repro`, will do"
        raise refuse(str(LOCK), "holds a merge conflict", fix)
    ASIDE.parent.mkdir(parents=True, exist_ok=True)
    LOCK.replace(ASIDE)
    print(f"{LOCK} was cut off while DVC wrote it; it is {ASIDE} now, `dvc repro` writes it again")


def _readable(path: Path) -> bool:
    """By DVC's own rules: a file that ends early may still be YAML, and even a valid list of fewer stages."""
    from dvc.schema import COMPILED_LOCKFILE_SCHEMA
    from voluptuous import Invalid

    try:
        COMPILED_LOCKFILE_SCHEMA(YAML(typ="safe").load(path.read_text(encoding="utf-8")))
    except (YAMLError, UnicodeDecodeError, Invalid):
        return False
    return True
