"""A params.yaml that would run code, or is not valid YAML, is refused."""

from pathlib import Path

import pytest

from concord.metrics_core.errors import InputError
from concord.pipeline.dvc.lock import DvcLock
from concord.pipeline.params.read import read_params
from concord.pipeline.params.yaml_files import MAX_BYTES, load_yaml
from tests.project import ROOT

HOSTILE = {
    "an object": ("a: !!python/object/apply:os.system ['touch ran']\n", "is not valid YAML"),
    "a tag": ("a: !own 1\n", "could not determine a constructor for the tag '!own'"),
    "nested lists": ("a: " + "[" * 50_000 + "]" * 50_000, "is nested too deep"),
    "a long file": ("a: " + "x" * MAX_BYTES, "is larger than 1,000,000 bytes"),
    "a long number": ("a: " + "9" * 500_000, "is not valid YAML"),
    "two documents": ("a: 1\n---\nb: 2\n", "is not valid YAML"),
    "a key twice": ("a: 1\na: 2\n", "line 2: key 'a' occurs more than once"),
    "a tab": ("a:\n\tb: 1\n", "indent with spaces, not tabs"),
    "a merge conflict": (
        "a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> main\n",
        "line 2: a merge conflict begins here ('<<<<<<<')",
    ),
    "no text": ("a: \x00", "is not valid YAML"),
    "no UTF-8": ("a: \udcff\n", "byte 3 is not UTF-8"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_parameters_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    text, message = HOSTILE[kind]
    Path("params.yaml").write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(InputError) as refused:
        read_params()
    assert message in str(refused.value)
    assert len(str(refused.value)) < 1000
    assert not Path("ran").exists()


def test_aliases_merges_and_plain_tags_are_welcome() -> None:
    text = "a: &a {x: 1}\nb: *a\nc: {<<: *a, y: !!str 2}\nd: [*a, *a]\n"
    known = {"x": 1}
    assert load_yaml(text, "here") == {
        "a": known,
        "b": known,
        "c": {"x": 1, "y": "2"},
        "d": [known, known],
    }


def test_nothing_else_reads_yaml() -> None:
    users = {
        path.relative_to(ROOT).as_posix()
        for package in ("metrics_core", "pipeline", "reports", "docs")
        for path in (ROOT / package).rglob("*.py")
        if "YAML(" in path.read_text(encoding="utf-8")
    }
    assert users == {
        "pipeline/params/yaml_files.py",
        "pipeline/dvc/lock.py",
        "pipeline/init/validation.py",
        "pipeline/init/edit.py",
    }  # dvc.lock is DVC's own; the others read it safely first


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, "- " * 100_000 + "x"])
def test_a_deep_dvc_lock_does_not_end_the_process(text: str) -> None:
    assert DvcLock(f"stages:\n  {text}\n").fault == "is not a valid dvc.lock"
