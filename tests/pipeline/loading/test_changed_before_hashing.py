"""An input that changes after its rows were read and before it was hashed: the hash would be that of other rows."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.reading import quality
from concord.metrics_core.reading.hashes import Hashes, hashes
from tests.pipeline.loading.load_project import loaded, loaded_truth


@pytest.mark.parametrize("order", ["by user", "rows in any order"])
@pytest.mark.parametrize("change", ["grows", "is removed"])
@pytest.mark.parametrize("read", [loaded, loaded_truth])
def test_nothing_is_kept(
    read: Any, change: str, order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pl.DataFrame({"user": [1, 1, 2], "item": [7, 8, 7], "rank": [1, 2, 1]})
    rows = rows if order == "by user" else rows.sort("rank", "user")
    path = Path("a.csv")
    rows.write_csv(path)

    def late(of: Path) -> Hashes:
        if change == "grows":
            path.write_text(path.read_text() + "3,7,1\n")
        else:
            path.unlink()
        return hashes(of)

    monkeypatch.setattr(quality, "hashes", late)

    with pytest.raises(InputError, match="while it was read"):
        read("a.csv")
    assert not [file for file in Path("results").rglob("*") if file.is_file()]
