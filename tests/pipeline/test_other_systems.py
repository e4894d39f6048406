"""Windows and macOS, as far as Linux can show: no module of Unix, other consoles, same bytes."""

import ast
import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from concord.pipeline.running.outputs import remove_stale_files
from concord.pipeline.stages.run_state import STATE
from tests.faults.small import digests, small_project
from tests.project import ROOT, attempt_process, change_params, process_environment

_CODE = ("metrics_core", "pipeline", "reports")


def _run(folder: Path, *arguments: str, as_on_windows: bool) -> str:
    """Return what `concord` prints, and its code, in a process of its own."""
    program = ["-X", "warn_default_encoding", "-m", "tests.as_on_windows"]
    start = [sys.executable, *(program if as_on_windows else ("-m", "concord"))]
    done = attempt_process(folder, *start, *arguments, PYTHONPATH=str(ROOT))
    assert "bug in Concord" not in done.stderr, done.stderr
    return f"{done.returncode}\n{done.stdout}"


@pytest.mark.whole
def test_commands_without_unix_print_and_write_the_same(tmp_path: Path) -> None:
    tables = ("data/second.csv", "data/first.csv", "--truth", "data/truth.parquet")
    commands = [
        ("compare", *tables),
        ("evaluate", *tables[1:], "--json"),
        ("validate",),
        ("run", "report"),
        ("run", "report", "--force"),  # replaces files that it also reads
        ("gate",),
        ("replay", "results/comparison/decision.concord", "--inputs", "."),
    ]
    linux, windows = (small_project(tmp_path / name / "a project") for name in ("l", "w"))
    for folder in (linux, windows):
        change_params(folder, {"gate": {"guardrails": {"nDCG@5": 0.5}}})

    printed = [_run(linux, *command, as_on_windows=False) for command in commands]

    assert [_run(windows, *command, as_on_windows=True) for command in commands] == printed
    assert [text[0] for text in printed] == ["0"] * len(commands)
    for folder in (linux, windows):
        (folder / "results" / STATE).unlink()  # inodes and times
    assert digests(windows) == digests(linux)


@pytest.mark.parametrize("arguments", [("help", "all"), ("compare", "--help"), ("metrics",)])
def test_a_console_that_lacks_characters_gets_all_lines(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    in_utf8, in_cp437 = (
        subprocess.run(
            [sys.executable, "-m", "concord", *arguments],
            env=process_environment(tmp_path, PYTHONIOENCODING=encoding),
            capture_output=True,
            check=True,
        )
        for encoding in ("utf-8", "cp437")
    )

    assert in_cp437.stdout.count(b"\n") == in_utf8.stdout.count(b"\n")


def test_windows_is_not_asked_by_a_signal_whether_a_process_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, of_another_user, ended = 1, 2, 3
    handles = {running: 99, of_another_user: None, ended: None}
    asked: list[int] = []

    def open_process(access: int, inherit: bool, process: int) -> int | None:
        asked.append(process)
        return handles[process]

    library = SimpleNamespace(OpenProcess=open_process, CloseHandle=lambda handle: None)
    errors = {of_another_user: 5, ended: 87}
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "WinDLL", lambda *_, **__: library, raising=False)
    monkeypatch.setattr(ctypes, "get_last_error", lambda: errors[asked[-1]], raising=False)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("sends Ctrl-C on Windows"))
    for process in handles:
        (tmp_path / f".a.{process}.part").touch()

    remove_stale_files(tmp_path)

    assert {file.name for file in tmp_path.iterdir()} == {".a.1.part", ".a.2.part"}


def test_texts_are_written_with_the_same_line_ends_everywhere() -> None:
    files = [file for folder in _CODE for file in (ROOT / folder).rglob("*.py")]

    assert [place for file in files for place in _writes_without_line_ends(file)] == []


def _writes_without_line_ends(file: Path) -> Iterator[str]:
    """Yield calls of `path.write_text` and `open` that leave line ends to the system."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and "newline" not in {each.arg for each in node.keywords}:
            function = ast.unparse(node.func)
            arguments = [*map(ast.unparse, [*node.args, *(each.value for each in node.keywords)])]
            opens = re.search(r"\bopen$", function) and "os.devnull" not in arguments
            writes = any(re.fullmatch(r"'[wax]t?\+?'", each) for each in arguments)
            if function.endswith(".write_text") or (opens and writes):
                yield f"{file.relative_to(ROOT)}: line {node.lineno}"
