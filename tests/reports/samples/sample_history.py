"""A history of three revisions: other lists, then other conventions; and a revision that is gone."""

from dataclasses import replace

from concord.metrics_core.results.comparison_parts import Verdict
from concord.metrics_core.results.history import (
    Change,
    History,
    InputChange,
    Reuse,
    Revision,
    Standing,
)


def standing(model: str, mean: float | None, verdict: Verdict | None, label: str = "R@1") -> Standing:  # fmt: skip
    """A model on a label, with intervals around its numbers."""
    low, high = (None, None) if mean is None else (mean - 0.01, mean + 0.01)
    known = verdict is not None
    return Standing(label, model, True, mean, low, high, 0.02 if known else None, 0.01 if known else None, 0.03 if known else None, verdict)  # fmt: skip


def _revision(name: str, *standings: Standing, changed: tuple[InputChange, ...] = ()) -> Revision:
    return Revision(name, (), "2026-11-23", f"made {name}", "c8006b89fd2a80c0", "base", "", standings, changed, "", (), ())  # fmt: skip


def _change(model: str, difference: float, verdict: Verdict) -> Change:
    return Change("R@1", model, True, 0.3, 0.3 + difference, difference, difference - 0.01, difference + 0.01, 0.1, 100, 50, 0.001, 0.002, 0.005, verdict)  # fmt: skip


FIRST = replace(
    _revision("aaa1111", standing("als", 0.3, "better"), standing("base", 0.28, None)),
    tags=("v1",),
)
SECOND = replace(
    _revision("bbb2222", standing("als", 0.25, "worse"), standing("base", 0.28, None), changed=(InputChange("lists", "other lists: als"),)),
    changes=(_change("als", -0.05, "worse"),),
    same=("base",),
)  # fmt: skip
THIRD = _revision("ccc3333", standing("als", 0.4, "better"), standing("base", 0.35, None), changed=(InputChange("conventions", "gain: linear → exp2"),))  # fmt: skip
GONE = replace(_revision("ddd4444"), gone="its results are not in DVC's cache", baseline=None)
REUSE = Reuse("c8006b89fd2a80c0", 5, 8, 0.12, "notice", "5 comparisons rest on this truth.")
HISTORY = History("Shop", 0.95, (FIRST, SECOND, THIRD), REUSE)
