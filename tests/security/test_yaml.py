"""A params.yaml that would use up the machine or run code is refused at once."""

import time
from pathlib import Path

import pytest

from concord.metrics_core.errors import InputError
from concord.pipeline.params.read import read_params
from concord.pipeline.params.yaml_files import MAX_BYTES, load_yaml
from tests.project import ROOT

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "b0: &b0 {x: 1}\n" + "".join(
    f"b{n}: &b{n} {{<<: [*b{n - 1}, *b0], y{n}: 1}}\n" for n in range(1, 2000)
)
HOSTILE = {
    "an object": ("a: !!python/object/apply:os.system ['touch ran']\n", "has the tag"),
    "a module": ("a: !!python/name:os.system\n", "has the tag"),
    "a tag": ("a: !own 1\n", "has the tag '!own'"),
    "binary": ("a: !!binary aGVsbG8=\n", "has the tag"),
    "a billion laughs": (LAUGHS, "has more than 50,000 values, aliases expanded"),
    "merged keys": (MERGES, "has more than 50,000 values, aliases expanded"),
    "itself": ("a: &a [*a]\n", "*a contains itself"),
    "nested lists": ("a: " + "[" * 50_000 + "]" * 50_000, "is nested more than 30 deep"),
    "nested lists that never end": ("[" * 900_000, "is nested more than 30 deep"),
    "nested mappings": ("".join(" " * n + "a:\n" for n in range(500)), "is nested more than 30"),
    "many values": ("a:\n" + "- 1\n" * 60_000, "has more than 50,000 values"),
    "a long file": ("a: " + "x" * MAX_BYTES, "is larger than 1,000,000 bytes"),
    "a long number": ("a: " + "9" * 500_000, "is not valid YAML"),
    "two documents": ("a: 1\n---\nb: 2\n", "is not valid YAML"),
    "a key twice": ("a: 1\na: 2\n", "line 2: key 'a' occurs more than once"),
    "a tab": ("a:\n\tb: 1\n", "indent with spaces, not tabs"),
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
    began = time.process_time()
    with pytest.raises(InputError) as refused:
        read_params()
    assert time.process_time() - began < 10
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
        "pipeline/init/upgrade.py",
    }  # dvc.lock is DVC's own; the others read it safely first
