"""Print a digest of each part of what Concord computes from the demo's lists, as JSON.

The tests run this script under many versions.

A digest is over all digits of all floats, so that another last bit is another digest.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import concord as cc
from concord.metrics_core.conventions.presets import defines
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.label import expand
from concord.metrics_core.results.stored import to_content
from concord.typing import PresetName, TableColumns

DEMO = Path(sys.argv[1])
MODELS = {
    "popularity": DEMO / "popularity.csv",
    "item-knn": DEMO / "item-knn.parquet",
    "ease": DEMO / "ease.jsonl.gz",
    "ease-recent": DEMO / "ease-recent",
    "als": DEMO / "als.run.gz",
}
TRUTH = DEMO / "truth.parquet"
TRAIN, ITEMS = DEMO / "train.parquet", DEMO / "items.parquet"
COLUMNS: dict[str, Any] = {
    "popularity": {"user": "customer", "item": "product", "rank": "position"},
    "items": {"categories": "category", "title": "title", "group": "maker"},
}
PARAMETERS = {"RBP": "(p=0.8)", "HLU": "(halflife=5)", "Q": "(beta=1)", "O": "(beta=1)"}
KS = (1, 5, 20)
PRESETS: tuple[PresetName, ...] = (
    "bellei",
    "wikipedia_exp",
    "ir_measures",
    "rectools",
    "replay",
    "lenskit",
    "elliot",
    "cornac",
    "torchmetrics",
)
BY_T = {
    *("ci_low", "ci_high", "single_low", "single_high", "diff_low", "diff_high"),
    *("level", "p", "p_adjusted", "detectable", "corrected"),
}
SEGMENTS: dict[str, dict[str, Any]] = {
    "activity": {"by": "activity", "edges": [0, 20, 50]},
    "channel": {"by": "user", "column": "channel"},
    "relevant items": {"by": "truth_item", "shares": [0.5, 0.8]},
    "recommended items": {"by": "recommended_item", "shares": [0.5, 0.8]},
}


def main() -> None:
    results = {f"{model}, standard": _evaluated(model, "standard") for model in MODELS}
    results |= {f"item-knn, {name}": _evaluated("item-knn", name) for name in PRESETS}
    results |= {f"comparison, {part}": items for part, items in _compared().items()}
    reported = {part: _digest(_without_t(items)) for part, items in results.items()}
    drawn = [each for values in results.values() for each in _by_t(values)]
    reported["intervals and p values"] = _digest(drawn)
    reported["intervals and p values, to 6 digits"] = _digest([f"{each:.6g}" for each in drawn])
    print(json.dumps(reported, indent=1))


def _evaluated(model: str, preset: PresetName) -> Any:
    """Return the values of all users, means and intervals, or the message of a refusal."""
    defined = (each for each in CATALOGUE if defines(preset, each.name))
    names = [each.name for each in defined if not each.reads_subtopics]
    labels = expand([f"{name}{PARAMETERS.get(name, '')}" for name in names], KS)
    columns: TableColumns = {"recs": COLUMNS.get(model, {}), "items": COLUMNS["items"]}
    try:
        result = cc.evaluate(
            MODELS[model],
            TRUTH,
            metrics=[str(label) for label in labels],
            conventions=cc.preset(preset, err_max_grade=3, fairness_target="catalogue"),
            columns=columns,
            train=TRAIN,
            items=ITEMS,
        )
    except cc.InputError as error:
        return str(error).replace(str(DEMO), "")
    return result.per_user.to_dict(as_series=False), result.to_frame().to_dicts()


def _compared() -> dict[str, Any]:
    """Return all of a comparison except versions."""
    comparison = cc.compare(
        {model: MODELS[model] for model in ("popularity", "item-knn", "als")},
        TRUTH,
        metrics=["nDCG@10", "R@20", "AP@10", "Rprec", "ERR@10", "Coverage@10", "Gini@10", "ILD@10"],
        baseline="popularity",
        primary=["nDCG@10", "R@20"],
        min_effect="2%",
        conventions="standard",
        users=DEMO / "users.parquet",
        segments=SEGMENTS,
        gate={"guardrails": {"nDCG@10": "2%"}, "success": ["R@20"]},
        columns=COLUMNS,
        wilcoxon=True,
        train=TRAIN,
        items=ITEMS,
    )
    content = to_content(comparison)
    del content["provenance"]
    return content


def _without_t(items: Any) -> Any:
    """Return the content without numbers of Student's t distribution."""
    if isinstance(items, dict):
        return {key: _without_t(each) for key, each in items.items() if key not in BY_T}
    return [_without_t(each) for each in items] if isinstance(items, list | tuple) else items


def _by_t(items: Any) -> Iterator[float]:
    """Yield the numbers that come from Student's t distribution."""
    if isinstance(items, dict):
        for key, each in items.items():
            if key not in BY_T:
                yield from _by_t(each)
            elif each is not None:
                yield each
    elif isinstance(items, list | tuple):
        for each in items:
            yield from _by_t(each)


def _digest(items: Any) -> str:
    text = json.dumps(items, sort_keys=True, default=str).replace(str(DEMO), "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
