"""Text that does not end, pipes and devices: refused before they take the memory or the time."""

import gzip
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.loading.load_project import loaded, refusal

HUGE = 1_500_000_000  # bytes, unpacked


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("what", ["pipe", "socket", "device"])
@pytest.mark.bad_input(69, "refused")
def test_what_is_no_file_is_refused_and_not_waited_for(what: str) -> None:
    path = Path("a.csv")
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    assert refusal("a.csv", allow_outside=True).startswith(
        "a.csv: is neither a file nor a folder: a pipe, a"
    )


_MEASURED = """
import sys
from concord.metrics_core.checking.problems import InputError
from concord.pipeline.running.announce import peak_memory
from tests.pipeline.loading.load_project import loaded
try:
    loaded(sys.argv[1])
except InputError as error:
    print(error)
print(peak_memory())
"""


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a.run.gz"])
@pytest.mark.bad_input(70, "refused in bounded memory: longer than 16 MiB")
def test_a_line_without_end_is_refused_in_bounded_memory(name: str) -> None:
    with gzip.open(name, "wb", compresslevel=1) as packed:
        for _ in range(HUGE // (1 << 24)):
            packed.write(b"a" * (1 << 24))
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, name], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    *said, memory = done.stdout.splitlines()
    assert "longer than is read (16 MiB; of CSV 4)" in said[0]
    assert int(memory) < 1 << 30  # bytes


def test_a_row_of_many_megabytes_is_read() -> None:
    long = "a" * 9_000_000
    Path("a.run").write_text(f"u 0 {long} 1 2 m\nu 0 b 2 1 m\n")
    assert [(len(row[1]), row[2]) for row in loaded("a.run")[0]] == [(9_000_000, 1), (1, 2)]


def test_a_row_of_too_many_bytes_is_refused() -> None:
    Path("a.csv").write_text("user,item,rank\nu,b,2\nu," + "a" * 9_000_000 + ",1\n")
    assert refusal("a.csv").startswith(
        "a.csv: holds a row longer than is read (16 MiB; of CSV 4)\n  fix: check the ends of its lines"
    )


@pytest.mark.bad_input(70, "a name of a column of over 131,072 characters is refused")
def test_a_name_of_a_column_that_is_none_is_refused() -> None:
    Path("a.csv").write_text("u" * 200_000 + ",item,rank\nu,a,1\n")
    assert refusal("a.csv") == (
        "a.csv: line 1: a name of a column is longer than 131,072 characters\n"
        "  fix: begin the file with the names of the columns, separated and each on one line"
    )


def test_a_mark_of_utf_8_stands_at_the_beginning_or_not_at_all() -> None:
    Path("a.csv").write_text("\n\n\ufeffuser,item,rank\nu,a,1\n", newline="")
    assert refusal("a.csv").startswith(
        "a.csv: column 'user': is missing; the columns are: \\ufeffuser"
    )


def test_names_of_columns_and_nothing_else_hold_no_rows() -> None:
    Path("a.csv").write_text("user,item,rank")
    for policy in ("error", "keep"):
        assert refusal("a.csv", empty_lists=policy).startswith("a.csv: holds no rows\n  fix: ")


@pytest.mark.parametrize("before", ["\n", "\r\n\r\n", "\ufeff\n"])
def test_empty_lines_before_the_header_are_skipped(before: str) -> None:
    content = f"{before}user,item,rank\nu,a,1\nu,b,x\n"
    Path("a.csv").write_text(content, newline="")
    line = before.count("\n") + 3
    assert refusal("a.csv").startswith(f"a.csv: line {line}, column 'rank'")
