"""The content of comparison.json as the compare stage writes it, from simulated lists: real values, real intervals.

Plain dictionaries, so that tests can change them; `typed` makes comparisons of them.
"""

import copy
import json
import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reports.samples import sample_gate, sample_metrics, sample_panel, sample_parts
from tests.reports.samples.sample_files import CONVENTIONS, provenance, quality, truth

Floats = NDArray[np.float64]
Content = dict[str, Any]

BASELINE = "popularity"
PRIMARY = ("nDCG@10", "R@20")
MIN_EFFECT = 0.005
CONFIDENCE = 0.95
Z = 1.959963984540054  # of 95 %
FIVE = {"popularity": 0.10, "item-knn": 0.106, "ease": 0.165, "als": 0.1645, "random-walk": 0.0985}


def five_models() -> Content:
    return build(FIVE)


def two_models() -> Content:
    return build({"popularity": 0.10, "ease": 0.2})


def gated() -> Content:
    """Five models and what a gate decides on two of them: one is worse, one is undecided."""
    content = five_models()
    content["gate"] = sample_gate.decision(
        content["differences"], BASELINE, ("ease", "random-walk")
    )
    return content


def many_models(n: int, *, every_pair: bool = True) -> Content:
    skills = np.random.default_rng(7).uniform(0.05, 0.26, n - 1)
    families = ["als", "ease", "item-knn", "two-tower"]
    names = [f"{families[i % len(families)]}-{i}" for i in range(n - 1)]
    skill_of = dict(zip(names, skills.tolist(), strict=True))
    return build({BASELINE: 0.10, **skill_of}, n_users=1000, every_pair=every_pair)


def hostile_names() -> Content:
    """Names that params.yaml would refuse, should they ever get this far."""
    comparison = build({"popularity": 0.1, HOSTILE[0]: 0.2, HOSTILE[1]: 0.15, HOSTILE[2]: 0.05})
    comparison["title"] = HOSTILE[0]
    comparison["verdicts"] += HOSTILE
    comparison["quality"]["popularity"]["notes"] = list(HOSTILE)
    comparison["covers"] = HOSTILE[1]
    for warning, text in zip(comparison["warnings"], HOSTILE, strict=False):
        warning.update(sentence=text, fix=f"`{text}`")
    segmentation = json.dumps(comparison["segments"][0])
    renamed = segmentation.replace("0 to 5", json.dumps(HOSTILE[1])[1:-1])
    comparison["segments"][0] = json.loads(renamed) | {"name": HOSTILE[2], "question": HOSTILE[0]}
    return comparison


HOSTILE = [
    '"><script>alert(1)</script>',
    "</script></title></style><img src=x onerror=alert(1)>",
    "`a|b` {{ 7 * 7 }} <svg onload='alert(1)'> ' onmouseover='alert(1)",
]


def without_numbers() -> Content:
    """Every number that may be missing is missing."""
    comparison = five_models()
    for row in comparison["leaderboard"]:
        row.update(
            mean=None,
            ci_low=None,
            ci_high=None,
            n_users=0,
            best=False,
            indistinguishable_from_best=None,
        )
    for row in comparison["differences"]:
        row.update(
            dict.fromkeys(("mean_a", "mean_b", "difference", "ci_low", "ci_high", "relative"))
        )
        row.update(
            dict.fromkeys(
                ("effect_size", "p", "p_adjusted", "better", "equal", "worse", "min_effect")
            )
        )
        row.update(verdict="no_interval", n_users=0, n_nonzero=0)
    for entry in comparison["panel"]:
        for definition in entry["definitions"]:
            models = definition["values"]
            definition.update(values=dict.fromkeys(models), ranks=dict.fromkeys(models))
            definition.update(verdicts=dict.fromkeys(definition["verdicts"], "no_interval"))
            definition.update(flips=[], verdicts_changed=[], top_two_hold=True)
    for found in comparison["quality"].values():
        found["judged_share"] = dict.fromkeys(found.get("judged_share", {}))
    return comparison


def one_model() -> Content:
    return build({"popularity": 0.10})


