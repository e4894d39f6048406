"""`concord init` in repositories with several data sets, and tables that are no lists."""

from pathlib import Path

import pytest

from concord.pipeline.init.discovery import Discovery, discover
from concord.pipeline.init.model_names import baseline_of
from tests.pipeline.init.repository import ITEMS, LISTS, TRAIN, TRUTH, repository

SETS = ("mini", "tiny")
MATRIX = {f"runs/{each}-{name}/recs.csv": LISTS for each in SETS for name in ("als", "popular")}
SCORED = "user_id,item_id,rating,score\nu1,a,5,0.5\nu1,b,3,0.25\n"


def used(root: Path, truth: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the files of the tables that are used with a ground truth, and of others why not."""
    found = discovered(root, truth)
    tables = {**found.tables, **found.models}
    paths = {name: table.path.relative_to(root).as_posix() for name, table in tables.items()}
    skipped = {each.path.relative_to(root).as_posix(): each.reason for each in found.skipped}
    return {name: path for name, path in paths.items() if name != "truth"}, skipped


def discovered(root: Path, truth: str) -> Discovery:
    return discover(root, root / "evaluation/results", [root / truth], truth=root / truth)


DATA_SETS: dict[str, tuple[dict[str, str], str, dict[str, str], set[str]]] = {
    "folders of truths, prefixes of models": (
        {
            **MATRIX,
            **{f"data-split/{each}/test.csv": TRUTH for each in SETS},
            **{f"data/ml-{each}/movies.csv": ITEMS for each in SETS},
            "data/ml-mini/users.csv": "user_id,plan\nu1,x\n",
        },
        "data-split/tiny/test.csv",
        {
            "als": "runs/tiny-als/recs.csv",
            "popular": "runs/tiny-popular/recs.csv",
            "items": "data/ml-tiny/movies.csv",
        },
        {
            "data-split/mini/test.csv",
            "data/ml-mini/movies.csv",
            "data/ml-mini/users.csv",
            "runs/mini-als/recs.csv",
            "runs/mini-popular/recs.csv",
        },
    ),
    "a shared catalogue and model": (
        {
            **{f"truth/{each}.csv": TRUTH for each in ("web-1", "app")},
            "out/web-1/als/final.csv": LISTS,
            "out/web-1/app-like/final.csv": LISTS,
            "out/app/als/final.csv": LISTS,
            "out/popular.csv": LISTS,
            "items.csv": ITEMS,
        },
        "truth/web-1.csv",
        {
            "web-1-als-final": "out/web-1/als/final.csv",
            "web-1-app-like-final": "out/web-1/app-like/final.csv",
            "popular": "out/popular.csv",
            "items": "items.csv",
        },
        {"truth/app.csv", "out/app/als/final.csv"},
    ),
    "the name of one is the start of another's": (
        {
            **{f"data/{each}/test.csv": TRUTH for each in ("ml", "ml-20m")},
            **{f"runs/{each}-als.csv": LISTS for each in ("ml", "ml-20m")},
        },
        "data/ml/test.csv",
        {"ml-als": "runs/ml-als.csv"},
        {"data/ml-20m/test.csv", "runs/ml-20m-als.csv"},
    ),
    "folds": (
        {
            **{f"fold{n}/test.csv": TRUTH for n in (1, 2)},
            **{f"fold{n}/train.csv": TRAIN for n in (1, 2)},
            **{f"fold{n}/recs/{name}.csv": LISTS for n in (1, 2) for name in ("als", "bpr")},
        },
        "fold2/test.csv",
        {"als": "fold2/recs/als.csv", "bpr": "fold2/recs/bpr.csv", "train": "fold2/train.csv"},
        {"fold1/test.csv", "fold1/train.csv", "fold1/recs/als.csv", "fold1/recs/bpr.csv"},
    ),
    "lists alone": (
        {**MATRIX, "data/tiny/test.csv": TRUTH},
        "data/tiny/test.csv",
        {"als": "runs/tiny-als/recs.csv", "popular": "runs/tiny-popular/recs.csv"},
        {"runs/mini-als/recs.csv", "runs/mini-popular/recs.csv"},
    ),
    "one data set": (
        {
            "data/test.csv": TRUTH,
            "data/train.csv": TRAIN,
            "data/recs_als.csv": LISTS,
            "recs/bpr_test.csv": LISTS,
            "recs/bpr_2_run.csv": LISTS,
        },
        "data/test.csv",
        {
            "als": "data/recs_als.csv",
            "bpr_2_run": "recs/bpr_2_run.csv",
            "bpr_test": "recs/bpr_test.csv",
            "train": "data/train.csv",
        },
        set(),
    ),
}


@pytest.mark.parametrize("name", DATA_SETS)
def test_tables_of_other_data_sets_than_the_ground_truths_are_not_used(
    tmp_path: Path, name: str
) -> None:
    files, truth, tables, others = DATA_SETS[name]
    observed, skipped = used(repository(tmp_path, files), truth)

    assert observed == tables
    assert skipped == dict.fromkeys(others, "another data set")


@pytest.mark.parametrize(
    "files",
    [
        ["experiments/baseline/test", "experiments/baseline/recs", "experiments/bert/recs"],
        ["als/test", "als/recs", "ease/recs"],
        ["data/v1/test", "recs/als-v1", "recs/als-v2"],
        ["movie/test", "movie-als", "graph-als"],
        ["2024/test", "als-2025", "als-2024"],
        ["data/test", "data/valid", "recs/test/als", "recs/test/bpr"],
    ],
)
def test_a_folder_of_the_only_ground_truth_names_no_data_set(
    tmp_path: Path, files: list[str]
) -> None:
    truth, *others = files
    tables = {f"{name}.csv": TRUTH if name == "data/valid" else LISTS for name in others}
    root = repository(tmp_path, {f"{truth}.csv": TRUTH, **tables})
    models = discover(root, root / "evaluation/results").models

    assert len(models) == 2


@pytest.mark.parametrize(
    ("files", "models", "skipped"),
    [
        (
            {"out/als/recs-eval.csv": LISTS, "out/als/pred-eval.csv": SCORED},
            {"eval": "out/als/recs-eval.csv"},
            {"out/als/pred-eval.csv": "has grades next to scores: predictions, not lists"},
        ),
        (
            {"recs/als-recs.csv": LISTS, "recs/als-pred.csv": LISTS},
            {"als": "recs/als-recs.csv"},
            {"recs/als-pred.csv": "predictions next to recommendations"},
        ),
        (
            {f"{kind}/{name}.csv": LISTS for kind in ("recs", "preds") for name in ("als", "b")},
            {"als": "recs/als.csv", "b": "recs/b.csv"},
            {f"preds/{name}.csv": "predictions next to recommendations" for name in ("als", "b")},
        ),
        (
            {"out/als_recs.csv": LISTS, "out/bpr_preds.csv": LISTS},
            {"als": "out/als_recs.csv", "bpr": "out/bpr_preds.csv"},
            {},
        ),
    ],
)
def test_predictions_for_held_out_pairs_are_no_model(
    tmp_path: Path, files: dict[str, str], models: dict[str, str], skipped: dict[str, str]
) -> None:
    root = repository(tmp_path, {"data/test.csv": TRUTH, **files})

    assert used(root, "data/test.csv") == (models, skipped)


@pytest.mark.parametrize(
    ("models", "baseline"),
    [
        ("als mini-popular", "mini-popular"),
        ("als random_forest ease", "als"),
        ("random-forest tiny-random", "tiny-random"),
        ("popularity-als popularity", "popularity"),
        ("als popart", "als"),
        ("sasrec baseline_als", "sasrec"),
    ],
)
def test_a_baseline_is_recognised_behind_a_prefix(models: str, baseline: str) -> None:
    assert baseline_of(models.split()) == baseline
