"""`data.columns`: what all tables call user and item, said once."""

from pathlib import Path

import polars as pl
import pytest

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.loading.load import load
from concord.pipeline.loading.load_truth import load_truth
from concord.pipeline.params.model import Params
from concord.pipeline.running.connections import workspace
from tests.pipeline.loading.load_project import params_of

SHARED = {"user": "reader", "item": "book"}


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _params(path: str, **changes: object) -> Params:
    params = params_of(path, **changes)
    data = params.data.model_copy(update={"columns": SHARED})
    return params.model_copy(update={"data": data})


def _items(params: Params) -> list[str]:
    with workspace() as connection:
        load(connection, params, "m")
    return pl.read_parquet(Path(params.results.lists) / "m.parquet")["item"].to_list()


def test_lists_and_truth_are_read_under_the_shared_names() -> None:
    Path("a.csv").write_text("reader,book,rank\nu,x,1\nu,y,2\n")
    params = _params("a.csv")

    assert _items(params) == ["x", "y"]
    Path("a.csv").write_text("reader,book\nu,x\n")
    with workspace() as connection:
        assert load_truth(connection, params) == "1 row, 1 user"


def test_a_tables_own_names_go_before() -> None:
    Path("a.csv").write_text("reader,book,id,rank\nu,x,7,1\n")

    assert _items(_params("a.csv", columns={"item": "id"})) == ["7"]


def test_trec_has_no_names() -> None:
    Path("a.run").write_text("u Q0 x 1 2.0 m\n")

    assert _items(_params("a.run")) == ["x"]


def test_a_name_that_is_not_there_is_mended_where_it_stands() -> None:
    Path("a.csv").write_text("reader,title,rank\nu,x,1\n")
    with workspace() as connection, pytest.raises(InputError) as refused:
        load(connection, _params("a.csv"), "m")

    assert "column 'book': is missing" in str(refused.value)
    assert "`data.columns: {item: …}`" in str(refused.value)
