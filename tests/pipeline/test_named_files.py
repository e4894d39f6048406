"""Output files of options: pipes and devices are written to, files of others are kept."""

import os
import re
from pathlib import Path
from threading import Thread

import polars as pl
import pytest

from concord.pipeline.terminal import write_output, write_output_table
from tests.pipeline.refusals import refusal_of

PAGE = (
    '<!doctype html>\n<html lang="en">\n<meta content="default-src \'none\'; script-src '
    "'sha256-{}'\">\n"
)
BOTH = {
    "page": (PAGE.format("old"), PAGE.format("new")),
    "table": ("model,label\nals,R@2\n", "model,label\nease,R@2\n"),
    "comment": ("<!-- concord: shop -->\nold", "<!-- concord: shop -->\nnew"),
    "picture": (
        '<svg xmlns="x" font-family="y" width="1">',
        '<svg xmlns="x" font-family="y" width="2">',
    ),
    "empty": ("", "new"),
}


@pytest.mark.parametrize("kind", BOTH)
def test_a_file_of_concord_is_replaced(kind: str, tmp_path: Path) -> None:
    before, after = BOTH[kind]
    (tmp_path / "file").write_text(before)

    write_output("--html", str(tmp_path / "file"), after, force=False)

    assert (tmp_path / "file").read_text() == after


@pytest.mark.fault(31, "an error for a file that Concord did not write, without `--force`")
@pytest.mark.parametrize("kind", sorted(set(BOTH) - {"empty"}))
@pytest.mark.parametrize(
    "foreign",
    [
        "models: {als: als.csv}\n",
        "<!doctype html>\n<title>mine</title>",
        '<svg xmlns="x" width="1">',
        "model,price\n",
    ],
)
def test_a_file_of_others_is_kept_without_force(kind: str, foreign: str, tmp_path: Path) -> None:
    file, text = tmp_path / "file", BOTH[kind][1]
    file.write_text(foreign)

    message = refusal_of(lambda: write_output("--html", str(file), text, force=False))

    assert message.startswith("command line: --html: ")
    assert "is not a file that this command writes" in message
    assert "--force" in message
    assert file.read_text() == foreign
    write_output("--html", str(file), text, force=True)
    assert file.read_text() == text


def _read_in_background(pipe: Path, into: list[str]) -> Thread:
    reader = Thread(target=lambda: into.append(pipe.read_text()), daemon=True)
    reader.start()
    return reader


@pytest.mark.fault(31, "a device or pipe is written to and never replaced")
@pytest.mark.parametrize("is_link", [False, True])
def test_pipe_is_written_to_and_not_replaced(is_link: bool, tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    read: list[str] = []
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    reader = _read_in_background(pipe, read)

    write_output("--csv", str(link if is_link else pipe), "a,b\n", force=False)

    reader.join(timeout=10)
    assert read == ["a,b\n"]
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert {file.name for file in tmp_path.iterdir()} == {"pipe", "link"}


@pytest.mark.fault(31, "a device or pipe is written to and never replaced")
def test_an_open_file_is_written_to_by_its_number(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as file:
        write_output("--csv", f"/dev/fd/{file.fileno()}", "a,b\n", force=False)
        assert os.fstat(file.fileno()).st_nlink == 1
    assert (tmp_path / "out").read_text() == "a,b\n"


def test_text_of_a_table_is_never_a_formula(tmp_path: Path) -> None:
    write_output_table(
        "--csv", str(tmp_path / "t.csv"), pl.DataFrame({"online": ["=cmd()"]}), force=False
    )

    assert re.split(r"\s", (tmp_path / "t.csv").read_text()) == ["online", "'=cmd()", ""]
