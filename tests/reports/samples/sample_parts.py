"""The parts of the sample beyond leaderboard and differences, made from the same values per user."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Values = Mapping[str, Mapping[str, Floats]]  # model -> label -> (users,)
Compare = Callable[[Mapping[str, Floats], str], dict[str, Any]]
Parts = dict[str, Any]


@dataclass(frozen=True)
class Told:
    """Against whom, and how."""

    baseline: str
    compare: Compare


GROUPS = ("0 to 5", "6 to 20", "over 20")


def parts(values: Values, baseline: str, primary: tuple[str, ...], compare: Compare) -> Parts:
    """compare : (values of both, model) -> a row of differences of the model to the baseline"""
    others = [model for model in values if model != baseline]
    told = Told(baseline, compare)
    return {
        "distributions": [
            _spread(label, model, baseline, values[model][label] - values[baseline][label])
            for label in primary
            for model in others
        ],
        "best": [row for label in primary for row in _best(values, label)],
        "tradeoffs": [_tradeoff(values, primary[0], x) for x in ("Coverage@10", "ARP@10")],
        "segments": [
            _segmentation("activity", "user", values, primary, told),
            _segmentation("wanted items", "truth_item", values, ("R@10",), told),
            _segmentation("shown items", "recommended_item", values, ("P@10",), told),
        ],
        "warnings": [
            {
                "kind": "user_sets_differ",
                "severity": "serious",
                "who": others,
                "sentence": "Not all models have lists for the same users, and `user_no_recs: zero` decides.",
                "fix": "give every model a list for every user",
            },
            {
                "kind": "ties_at_cutoff",
                "severity": "notice",
                "who": [],
                "sentence": "Scores tie across rank 10 for up to 16 % of the users.",
                "fix": "",
            },
        ],
        "checked": [
            "sampled_candidates",
            "train_items_recommended",
            "future_items",
            "truth_in_train",
            "user_sets_differ",
            "ties_at_cutoff",
        ],
    }


def _spread(label: str, a: str, b: str, gaps: Floats) -> dict[str, Any]:
    gaps = gaps[~np.isnan(gaps)]
    differing = gaps[gaps != 0]
    quantiles = np.percentile(differing, np.arange(101), method="inverted_cdf").tolist()
    n, n_zero = len(gaps), int((gaps == 0).sum())
    return {"label": label, "a": a, "b": b, "n_users": n, "n_zero": n_zero, "quantiles": quantiles}


def _best(values: Values, label: str) -> list[dict[str, Any]]:
    means = {model: float(np.nanmean(of[label])) for model, of in values.items()}
    first = max(means, key=means.__getitem__)
    return [
        {"label": label, "model": m, "probability": float(m == first), "resamples": 1000}
        for m in means
    ]


def _tradeoff(values: Values, y: str, x: str) -> dict[str, Any]:
    upwards = x != "ARP@10"
    points: list[Parts] = []
    for i, (model, of_labels) in enumerate(values.items()):
        at = (0.1 + 0.07 * ((5 * i) % 11), float(np.nanmean(of_labels[y])))
        points.append({"model": model, "x": at[0], "y": at[1]})
    sign = 1 if upwards else -1
    for point in points:
        point["pareto"] = not any(
            other is not point
            and sign * other["x"] >= sign * point["x"]
            and other["y"] >= point["y"]
            for other in points
        )
    return {
        "x": x,
        "y": y,
        "x_higher_is_better": upwards,
        "y_higher_is_better": True,
        "points": points,
    }


def _segmentation(
    name: str, kind: str, values: Values, labels: tuple[str, ...], told: "Told"
) -> dict[str, Any]:
    n_users = len(next(iter(values[told.baseline].values())))
    places = np.arange(n_users) % 7
    chosen = dict(zip(GROUPS, (places == 0, (places > 0) & (places < 4), places > 3), strict=True))  # fmt: skip
    cells: list[Parts] = []
    for label in labels:
        for group, members in chosen.items():
            within = {model: np.where(members, of[label], np.nan) for model, of in values.items()}
            for model in values:
                at = {"label": label, "segment": group, "model": model}
                cells.append(at | _cell(within, model, told, judged=kind != "recommended_item"))
    for cell in cells[1:3]:
        cell["turns"] = cell["verdict"] is not None
    return {
        "name": name,
        "kind": kind,
        "question": f"Does it depend on {name}?",
        "labels": list(labels),
        "segments": [{"name": g, "n_users": int(m.sum())} for g, m in chosen.items()],
        "cells": cells,
        "fewest_in_gap": 30,
        "gaps": [
            {
                "label": labels[0],
                "model": model,
                "low_segment": GROUPS[0],
                "high_segment": GROUPS[2],
                "gap": 0.0123,
                "ci_low": 0.0011,
                "ci_high": 0.0234,
            }
            for model in values
        ],
        "flags": [f"On {labels[0]}, something turns for {name} “{GROUPS[0]}”."],
    }


def _cell(within: Mapping[str, Floats], model: str, told: "Told", *, judged: bool) -> Parts:
    column = within[model]
    known = column[~np.isnan(column)]
    mean, half = float(known.mean()), 1.96 * float(known.std(ddof=1)) / len(known) ** 0.5
    cell: Parts = {
        "mean": mean,
        "ci_low": mean - half,
        "ci_high": mean + half,
        "n_users": len(known),
        "turns": False,
    }
    names = ("difference", "diff_low", "diff_high", "n_nonzero", "p_adjusted", "verdict")
    if model == told.baseline:
        return cell | dict.fromkeys(names)
    row = told.compare(within, model)
    found = (row["difference"], row["ci_low"], row["ci_high"], row["n_nonzero"], row["p"])
    verdict = row["verdict"] if judged else None
    return cell | dict(zip(names, (*found, verdict), strict=True))
