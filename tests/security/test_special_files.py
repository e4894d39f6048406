"""A pipe, socket or device instead of a file is refused before opening: a read may never end."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from concord.metrics_core.data.text_rows import read_text_rows
from concord.metrics_core.metrics import custom_metric
from concord.pipeline.init.choices import run_id_file
from concord.pipeline.init.edit import read_text
from concord.pipeline.init.tables import Table, TableFile, inspect_file, named_table
from concord.pipeline.params.repository import is_concord_project
from tests.pipeline.refusals import refusal_of

SPECIAL: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
}
READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "published means": ("table.csv", lambda path: read_text_rows(path, "table", "")),
    "own metrics": ("own.py", custom_metric.load_metrics),
    "a table for init": ("test.csv", lambda path: named_table(path, "truth", {})),
    "a file that init would replace": ("params.yaml", read_text),
}


@pytest.fixture(params=SPECIAL)
def special(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    return SPECIAL[request.param]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.bad_input(69, "an error of every command that opens a named file")
def test_a_special_file_is_refused_before_it_is_opened(
    tmp_path: Path, special: Callable[[Path], None], reader: str
) -> None:
    name, opens = READERS[reader]
    special(path := tmp_path / name)

    assert "is a pipe, a socket or a device" in refusal_of(lambda: opens(path))


def test_a_special_file_is_passed_by_where_files_are_looked_for(
    tmp_path: Path, special: Callable[[Path], None]
) -> None:
    for name in ("params.yaml", "parts/0.parquet", "run.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        special(tmp_path / name)
    table = Table(TableFile(tmp_path / "als.csv", "csv", ()), {})

    assert not is_concord_project(tmp_path)
    assert inspect_file(tmp_path / "parts") is None
    assert run_id_file(table, [table], tmp_path) == {}
