"""Small files are read as frames, others stay files."""

from pathlib import Path

import polars as pl
import pytest

from concord.metrics_core.data import tables


def test_a_small_file_becomes_a_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, file = pl.DataFrame({"user": [1, 2]}), tmp_path / "users.parquet"
    frame.write_parquet(file)
    read = tables.read_if_small(file)
    assert isinstance(read, pl.DataFrame)
    assert read.equals(frame)
    monkeypatch.setattr(tables, "_SMALL", 10)
    assert tables.read_if_small(file) == file


def test_frames_and_missing_files_stay(tmp_path: Path) -> None:
    frame = pl.DataFrame({"user": [1]})
    assert tables.read_if_small(frame) is frame
    assert tables.read_if_small(tmp_path / "missing.parquet") == tmp_path / "missing.parquet"
