"""Arrow and parquet files are read whole or not at all: cut and joined ones are refused."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from concord.metrics_core.checking.problems import InputError
from tests.pipeline.loading.load_project import frame, loaded, refusal

ROWS = [("u1", "a", 1, 2.5), ("u1", "b", 2, 1.5), ("u2", "c", 1, 0.5)]
OTHERS = [("v1", "a", 1, 2.5), ("v1", "b", 2, 1.5), ("v2", "c", 1, 0.5)]


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _content(form: str, rows: list[tuple[str, str, int, float]]) -> bytes:
    into = io.BytesIO()
    table = frame(rows)
    if form == "stream":
        with pyarrow.ipc.new_stream(into, table.to_arrow().schema) as writer:
            writer.write_table(table.to_arrow(), max_chunksize=1)
    elif form == "arrow":
        table.write_ipc(into)
    else:
        table.write_parquet(into)
    return into.getvalue()


@pytest.mark.whole
@pytest.mark.bad_input(61, "a stream without its end is refused")
def test_a_stream_is_read_whole_or_refused_wherever_it_is_cut() -> None:
    whole = _content("stream", ROWS)
    Path("a.arrow").write_bytes(whole)
    assert len(loaded("a.arrow")[0]) == 3
    for size in range(0, len(whole), 7):
        Path("a.arrow").write_bytes(whole[:size])
        with pytest.raises(InputError):
            loaded("a.arrow")
    Path("a.arrow").write_bytes(whole[:-8])
    with pytest.raises(
        InputError, match="is an Arrow stream without its end: what follows is lost"
    ):
        loaded("a.arrow")


@pytest.mark.bad_input(61, "files written one after the other into one are refused")
@pytest.mark.parametrize("form", ["stream", "arrow", "parquet"])
def test_two_files_in_one_are_refused(form: str) -> None:
    name = "a.parquet" if form == "parquet" else "a.arrow"
    Path(name).write_bytes(_content(form, ROWS) + _content(form, OTHERS))
    assert refusal(name) == (
        f"{name}: goes on after its end: it is several files in one, of which one would be read\n"
        "  fix: write the files as one table, or give them as a folder of parts"
    )


@pytest.mark.whole
@pytest.mark.bad_input(61, "an Arrow file with a hole, or with something in it, is refused")
@pytest.mark.parametrize("options", [{}, {"use_legacy_format": True}], ids=["new", "old"])
def test_a_hole_in_an_arrow_file_is_refused(options: dict[str, bool]) -> None:
    table, into = frame(ROWS).to_arrow(), io.BytesIO()
    how = pyarrow.ipc.IpcWriteOptions(**options)
    with pyarrow.ipc.new_file(into, table.schema, options=how) as writer:
        writer.write_table(table, max_chunksize=1)
    whole = into.getvalue()
    Path("a.arrow").write_bytes(whole)
    assert len(loaded("a.arrow")[0]) == 3
    for at in range(0, len(whole), 40):
        for size in (1, 4, 8, 64):
            Path("a.arrow").write_bytes(whole[:at] + whole[at + size :])
            with pytest.raises(InputError):
                loaded("a.arrow")
            Path("a.arrow").write_bytes(whole[:at] + whole[:size] + whole[at:])
            with pytest.raises(InputError):
                loaded("a.arrow")


def test_an_arrow_file_without_rows_is_no_damage() -> None:
    table = frame(ROWS).to_arrow()
    with pyarrow.ipc.new_file("a.arrow", table.schema):
        pass
    assert "damaged" not in refusal("a.arrow")


def test_rows_that_were_appended_to_a_parquet_file_are_refused() -> None:
    Path("a.parquet").write_bytes(_content("parquet", ROWS))
    with Path("a.parquet").open("ab") as opened:
        pq.write_table(frame(OTHERS).to_arrow(), opened)
    assert "several files in one" in refusal("a.parquet")


def test_the_marks_of_a_format_may_stand_in_its_values() -> None:
    rows = [("PAR1PAR1", "ARROW1ARROW1", 1, 1.0)]
    pq.write_table(frame(rows).to_arrow(), "a.parquet", use_dictionary=False, compression="none")
    frame(rows).write_ipc("a.arrow")
    assert loaded("a.parquet")[0] == loaded("a.arrow")[0] == rows


def test_an_empty_batch_and_an_empty_row_group_are_no_end() -> None:
    table = frame(ROWS).to_arrow()
    with pyarrow.ipc.new_stream("a.arrow", table.schema) as stream:
        for piece in (table[:0], table[:1], table[:0], table[1:]):
            for batch in piece.to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]:
                stream.write_batch(batch)
    assert len(loaded("a.arrow")[0]) == 3
