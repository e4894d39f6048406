"""What changed since a revision, for comments in a pull request."""

from dataclasses import replace
from typing import Any

from concord.metrics_core.results.comparison_parts import Verdict
from concord.metrics_core.results.history import Change, RevisionChanges, Setting
from concord.metrics_core.results.stored import from_content
from concord.reports.comment import Comment, render_comment
from tests.reports.samples import sample

GAIN = Setting("gain", "linear", "exp2", ("als", "knn"))
TRUTH = Setting("truth", "a.csv, sha256 0a…", "a.csv, sha256 0b…", ("als", "knn"))
TRAINING = (
    Setting("split.seed", "1", "2", ("ease", "knn")),
    Setting("train.knn.neighbours", "50", "200", ("knn",)),
    Setting("train.knn.weighting", "none", "bm25", ("knn",)),
)
RULES = (
    Setting("gate.guardrails.nDCG@10", "2%", "50%", ()),
    Setting("gate.undecided", "none", "pass", ()),
)


def change(model: str, label: str, verdict: Verdict = "worse", *, primary: bool = True) -> Change:
    return Change(
        label=label,
        model=model,
        primary=primary,
        then=0.25,
        now=0.2,
        difference=-0.05,
        ci_low=-0.06,
        ci_high=-0.04,
        level=0.95,
        relative=-0.2,
        n_users=1200,
        n_nonzero=190,
        p=0.00001,
        p_adjusted=0.00002,
        min_effect=0.005,
        verdict=verdict,
    )


def in_segment(model: str, segment: str, difference: float = -0.1) -> Change:
    return replace(
        change(model, "nDCG@10"),
        then=0.3,
        now=0.3 + difference,
        difference=difference,
        ci_low=difference - 0.02,
        ci_high=difference + 0.02,
        n_users=195,
        segmentation="activity",
        segment=segment,
    )


def since(**parts: Any) -> RevisionChanges:
    base = RevisionChanges("v1", (), (), (), (), segmented=True, conventions=(), data=())
    return replace(base, **parts)


def comment(name: str) -> str:
    """Return a comment of two models, or one of the gate."""
    if name == "gate":
        gated = from_content(sample.gated())
        return render_comment(Comment("evaluation", gated, gated.gate))
    if name == "widened gate":
        gated = from_content(sample.gated())
        stale = "a.csv has changed since these results were made: run `dvc repro`"
        widened = Comment("evaluation", gated, gated.gate, since=since(rules=RULES), stale=stale)
        return render_comment(widened)
    two = Comment("", from_content(sample.two_models()), None)
    changes = [change("ease", "nDCG@10", "identical"), change("knn", "nDCG@10")]
    worse = [in_segment("knn", "new", -0.03), in_segment("knn", "over 50", -0.2)]
    mismatches = {"mismatches": ("gain changed",), "conventions": (GAIN,), "data": (TRUTH,)}
    why = (
        "knn had other conventions: gain was 'linear' and is 'exp2'; evaluate both in the same way"
    )
    comments = {
        "no gate": two,
        "changes": replace(
            two, since=since(changes=changes, worse=worse, training_params=TRAINING)
        ),
        "no segment worse": replace(two, since=since()),
        "other conventions": replace(two, since=since(**mismatches, segmented=False)),
        "no decision": replace(two, no_decision=(why,)),
    }
    return render_comment(comments[name])
