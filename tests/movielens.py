"""MovieLens with five real models, evaluated once for all tests that read the results."""

from pathlib import Path

from tests.project import change_params, copied, movielens, run_all_stages

KS = [1, 5, 10, 20, 50, 100]
FILES = {
    "popularity": "popularity.csv",
    "item-knn": "item-knn.parquet",
    "ease": "ease.parquet",
    "als": "als.jsonl",
    "bpr": "bpr.run",
}
METRICS = [
    "P",
    "R",
    "F1",
    "Hit",
    "AP",
    "RR",
    "nDCG",
    "Rprec",
    "RBP(p=0.8)",
    "Novelty@10",
    "Coverage@10",
    "ILD@10",
]

# trec_eval: AP over all relevant items; nDCG without a threshold; a user without relevant items
# counts as 0;
# equal scores by item descending, compared as single-precision numbers.
AS_TREC_EVAL = {
    "conventions.preset": "custom",
    "conventions.relevance_threshold": 4,
    "conventions.err_max_grade": 5,
    "conventions.ties": "item_desc",
    "conventions.score_dtype": "float32",
    "conventions.ap_denominator": "relevant",
    "conventions.user_empty_truth": "zero",
    "conventions.overrides": {"nDCG": {"relevance_threshold": 0.5}},
}


def finished_movielens(folder: Path) -> None:
    """Run all stages of a project of the MovieLens lists, without DVC."""
    project = copied(folder)
    (project / "movielens").symlink_to(
        movielens()
    )  # so that no result names a folder of this machine
    times = {"time": "timestamp"}
    change_params(
        project,
        {
            "input.allow_outside": True,
            "data.truth": {
                "path": "movielens/test.parquet",
                "columns": {"grade": "rating", **times},
            },
            "models": {name: {"path": f"movielens/{file}"} for name, file in FILES.items()},
            "evaluation.metrics": METRICS,
            "background": {
                "train": {"path": "movielens/train.parquet", "columns": times},
                "items": {
                    "path": "movielens/items.parquet",
                    "columns": {"categories": "genres", "title": "title"},
                },
            },
            "segments": {
                "activity": {"by": "activity", "edges": [0, 20, 50]},
                "relevant items": {"by": "truth_item", "shares": [0.5, 0.8]},
                "recommended items": {"by": "recommended_item", "shares": [0.5, 0.8]},
            },
            "evaluation.ks": KS,
            "comparison.baseline": "popularity",
            "comparison.primary": ["nDCG@10", "R@20"],
            "comparison.min_effect": 0.005,
            **AS_TREC_EVAL,
        },
    )
    run_all_stages(project)
