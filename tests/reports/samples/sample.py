"""Comparisons of a simulated shop as dictionaries, which tests can change.

`python -m tests.reports.samples.make_samples` computes the stored ones.
"""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from concord.metrics_core.results.comparison_parts import MIRROR

Content = dict[str, Any]

FOLDER = Path(__file__).parent
BASELINE = "popularity"
PRIMARY = ("nDCG@10", "R@20")
FIVE = ("popularity", "item-knn", "ease", "als", "random-walk")
HOSTILE = [
    '"><script>alert(1)</script>',
    "</script></title></style><img src=x onerror=alert(1)>",
    "`a|b` {{ 7 * 7 }} <svg onload='alert(1)'> ' onmouseover='alert(1)",
]


def gated() -> Content:
    """Return five models with three segmentations, a panel, warnings and a gate."""
    return _stored("five")


def five_models() -> Content:
    """Return the five models without a gate."""
    return gated() | {"gate": None}


def two_models() -> Content:
    """Return two models."""
    return _stored("two")


def lower_is_better() -> Content:
    """Return two models with a primary metric whose lowest value is the best."""
    content = two_models()
    label = PRIMARY[0]
    (metric,) = (metric for metric in content["metrics"] if metric["label"] == label)
    metric["higher_is_better"] = False
    rows = [row for row in content["scores"] if row["label"] == label]
    for row in rows:
        row["best"] = row["mean"] == min(other["mean"] for other in rows)
    for pair in content["pairs"]:
        if pair["label"] == label:
            pair["verdict"] = MIRROR.get(pair["verdict"], pair["verdict"])
            pair["better"], pair["worse"] = pair["worse"], pair["better"]
    for cell in (cell for each in content["segments"] for cell in each["cells"]):
        if cell["label"] == label:
            cell["verdict"] = MIRROR.get(cell["verdict"], cell["verdict"])
    return content


def one_model() -> Content:
    """Return the baseline alone."""
    return _stored("one")


def many_models() -> Content:
    """Return fourteen models, more than tables and charts show in full."""
    return _stored("many")


# Names that may be part of a setting, between backticks.
HOSTILE_IDS = ("<b>", "a|b", "a`b", "``", "a\nb", "a\\b", "&#34;", "@team", "www.a.b", "x" * 5000)


def hostile_names() -> Content:
    """Return the five models with names that contain markup."""
    names = dict(zip(("ease", "als", "item-knn"), HOSTILE, strict=True))
    content = renamed(gated(), names | {"activity": HOSTILE[2], "0 to 5": HOSTILE[1]})
    content["title"] = HOSTILE[0]
    content["quality"]["popularity"]["notes"] = list(HOSTILE)
    for warning, text in zip(content["warnings"], HOSTILE, strict=False):
        warning["details"] = {"sentence": text, "fix": f"`{text}`"}
    entry = content["panel"][0]
    entry["definitions"][1].update(
        name=HOSTILE[0], presets=list(HOSTILE), changed={HOSTILE[1]: HOSTILE[2]}
    )
    entry["excluded"] = [{"preset": HOSTILE[1], "reason": HOSTILE[0]}]
    return content


def long_names() -> Content:
    """Return the five models with names of 100 characters and a dozen primary metrics."""
    content = renamed(five_models(), {m: m.ljust(100, "x") for m in FIVE if m != BASELINE})
    # Those of which all pairs are compared: a number over all users cannot be primary.
    pairs = Counter(row["label"] for row in content["pairs"])
    labels = [m["label"] for m in content["metrics"] if m["k"] in {10, 20}]
    content["primary"] = [label for label in labels if pairs[label] == pairs[labels[0]]][:12]
    return content


def without_numbers() -> Content:
    """Return the five models without all numbers that may be missing."""
    content = five_models()
    for row in content["scores"]:
        row.update(dict.fromkeys(("mean", "ci_low", "ci_high", "indistinguishable_from_best")))
        row.update(n_users=0, best=False)
    missing = (
        "mean_a", "mean_b", "difference", "ci_low", "ci_high", "relative", "effect_size", "p",
        "p_adjusted", "better", "equal", "worse", "min_effect",
    )  # fmt: skip
    for row in content["pairs"]:
        row.update(dict.fromkeys(missing), verdict="no_interval", n_users=0, n_nonzero=0)
    for entry in content["panel"]:
        for definition in entry["definitions"]:
            models = definition["values"]
            definition.update(values=dict.fromkeys(models), ranks=dict.fromkeys(models))
            definition.update(verdicts=dict.fromkeys(definition["verdicts"], "no_interval"))
            definition.update(flips=[], verdicts_changed=[], top_two_hold=True)
    for quality in content["quality"].values():
        quality["judged_share"] = dict.fromkeys(quality.get("judged_share", {}))
    return content


def renamed(content: Content, names: Mapping[str, str]) -> Content:
    """Return the content with other names where a string is equal to a name."""
    text = json.dumps(content)
    for name, other in names.items():
        text = text.replace(json.dumps(name), json.dumps(other))
    result: Content = json.loads(text)
    return result


def _stored(name: str) -> Content:
    content: Content = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content
