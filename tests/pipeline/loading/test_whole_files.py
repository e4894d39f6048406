"""Arrow and parquet files are read whole or refused: truncated, joined, with holes."""

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from concord.metrics_core.checking.problems import InputError
from tests.pipeline.loading.load_project import frame, loaded

TABLE = frame([("u1", "a", 1, 2.5), ("u1", "b", 2, 1.5), ("u2", "c", 1, 0.5)]).to_arrow()


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _batches(new: Any, **options: Any) -> bytes:
    written = io.BytesIO()
    with new(written, TABLE.schema, **options) as writer:
        writer.write_table(TABLE, max_chunksize=1)
    Path("a.arrow").write_bytes(written.getvalue())
    assert len(loaded("a.arrow")[0]) == 3
    return written.getvalue()


@pytest.mark.whole
def test_arrow_stream_truncated_anywhere_is_refused() -> None:
    whole = _batches(pyarrow.ipc.new_stream)
    for size in range(0, len(whole), 7):
        Path("a.arrow").write_bytes(whole[:size])
        with pytest.raises(InputError):
            loaded("a.arrow")


@pytest.mark.whole
@pytest.mark.bad_input(61, "an Arrow file with a hole, or with something in it, is refused")
@pytest.mark.parametrize("legacy", [False, True])
def test_arrow_file_with_a_hole_is_refused(legacy: bool) -> None:
    options = pyarrow.ipc.IpcWriteOptions(use_legacy_format=legacy)
    whole = _batches(pyarrow.ipc.new_file, options=options)
    for at in range(0, len(whole), 40):
        for size in (1, 4, 8, 64):
            for damaged in (
                whole[:at] + whole[at + size :],
                whole[:at] + whole[:size] + whole[at:],
            ):
                Path("a.arrow").write_bytes(damaged)
                with pytest.raises(InputError):
                    loaded("a.arrow")


def test_markers_of_a_format_may_be_values() -> None:
    rows = [("PAR1PAR1", "ARROW1ARROW1", 1, 1.0)]
    pq.write_table(frame(rows).to_arrow(), "a.parquet", use_dictionary=False, compression="none")
    frame(rows).write_ipc("a.arrow")
    assert loaded("a.parquet")[0] == loaded("a.arrow")[0] == rows


def test_empty_batch_is_not_the_end() -> None:
    with pyarrow.ipc.new_stream("a.arrow", TABLE.schema) as stream:
        for piece in (TABLE[:0], TABLE[:1], TABLE[:0], TABLE[1:]):
            for batch in piece.to_batches() or [pa.RecordBatch.from_pylist([], TABLE.schema)]:
                stream.write_batch(batch)
    assert len(loaded("a.arrow")[0]) == 3