def against_baseline_only() -> Content:
    return build(FIVE, every_pair=False)


def with_long_names(comparison: Content) -> Content:
    """Every challenger gets a name of 100 characters, and a dozen primary metrics."""
    text = json.dumps(comparison)
    for model in sorted(comparison["models"], key=len, reverse=True):
        if model != BASELINE:
            text = text.replace(f'"{model}"', f'"{model.ljust(100, "x")}"')
    renamed: Content = json.loads(text)
    renamed["primary"] = [m["label"] for m in renamed["metrics"] if m["k"] in {10, 20}][:12]
    return renamed


def build(skills: dict[str, float], *, n_users: int = 8000, every_pair: bool = True) -> Content:
    rng = np.random.default_rng(11)
    relevant = rng.integers(0, 9, n_users)
    taste = rng.random((n_users, sample_metrics.DEPTH))
    values = {
        name: sample_metrics.per_user(_hits(rng, taste, skill, relevant), relevant)
        for name, skill in skills.items()
    }
    metrics = sample_metrics.catalogue(PRIMARY, MIN_EFFECT)
    labels = [metric["label"] for metric in metrics]
    differences = _differences(values, labels, every_pair=every_pair)
    return {
        "schema": 5,
        "title": "Demo shop",
        "baseline": BASELINE,
        "primary": list(PRIMARY),
        "confidence": CONFIDENCE,
        "models": list(skills),
        "metrics": metrics,
        "ks": list(sample_metrics.KS),
        "leaderboard": _leaderboard(values, labels, differences),
        "differences": differences,
        "panel": [_panel_entry(values, label) for label in PRIMARY],
        "verdicts": _verdicts(differences, list(skills)),
        **sample_parts.parts(values, BASELINE, PRIMARY, _compared),
        "gate": None,
        "quality": {name: quality(name, i, n_users) for i, name in enumerate(skills)}
        | {"truth": truth(n_users)},
        "conventions": copy.deepcopy(CONVENTIONS),
        "provenance": provenance(list(skills)),
        "covers": "The intervals and tests cover other users like these, with these lists held fixed. They do not"
        " cover another training seed, another split of the data or another time.",
        "replicates": None,
    }


def _compared(values: Any, model: str) -> dict[str, Any]:
    return _difference({m: {"P@10": c} for m, c in values.items()}, model, BASELINE, "P@10")


def _panel_entry(values: Any, label: str) -> dict[str, Any]:
    def verdicts(columns: sample_panel.Values) -> dict[str, str]:
        by_label = {model: {label: column} for model, column in columns.items()}
        others = [model for model in columns if model != BASELINE]
        return {m: _difference(by_label, m, BASELINE, label)["verdict"] for m in others}

    return sample_panel.entry(label, {m: values[m][label] for m in values}, verdicts)


