"""The metrics of the sample, per user, from a matrix of hits (users, ranks); grades are 0 or 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DEPTH = 20
KS = (1, 3, 5, 10, 20)
_RANKS = np.arange(1, DEPTH + 1)
_DISCOUNT = 1 / np.log2(_RANKS + 1)
_FORMULAS = {
    "P": "P@k = hits in the top k / k",
    "R": "R@k = hits in the top k / relevant items",
    "F1": "F1@k = 2 P R / (P + R)",
    "Hit": "Hit@k = 1 if the top k holds a hit, else 0",
    "AP": "AP@k = sum of P@i over the ranks of hits / min(k, relevant items)",
    "RR": "RR@k = 1 / rank of the first hit",
    "nDCG": "nDCG@k = DCG@k / DCG@k of the ideal list",
    "Rprec": "Rprec = hits in the top R / R, R = relevant items",
    "RBP(p=0.8)": "RBP@k = (1 - p) * sum of p^(i - 1) over the ranks of hits",
    "ERR": "ERR@k = expected 1 / rank at which the user stops",
}


def catalogue(primary: Sequence[str], min_effect: float) -> list[dict[str, Any]]:
    return [
        {
            "label": label,
            "name": stem.partition("(")[0],
            "stem": stem,
            "k": k,
            "higher_is_better": True,
            "primary": label in primary,
            "min_effect": f"{min_effect:g}",
            "family": "accuracy",
            "formula": formula,
            "source": "",
        }
        for stem, formula in _FORMULAS.items()
        for k in ((None,) if stem == "Rprec" else KS)
        for label in [stem if k is None else f"{stem}@{k}"]
    ]


def per_user(hits: NDArray[np.bool_], relevant: NDArray[np.int64]) -> dict[str, Floats]:
    """Label to values (users,); NaN where the user has no relevant item."""
    columns: dict[str, Floats] = {}
    h = hits.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in KS:
            columns |= {f"{name}@{k}": column for name, column in _at(h, relevant, k).items()}
        within_r = h * (relevant[:, None] >= _RANKS)
        columns["Rprec"] = within_r.sum(axis=1) / relevant
    return {label: np.where(relevant == 0, np.nan, column) for label, column in columns.items()}


def _at(h: Floats, relevant: NDArray[np.int64], k: int) -> dict[str, Floats]:
    top = h[:, :k]
    found = top.sum(axis=1)
    precision, recall = found / k, found / relevant
    precision_at_i = top.cumsum(axis=1) / _RANKS[:k]
    first = np.where(found > 0, 1 / (top.argmax(axis=1) + 1), 0.0)
    ideal = np.concatenate([[0.0], _DISCOUNT.cumsum()])[np.minimum(relevant, k)]
    goes_on = np.cumprod(1 - top * 0.5, axis=1) / (1 - top * 0.5)
    return {
        "P": precision,
        "R": recall,
        "F1": np.where(found > 0, 2 * precision * recall / (precision + recall), 0.0),
        "Hit": (found > 0).astype(np.float64),
        "AP": (precision_at_i * top).sum(axis=1) / np.minimum(relevant, k),
        "RR": first,
        "nDCG": (top * _DISCOUNT[:k]).sum(axis=1) / ideal,
        "RBP(p=0.8)": 0.2 * (top * 0.8 ** (_RANKS[:k] - 1)).sum(axis=1),
        "ERR": (goes_on * top * 0.5 / _RANKS[:k]).sum(axis=1),
    }
