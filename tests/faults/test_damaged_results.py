"""Damaged results: each command that reads them names the file and how to make it again."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.small import run_command
from tests.project import change_params

FAULT = "an error of every command that reads it, with its name"
READERS = {
    "results/summary/first.json": (
        "gate",
        "cases first --versus second",
        "plan",
        "stage compare",
        "stage log",
    ),
    "results/quality/first.json": ("gate", "stage compare", "stage evaluate first"),
    "results/quality/truth.json": ("gate", "stage compare", "stage evaluate first"),
    "results/metrics/first.json": ("stage log",),
    "results/per_user/first.parquet": (
        "gate",
        "cases first --versus second",
        "plan",
        "stage compare",
    ),
    "results/lists/first.parquet": (
        "cases first --versus second",
        "stage evaluate first",
    ),
    "results/data/truth.parquet": (
        "cases first --versus second",
        "stage evaluate first",
    ),
    "results/comparison/comparison.json": (
        "leaderboard",
        "gate",
        "plan",
        "comment",
        "stage report",
        "stage log",
    ),
    "results/comparison/cases.json": ("stage report",),
}
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
    "binary": lambda _: b"\xff\xfe\x00" * 50,
    "a list": lambda _: b"[1, 2]",
    "1e999": lambda content: re.sub(rb"(?<=: )\d+(\.\d+)?(?=[,\n])", b"1e999", content, count=1),
}


@pytest.mark.fault(44, FAULT)
@pytest.mark.parametrize("file", READERS)
def test_a_damaged_result_is_named_by_every_command_that_reads_it(project: Path, file: str) -> None:
    change_params(project, {"gate": {"guardrails": {"nDCG@5": "5%"}}})
    sound = Path(file).read_bytes()
    for name, damage in DAMAGES.items():
        if name == "1e999" and not file.endswith(".json"):
            continue
        Path(file).write_bytes(damage(sound))
        for command in READERS[file]:
            ended = run_command(*command.split())

            reported = f"`{command}` with {file} {name}: {ended.code} {ended.err}"
            assert ended.code == 2, reported
            assert f"{file}: is damaged" in ended.err, reported
            assert "fix: run `concord run" in ended.err, reported
    Path(file).write_bytes(sound)


@pytest.mark.parametrize("content", [b"", b"3", b'{"logged": ', b"\xff"])
def test_damaged_receipt_counts_as_missing(project: Path, content: bytes) -> None:
    receipt = project / "results/mlflow/receipt.json"
    receipt.parent.mkdir(parents=True, exist_ok=True)
    receipt.write_bytes(content)
    ended = run_command("log")

    assert (ended.code, ended.err) == (1, "")
    assert ended.out.startswith("not logged: run `concord run`")