def _hits(
    rng: np.random.Generator, taste: Floats, skill: float, relevant: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Hits per user and rank: likelier near the top, partly shared between models, at most the relevant items."""
    luck = np.where(rng.random(taste.shape) < 0.8, taste, rng.random(taste.shape))
    chance = skill / np.sqrt(np.arange(1, taste.shape[1] + 1)) * np.sqrt(relevant / 4)[:, None]
    hits = luck < chance
    kept: NDArray[np.bool_] = hits & (hits.cumsum(axis=1) <= relevant[:, None])
    return kept


def _leaderboard(
    values: Any, labels: list[str], differences: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    rows = []
    for label in labels:
        best = max(_mean(values[model][label]) for model in values)
        leader = next(model for model in values if _mean(values[model][label]) == best)
        for model in values:
            column = values[model][label]
            known = column[~np.isnan(column)]
            mean, half = _mean(column), Z * float(known.std(ddof=1)) / math.sqrt(len(known))
            rows.append(
                {
                    "model": model,
                    "label": label,
                    "mean": mean,
                    "ci_low": mean - half,
                    "ci_high": mean + half,
                    "n_users": len(known),
                    "n_undefined": len(column) - len(known),
                    "best": mean == best,
                    "indistinguishable_from_best": _close(model, leader, label, differences),
                }
            )
    return rows


def _mean(column: Floats) -> float:
    return float(np.nanmean(column))


def _close(model: str, leader: str, label: str, differences: list[dict[str, Any]]) -> bool | None:
    if label not in PRIMARY:
        return None
    between = [
        d for d in differences if d["label"] == label and {d["a"], d["b"]} == {model, leader}
    ]
    return all(d["p_adjusted"] is None or d["p_adjusted"] > 1 - CONFIDENCE for d in between)


def _differences(values: Any, labels: list[str], *, every_pair: bool) -> list[dict[str, Any]]:
    others = [name for name in values if name != BASELINE]
    pairs = [(name, BASELINE) for name in others] + (
        list(combinations(others, 2)) if every_pair else []
    )
    rows = [_difference(values, a, b, label) for label in labels for a, b in pairs]
    for primary in (True, False):
        _adjust([row for row in rows if row["primary"] is primary and row["p"] is not None])
    return rows


def _difference(values: Any, a: str, b: str, label: str) -> dict[str, Any]:
    gap = values[a][label] - values[b][label]
    gap = gap[~np.isnan(gap)]
    n, difference, spread = len(gap), float(gap.mean()), float(gap.std(ddof=1))
    error = spread / math.sqrt(n)
    low, high = difference - Z * error, difference + Z * error
    mean_a, mean_b = (_mean(values[name][label]) for name in (a, b))
    return {
        "label": label,
        "a": a,
        "b": b,
        "vs_baseline": b == BASELINE,
        "primary": label in PRIMARY,
        "mean_a": mean_a,
        "mean_b": mean_b,
        "difference": difference,
        "ci_low": low,
        "ci_high": high,
        "relative": difference / mean_b if mean_b else None,
        "effect_size": difference / spread if spread else None,
        "better": float((gap > 0).mean()),
        "equal": float((gap == 0).mean()),
        "worse": float((gap < 0).mean()),
        "n_users": n,
        "n_nonzero": int((gap != 0).sum()),
        "caution": False,
        "p": math.erfc(abs(difference) / error / math.sqrt(2)) if error else None,
        "p_adjusted": None,
        "p_wilcoxon": None,
        "test": "t",
        "adjustment": "holm" if label in PRIMARY else "bh",
        "min_effect": MIN_EFFECT,
        "verdict": verdict_of(low, high) if error else "identical",
    }


def verdict_of(low: float, high: float) -> str:
    if low > MIN_EFFECT or high < -MIN_EFFECT:
        return "better" if low > 0 else "worse"
    if low > -MIN_EFFECT and high < MIN_EFFECT:
        return "equivalent"
    if low > 0 or high < 0:
        return "better_below_threshold" if low > 0 else "worse_below_threshold"
    return "undecided"


def _adjust(family: list[dict[str, Any]]) -> None:
    ordered = sorted(family, key=lambda row: float(row["p"]))
    n, last = len(ordered), 0.0
    for i, row in enumerate(ordered):
        last = max(last, min(1.0, row["p"] * (n - i)))
        row["p_adjusted"] = last
        if row["verdict"].endswith("_below_threshold") and last > 1 - CONFIDENCE:
            row["verdict"] = "undecided"


def _verdicts(differences: list[dict[str, Any]], models: list[str]) -> list[str]:
    sentences = []
    for label in PRIMARY:
        rows = [d for d in differences if d["label"] == label and d["vs_baseline"]]
        if not rows:
            continue
        best = max(rows, key=lambda d: float(d["difference"]))
        sentences.append(
            f"{best['a']} is best on {label}: {best['mean_a']:.4f}, {best['difference']:.4f} above {BASELINE}"
            f" (95 % interval {best['ci_low']:.4f} to {best['ci_high']:.4f})."
        )
        beaten = sum(d["verdict"] == "better" for d in rows)
        sentences.append(
            f"On {label}, {beaten} of {len(models) - 1} models are better than {BASELINE}."
        )
    return sentences
