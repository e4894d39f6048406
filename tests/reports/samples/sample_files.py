"""What the sample says about its files: quality, provenance and conventions."""

from typing import Any


def quality(name: str, i: int, n_users: int) -> dict[str, Any]:
    short = 40 * (i % 3)
    return {
        "model": name,
        "path": f"data/demo/{name}.parquet",
        "format": "parquet",
        "sha256": f"{i:x}" * 64 if i < 16 else f"{i:064x}",
        "md5": f"{i:032x}",
        "bytes": 183_240 + i,
        "rows": n_users * 20 - 13 * i,
        "items": 1682 - 211 * (i % 5),
        "user_type": "text",
        "item_type": "text",
        "order": "score" if i % 2 else "rank",
        "list_length": {"min": 4 if short else 20, "median": 20, "max": 20},
        "has_scores": bool(i % 2),
        "ties": {"rows": 12 * i, "users": 5 * i, "policy": "item_asc"},
        "duplicates": {"rows": 0, "users": 0, "policy": "error"},
        "rank_score_disagreements": {"users": 3 if i == 1 else 0},
        "infinite_scores": 0,
        "notes": [f"{short} users have fewer than 20 items in their lists."] if short else [],
        "users": {
            "evaluated": n_users,
            "in_truth": n_users,
            "in_lists": n_users - 7 * i,
            "without_list": 7 * i,
            "without_relevant": 166,
            "only_in_lists": 2 * i,
            "shorter_than": {
                "1": 7 * i,
                "3": 7 * i,
                "5": 7 * i + short // 4,
                "10": 7 * i + short // 2,
                "20": 7 * i + short,
            },
        },
        "judged_share": {"1": 0.21, "3": 0.18, "5": 0.16, "10": 0.13 - 0.001 * i, "20": 0.09},
    }


def truth(n_users: int) -> dict[str, Any]:
    return {
        "path": "data/demo/truth.parquet",
        "format": "parquet",
        "sha256": "ab" * 32,
        "rows": 5987,
        "users": n_users,
        "items": 1349,
        "grades": {"1": 3100, "2": 2000, "3": 887},
        "duplicates": {"rows": 0, "users": 0, "policy": "error"},
        "notes": ["166 users have no item of grade 1 or higher."],
    }


def provenance(models: list[str]) -> dict[str, Any]:
    inputs = [{"role": "truth", "path": "data/demo/truth.parquet", "sha256": "ab" * 32}]
    inputs += [
        {"role": m, "path": f"data/demo/{m}.parquet", "sha256": f"{i:064x}"}
        for i, m in enumerate(models)
    ]
    versions = {
        "concord": "0.1.0",
        "duckdb": "2.0.0",
        "numpy": "2.4.6",
        "polars": "2.1.0",
        "python": "3.11",
    }
    return {"inputs": inputs, "versions": versions, "fingerprint": "3f9ac1d20b77"}


CONVENTIONS: dict[str, Any] = {
    "preset": "standard",
    "fingerprint": "3f9ac1d20b77",
    "knobs": [
        {
            "name": "relevance_threshold",
            "value": 1,
            "sentence": "The lowest grade that counts as relevant.",
            "changes": ["P", "R", "F1", "Hit", "AP", "RR", "Rprec", "RBP"],
        },
        {
            "name": "ties",
            "value": "item_asc",
            "sentence": "How items with equal scores are ordered where a file has scores only: by item, ascending.",
            "changes": ["P", "R", "F1", "Hit", "AP", "RR", "nDCG", "Rprec", "RBP", "ERR"],
        },
        {
            "name": "ap_denominator",
            "value": "min_k_relevant",
            "sentence": "What AP divides by: min(k, relevant items).",
            "changes": ["AP"],
        },
        {
            "name": "gain",
            "value": "linear",
            "sentence": "What a grade earns in CG, DCG and nDCG: the grade.",
            "changes": ["nDCG"],
        },
        {
            "name": "discount",
            "value": {"log": 2},
            "sentence": "How much of a gain is left at rank i: 1 / log2(i + 1).",
            "changes": ["nDCG"],
        },
        {
            "name": "ideal",
            "value": "truth_at_k",
            "sentence": "The list that nDCG divides by: the relevant items of the truth, best first, cut at k.",
            "changes": ["nDCG"],
        },
        {
            "name": "round",
            "value": None,
            "sentence": "Rounding of published values: none.",
            "changes": [],
        },
    ],
    "overrides": {"AP": {"ap_denominator": "relevant"}},
}
