"""`concord init` with tables that hold the rows of several models, stages or splits."""

from pathlib import Path

import pytest

from concord.pipeline.init.project import init
from concord.pipeline.params.model import Params
from tests.pipeline.init.repository import (
    LISTS,
    TRUTH,
    evaluation,
    repository,
    valid_evaluation,
    write,
)


def table_of(column: str, *values: str) -> str:
    """Return lists with a column that has each of these values."""
    header, *rows = LISTS.splitlines()
    lines = [f"{header},{column}", *(f"{row},{value}" for value in values for row in rows)]
    return "\n".join(lines) + "\n"


def initialised(folder: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Params:
    """Return the valid parameters that `init` writes for these files."""
    monkeypatch.chdir(root := repository(folder, files))
    init(None, None, (), dry_run=False, force=False)
    return valid_evaluation(root / "evaluation")


# Files, model -> file and value, and what `init` prints.
FILTERS: list[tuple[dict[str, str], dict[str, tuple[str, str | None]], str]] = [
    (
        {"recs.csv": table_of("Algorithm", "als", "Item KNN")},
        {"als": ("recs", "als"), "Item-KNN": ("recs", "Item KNN")},
        "one model per Algorithm in recs.csv: Item-KNN and als (models.Item-KNN.where)",
    ),
    (
        {"recs_old.csv": table_of("source", "a", "b"), "recs_new.csv": LISTS},
        {"old-a": ("recs_old", "a"), "old-b": ("recs_old", "b"), "new": ("recs_new", None)},
        "one model per source in recs_old.csv: old-a and old-b (models.old-a.where)",
    ),
    (
        {"recs/als.csv": table_of("seed", "1", "2")},
        {"als-1": ("recs/als", "1"), "als-2": ("recs/als", "2")},
        "one model per seed in als.csv: als-1 and als-2 (models.als-1.where)",
    ),
    (
        {f"recs/{name}.csv": table_of("stage", "final", "ranked") for name in ("a", "b")},
        {"a": ("recs/a", "final"), "b": ("recs/b", "final")},
        "rows with stage final are read, not ranked: a and b (models.a.where)",
    ),
    (
        {"recs/als.csv": table_of("step", "candidates", "reranked")},
        {"als": ("recs/als", "reranked")},
        "rows with step reranked are read, not candidates: als (models.als.where)",
    ),
    (
        {"recs/als.csv": table_of("subset", "valid", "test")},
        {"als": ("recs/als", "test")},
        "rows with subset test are read, not valid: als (models.als.where)",
    ),
]


@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_a_column_that_separates_lists_becomes_a_filter(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: int,
) -> None:
    files, models, sentence = FILTERS[number]
    params = initialised(tmp_path, {"data/test.csv": TRUTH, **files}, monkeypatch)
    entries = params.model_dump(include={"models"})["models"]

    expected = {
        name: (f"../{path}.csv", *([] if value is None else [value]))
        for name, (path, value) in models.items()
    }
    assert {
        name: (entry["path"], *entry["where"].values()) for name, entry in entries.items()
    } == expected
    assert f"\n  {sentence}\n" in capsys.readouterr().out


def test_columns_of_sessions_and_of_items_become_no_filter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header, *rows = TRUTH.splitlines()
    truth = "\n".join([f"{header},visit", *(f"{row},1" for row in rows)])
    reasons = table_of("reason", "new").replace("new", "old", 1)
    monkeypatch.chdir(root := repository(tmp_path, {"data/test.csv": truth, "als.csv": reasons}))
    write(root, {"bpr.csv": table_of("visit", "1", "2")})
    init(None, None, (), dry_run=False, force=False)

    models = evaluation(root / "evaluation").model_dump(include={"models"})["models"]
    assert {name: entry["where"] for name, entry in models.items()} == {"als": {}, "bpr": {}}


def test_ground_truth_is_the_test_split_of_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "user_id,item_id,split\nu1,a,test\nu1,b,train\nu2,c,valid\nu2,a,test\n"
    params = initialised(tmp_path, {"truth.csv": text, "als.csv": LISTS}, monkeypatch)

    assert params.data.truth.where == {"split": "test"}
    output = capsys.readouterr().out
    assert "\n  rows with split test are the ground truth (data.truth.where)\n" in output
    assert "truth: 2 rows" in output


def test_the_only_table_with_splits_is_ground_truth_and_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "user_id,item_id,split\nu1,a,test\nu1,b,train\nu2,c,valid\nu2,a,test\n"
    params = initialised(tmp_path, {"ratings.csv": text, "als.csv": LISTS}, monkeypatch)

    assert params.data.truth.path == "../ratings.csv"
    assert params.data.truth.where == {"split": "test"}
    assert params.background["train"].where == {"split": "train"}
    assert "not used" not in capsys.readouterr().out
    more = {"more.csv": text, "ratings.csv": text, "als.csv": LISTS}
    monkeypatch.chdir(repository(tmp_path / "more", more))
    init(None, None, (), dry_run=False, force=False)
    assert "\nnot used\n  more.csv: users and items" in capsys.readouterr().out
