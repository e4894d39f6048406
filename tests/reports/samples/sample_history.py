"""A history of three revisions (other lists, other conventions), and a revision without results."""

from dataclasses import replace

from concord.metrics_core.results.comparison_parts import Verdict
from concord.metrics_core.results.history import (
    Change,
    History,
    InputChange,
    Reuse,
    Revision,
    Setting,
    Standing,
)
from tests.reports.samples.sample_comment import change


def standing(
    model: str, mean: float | None, verdict: Verdict | None, label: str = "R@1"
) -> Standing:
    """Return a mean and, with a verdict, a difference to the baseline, both with intervals."""
    result = Standing(label, model, higher_is_better=True, mean=mean, verdict=verdict)
    if mean is not None:
        result = replace(result, ci_low=mean - 0.01, ci_high=mean + 0.01)
    if verdict is None:
        return result
    return replace(result, difference=0.02, diff_low=0.01, diff_high=0.03)


def _revision(name: str, *standings: Standing, changed: tuple[InputChange, ...] = ()) -> Revision:
    return Revision(
        name=name,
        tags=(),
        date="2026-11-23",
        subject=f"made {name}",
        truth="c8006b89fd2a80c0",
        baseline="base",
        gone="",
        standings=standings,
        changed=changed,
        unpaired="",
        same=(),
        changes=(),
    )


def _change(model: str, difference: float, verdict: Verdict) -> Change:
    return replace(
        change(model, "R@1", verdict),
        then=0.3,
        now=0.3 + difference,
        difference=difference,
        ci_low=difference - 0.01,
        ci_high=difference + 0.01,
        n_users=100,
        n_nonzero=50,
        p=0.001,
        p_adjusted=0.002,
    )


FIRST = replace(
    _revision("aaa1111", standing("als", 0.3, "better"), standing("base", 0.28, None)),
    tags=("v1",),
)
SECOND = replace(
    _revision(
        "bbb2222",
        standing("als", 0.25, "worse"),
        standing("base", 0.28, None),
        changed=(InputChange("lists", "other lists: als"),),
    ),
    changes=(_change("als", -0.05, "worse"),),
    same=("base",),
    training_params=(Setting("train.als.alpha", "10", "2", ("als",)),),
)
THIRD = _revision(
    "ccc3333",
    standing("als", 0.4, "better"),
    standing("base", 0.35, None),
    changed=(InputChange("conventions", "gain: linear → exp2"),),
)
GONE = replace(_revision("ddd4444"), gone="its results are not in DVC's cache", baseline=None)
REUSE = Reuse(
    "c8006b89fd2a80c0", 5, 8, 0.12, "notice", "This ground truth was used in 5 comparisons."
)
HISTORY = History("Shop", 0.95, (FIRST, SECOND, THIRD), REUSE)
_ITEMS, _USERS = InputChange("background", "other items"), InputChange("truth", "another truth")
GAPS = replace(
    HISTORY,
    revisions=(
        FIRST,
        replace(GONE, changed=(_ITEMS,)),
        replace(GONE, name="eee5555", date="2026-11-24", changed=(_USERS,), tags=("v2",)),
        replace(SECOND, unpaired="als had another ground truth", changes=(), same=()),
        replace(SECOND, standings=(standing("als", 0.5, None, label="AP@1"),), changes=()),
        replace(
            SECOND,
            name="fff6666",
            changed=(),
            training_params=(),
            changes=(),
            same=("als", "base"),
        ),
        GONE,
    ),
    reuse=replace(REUSE, severity="serious"),
    notes=("a note",),
)
