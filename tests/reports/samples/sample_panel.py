"""A convention panel over the sample's values per user: other definitions as other ways to sum them up."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Values = Mapping[str, Floats]
Verdicts = Callable[[Values], dict[str, str]]

# name: the other presets with the same definition, what it changes, what becomes of the values per user
DEFINITIONS: Mapping[str, tuple[list[str], str, Callable[[Floats], Floats]]] = {
    "as pinned": (["standard", "wikipedia"], "", lambda column: column),
    "ranx": (["ranx", "ir_measures"], "user_empty_truth: zero", np.nan_to_num),
    "recbole": (["recbole"], "round: user 4", lambda column: np.round(column, 4)),
    "recohut_ndcg_one": (["recohut_ndcg_one"], "gain: binary", lambda column: np.sign(column)),
    "minnesota": (["minnesota", "lenskit_java"], "discount: jk 2", np.sqrt),
    "torchmetrics": (
        ["torchmetrics", "tf_ranking"],
        "truth_visible: retrieved; gain: exp2",
        lambda column: np.where(column > 0, column**3, np.nan),
    ),
    "evidently": (
        ["evidently"],
        "truth_visible: retrieved; user_no_recs: drop; user_empty_truth: drop",
        lambda column: np.where(column > 0, column, np.nan),
    ),
}


def entry(label: str, values: Values, verdicts: Verdicts) -> dict[str, Any]:
    rows: list[dict[str, Any]] = []
    for name, (presets, says, change) in DEFINITIONS.items():
        columns = {model: change(column) for model, column in values.items()}
        row = _row(name, presets, says, columns, verdicts(columns))
        rows.append(row | _beside(row, rows[0] if rows else row))
    hold = sum(row["top_two_hold"] for row in rows)
    return {
        "metric": label,
        "sentence": f"The order of the top two holds under {hold} of {len(rows)} definitions.",
        "definitions": rows,
        "left_out": [{"preset": "rectools", "why": "ideal full_k needs gain: binary"}],
    }


def _row(
    name: str, presets: list[str], says: str, columns: Values, verdicts: dict[str, str]
) -> dict[str, Any]:
    means = {model: float(np.nanmean(column)) for model, column in columns.items()}
    return {
        "name": name,
        "presets": list(presets),
        "says": says,
        "stands_for": [f"{preset}, as its manual has it." for preset in presets],
        "values": means,
        "ranks": {m: 1 + sum(other > means[m] for other in means.values()) for m in means},
        "verdicts": verdicts,
    }


def _beside(row: dict[str, Any], pinned: dict[str, Any]) -> dict[str, Any]:
    before, after = pinned["ranks"], row["ranks"]
    flips = [
        [a, b] for a in before for b in before if before[a] < before[b] and after[a] > after[b]
    ]
    return {
        "top_two_hold": _top(before) == _top(after),
        "flips": flips,
        "verdicts_changed": [m for m, v in row["verdicts"].items() if v != pinned["verdicts"][m]],
    }


def _top(ranks: Mapping[str, int]) -> list[str]:
    return sorted(ranks, key=lambda model: (ranks[model], model))[:2]
