"""Every write of every stage fails once: nothing half-written, one message, same bytes later."""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from concord.metrics_core.results.exported_tables import export_tables
from concord.pipeline.stages import compare
from tests.faults.small import LOAD, MODELS, digests, parts, run_stage

WRITES = (
    (Path, "mkdir"),
    (Path, "write_bytes"),
    (Path, "write_text"),
    (Path, "replace"),
    (os, "fsync"),
    (pl.DataFrame, "write_parquet"),
    (pl.DataFrame, "write_csv"),
    (pq.ParquetWriter, "write_table"),
)


def _disk_is_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _io_error() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def _is_stopped() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    _io_error()  # in a thread, which does not hear the signal


FAULTS: dict[str, tuple[Callable[[], None], int, str]] = {
    "full disk": (_disk_is_full, 1, "; fix: free space there, then `concord run`"),
    "I/O error": (_io_error, 1, "Input/output error"),
    "SIGTERM": (_is_stopped, 143, "stopped by SIGTERM; nothing half-written is left"),
}


@contextmanager
def _failing(number: int, fault: Callable[[], None]) -> Iterator[list[str]]:
    """Fail the `number`-th write half-way; yield the writes so far."""
    writes: list[str] = []

    def failing(name: str, write: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(*arguments: Any, **options: Any) -> Any:
            writes.append(name)
            if len(writes) != number:
                return write(*arguments, **options)
            path = next((each for each in arguments if isinstance(each, Path)), None)
            if name.startswith("write_") and path is not None:
                with path.open("w") as file:
                    file.write("half")
            return fault()

        return attempt

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in WRITES:
            patch.setattr(owner, name, failing(name, getattr(owner, name)))
        yield writes


@pytest.fixture(autouse=True)
def _few_and_quick_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip drawing, which writes nothing, and all tables but two: one loop writes them."""
    for name in ("latex.render_latex", "markdown.render_markdown", "page.render_html"):
        monkeypatch.setattr(f"concord.reports.{name}", lambda *_: "a page")
    monkeypatch.setattr(
        compare, "export_tables", lambda comparison: dict([*export_tables(comparison).items()][:2])
    )


def _remove_outputs(project: Path, words: tuple[str, ...]) -> dict[str, str]:
    """Replace each output of the stage by a new file; return all hashes before."""
    before = {path: path.stat().st_ino for path in (project / "results").rglob("*")}
    run_stage(*words)
    expected = digests(project)
    for path, inode in before.items():
        if path.is_file() and path.stat().st_ino != inode:
            path.unlink()
    return expected


EVALUATE = ("evaluate", MODELS[0])
CASES = [
    *((LOAD, name) for name in FAULTS),
    *((words, "full disk") for words in (("load-truth",), EVALUATE, ("compare",), ("report",))),
]


@pytest.mark.fault(3, "one line, for every n-th write; no later result changes")
@pytest.mark.parametrize(("words", "name"), CASES, ids=str)
def test_a_failure_at_any_write_changes_no_later_result(
    project: Path, words: tuple[str, ...], name: str
) -> None:
    expected = _remove_outputs(project, words)
    fault, code, message = FAULTS[name]
    for number in count(1):
        with _failing(number, fault) as writes:
            ended = run_stage(*words)
        assert digests(project).items() <= expected.items(), (number, writes)
        assert parts(project) == []
        if len(writes) < number:
            break
        assert ended.code == code, (number, writes, ended)
        assert ended.err.count("\n") == 1
        assert message in ended.err

    assert number > 8
    assert ended.code == 0
    assert digests(project) == expected
