"""Metrics of the same lists under all presets, after "Do We Calculate Metrics Consistently?".

python examples/published/panel.py

The lists are those of the model ease in Concord's demo data; equal scores are ordered by item.
"""

from collections import defaultdict

import concord as cc
from concord.typing import PresetName

LABELS = ("P@10", "R@10", "AP@10", "RR@10", "nDCG@10")


def main() -> None:
    """Print one row per definition: the means, and the presets that give them."""
    presets: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for description in cc.presets().descriptions:
        presets[means(description.name, description.metrics.split())].append(description.name)
    print(" ".join(f"{label:<8}" for label in (*LABELS, "presets")).rstrip())
    for cells, names in sorted(presets.items(), key=lambda row: row[1] != ["standard"]):
        if any(cells):
            print(" ".join(f"{cell or '-':<8}" for cell in cells), ", ".join(names))


def means(preset: PresetName, metrics: list[str]) -> tuple[str, ...]:
    """Return the mean of each label; empty if the preset does not define it."""
    demo = cc.datasets.load_demo()
    defined = [label for label in LABELS if not metrics or label.partition("@")[0] in metrics]
    if not defined:
        return ("",) * len(LABELS)
    conventions = cc.preset(preset, ties="item_asc")
    result = cc.evaluate(demo.models["ease"], demo.truth, metrics=defined, conventions=conventions)
    return tuple(f"{result[label]:.4f}" if label in defined else "" for label in LABELS)


if __name__ == "__main__":
    main()
