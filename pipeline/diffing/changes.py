"""Models against their former selves: what was made under other conditions, and by how much users' values changed."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from metrics_core.checking.problems import Problem
from metrics_core.metrics.catalogue import Label, is_pooled
from metrics_core.statistics.pairs import Paired, adjust, compare, verdict
from pipeline.comparing.aligned import align
from pipeline.comparing.choices import Choices, absolute
from pipeline.comparing.differences import or_nan, or_null
from pipeline.comparing.evaluations import Evaluation
from pipeline.diffing.revision import Former
from pipeline.params.model import PARAMS, Params

Row = dict[str, Any]
NOW, THEN = "now", "then"


@dataclass(frozen=True)
class _Change:
    label: Label
    model: str
    paired: Paired
    min_effect: float


def unlike(params: Params, evaluations: Mapping[str, Evaluation], before: Former) -> list[Problem]:
    """Why the numbers of the two revisions are no comparison: other conventions, another truth."""
    whats: dict[str, list[str]] = {}
    for model, then in before.evaluations.items():
        known = then.summary["conventions"]  # an older version knew fewer
        pinned = json.loads(json.dumps(params.pinned.as_dict()))
        changed = [
            f"{knob} was {known[knob]!r} and is {value!r}"
            for knob, value in pinned.items()
            if knob != "preset" and knob in known and known[knob] != value
        ]
        if changed:
            whats.setdefault(f"other conventions: {', '.join(changed)}", []).append(model)
        was, is_now = (
            each.summary["inputs"]["truth"]["sha256"] for each in (then, evaluations[model])
        )
        if was != is_now:
            what = f"another truth: its sha256 was {was[:12]}… and is {is_now[:12]}…"
            whats.setdefault(what, []).append(model)
    fix = "evaluate both alike, or say `--anyway`"
    return [
        Problem(f"{PARAMS} at {before.name}", f"{', '.join(models)} had {what}", fix)
        for what, models in whats.items()
    ]


def change_rows(
    params: Params, choices: Choices, evaluations: Mapping[str, Evaluation], before: Former
) -> list[Row]:
    """One row a label and model, now minus then, over the users who have both values.

    Holm over models x primary labels, Benjamini-Hochberg over the others.
    """
    found = [
        change
        for model, then in before.evaluations.items()
        for change in _changes(params, choices, evaluations[model], then, model)
    ]
    order = list(dict.fromkeys([*choices.primary, *map(str, choices.labels)]))
    found.sort(key=lambda each: order.index(str(each.label)))
    primary = np.array([str(each.label) in choices.primary for each in found], dtype=bool)
    adjusted = adjust(np.array([each.paired.p for each in found], dtype=np.float64), primary)
    return [
        _row(params, each, float(p), primary=bool(is_primary))
        for each, is_primary, p in zip(found, primary, adjusted, strict=True)
    ]


def labels_of_one_side(choices: Choices, before: Former) -> tuple[list[str], list[str]]:
    """Labels that only the present has, and labels that only the former revision had."""
    ours = {str(label) for label in choices.labels}
    theirs = {label for each in before.evaluations.values() for label in each.summary["metrics"]}
    return sorted(ours - theirs), sorted(theirs - ours)


def _changes(
    params: Params, choices: Choices, now: Evaluation, then: Evaluation, model: str
) -> Iterator[_Change]:
    aligned = align({NOW: now.per_user, THEN: then.per_user})
    columns = set(pq.read_schema(then.per_user).names)
    for label in choices.labels:
        text = str(label)
        if text not in columns or text not in then.summary["metrics"]:
            continue
        values = aligned.values(text, label.conventions(params.pinned).undefined)
        (paired,) = compare(values, [(NOW, THEN)], confidence=params.comparison.confidence)
        means = [or_nan(each.mean(text)) for each in (now, then)]
        if is_pooled(label, params.pinned):
            paired = paired.of_means(*means)
        yield _Change(label, model, paired, absolute(choices.min_effects[text], means[1]))


def _row(params: Params, change: _Change, p_adjusted: float, *, primary: bool) -> Row:
    paired = change.paired
    return {
        "label": str(change.label),
        "model": change.model,
        "primary": primary,
        "then": or_null(paired.mean_b),
        "now": or_null(paired.mean_a),
        "difference": or_null(paired.difference),
        "ci_low": or_null(paired.ci_low),
        "ci_high": or_null(paired.ci_high),
        "relative": or_null(paired.relative),
        "n_users": paired.n_users,
        "n_nonzero": paired.n_nonzero,
        "p": or_null(paired.p),
        "p_adjusted": or_null(p_adjusted),
        "min_effect": or_null(change.min_effect),
        "verdict": verdict(
            paired,
            p_adjusted,
            alpha=1 - params.comparison.confidence,
            min_effect=change.min_effect,
            higher_is_better=change.label.metric.higher_is_better,
        ),
    }
