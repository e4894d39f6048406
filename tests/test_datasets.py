"""The data that the package ships."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import pytest

import concord as cc
from concord.typing import TableColumns
from tests.project import ROOT

FOLDER = ROOT / "concord" / "datasets" / "demo"
MAX_BYTES = 300_000
DEMO = cc.datasets.load_demo()


def _data(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_script_makes_the_shipped_files_bit_for_bit(tmp_path: Path) -> None:
    script = ROOT / "data" / "demo" / "make_excerpt.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True)

    assert _data(tmp_path) == _data(FOLDER)


def test_the_demo_is_small_and_has_enough_users() -> None:
    assert sum(map(len, _data(FOLDER).values())) < MAX_BYTES
    assert DEMO.truth["user"].n_unique() == len(DEMO.users) == 300


def test_a_user_of_the_demo_has_the_values_of_the_full_data() -> None:
    """Also of the models that the full demo stores in other formats."""
    data = ROOT / "data" / "demo"
    names: TableColumns = {"recs": {"user": "customer", "item": "product", "rank": "position"}}
    full: dict[str, tuple[str, TableColumns | None]] = {
        "popularity": ("popularity.csv", names),
        "item-knn": ("item-knn.parquet", None),
        "ease": ("ease.jsonl.gz", None),
        "ease-recent": ("ease-recent", None),
        "als": ("als.run.gz", None),
    }

    assert list(DEMO.models) == list(full)
    for name, (file, columns) in full.items():
        expected = cc.evaluate(
            data / file,
            data / "truth.parquet",
            metrics=["nDCG@10", "AP"],
            columns=columns,
            only_users=DEMO.users["user"],
        )
        result = cc.evaluate(DEMO.models[name], DEMO.truth, metrics=["nDCG@10", "AP"])
        assert result.per_user.equals(expected.per_user), name


def test_the_demo_is_frozen() -> None:
    assert [field.name for field in fields(DEMO)] == ["models", "truth", "train", "items", "users"]
    with pytest.raises(FrozenInstanceError):
        DEMO.truth = DEMO.train  # type: ignore[misc]
