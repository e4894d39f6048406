"""Validate the configuration of a gate, and decide it.

Each guardrail must be non-inferior, and at least one success metric better.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from concord.metrics_core.comparison.min_effect import (
    EFFECT_FIX,
    is_effect,
    unevaluated_label_problem,
    unreachable_problems,
)
from concord.metrics_core.comparison.segmentation import ByPopularity, Segmentation
from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.errors import Location, Problem, raise_problems, refuse
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.metrics.label import Label, canonical_label, is_pooled
from concord.metrics_core.results.behaviour import BehaviourCheck
from concord.metrics_core.results.comparison_parts import SUSPICIOUS, DataWarning
from concord.metrics_core.results.gate import (
    MIN_EFFECT,
    Decision,
    Gate,
    Guardrail,
    Kind,
    Margin,
    MeasuredDifference,
    ModelDecision,
    Outcome,
    Success,
    UnmatchedModels,
)
from concord.metrics_core.stats.adjustment import holm

KEYS = ("guardrails", "segments", "success", "undecided", "models")
EXAMPLE = "{'guardrails': {'nDCG@10': '2%'}}"
MARGIN_FIX = EFFECT_FIX.replace("write", f"write {MIN_EFFECT},", 1)


def parse_gate(value: Any) -> Gate:
    """Return the gate that a dict describes, its labels in the spelling of results.

    Raises
    ------
    InputError
        The value is not a dict, or its keys or values are invalid; all problems at once.
    """
    if not isinstance(value, Mapping):
        raise refuse("gate", f"is {format_value(value)}", f"write a dict such as {EXAMPLE}")
    raise_problems(_shape_problems(value))
    segments = value.get("segments") or {}
    return Gate(
        guardrails=_with_canonical_labels(value.get("guardrails") or {}),
        segments={name: _with_canonical_labels(each) for name, each in segments.items()},
        success=tuple(canonical_label(text) for text in value.get("success") or ()),
        undecided_passes=value.get("undecided") == "pass",
        models=tuple(value.get("models") or ()),
    )


def _with_canonical_labels(margins: Mapping[str, Margin]) -> dict[str, Margin]:
    return {
        canonical_label(text): margin if isinstance(margin, str) else float(margin)
        for text, margin in margins.items()
    }


def _shape_problems(gate: Mapping[Any, Any]) -> Iterator[Problem]:
    for key in gate:
        if key not in KEYS:
            fix = suggest(str(key), {*KEYS})
            yield Problem("gate", f"{format_value(key)} is not a key of a gate", fix)
    yield from _margin_problems(("gate", "guardrails"), gate.get("guardrails") or {})
    segments = gate.get("segments") or {}
    if not isinstance(segments, Mapping):
        fix = "write a dict such as {'activity': {'nDCG@10': '5%'}}"
        yield Problem(("gate", "segments"), f"is {format_value(segments)}", fix)
        segments = {}
    for name, margins in segments.items():
        yield from _margin_problems(("gate", "segments", name), margins)
    for key in ("success", "models"):
        names = gate.get(key) or ()
        is_list = isinstance(names, Sequence) and all(isinstance(name, str) for name in names)
        if isinstance(names, str) or not is_list:
            fix = "write a list of names: ['…']"
            yield Problem(("gate", key), f"is {format_value(names)}", fix)
    if gate.get("undecided") not in {None, "pass"}:
        fix = "write 'pass', or leave it out"
        yield Problem(("gate", "undecided"), f"is {format_value(gate['undecided'])}", fix)


def _margin_problems(location: tuple[Any, ...], margins: Any) -> Iterator[Problem]:
    if not isinstance(margins, Mapping) or not all(isinstance(text, str) for text in margins):
        fix = "write a dict such as {'nDCG@10': '2%'}"
        yield Problem(location, f"is {format_value(margins)}", fix)
        return
    for text, margin in margins.items():
        if margin != MIN_EFFECT and not is_effect(margin):
            yield Problem((*location, text), f"is {format_value(margin)}", MARGIN_FIX)
    yield from spelling_problems(location, margins)


def spelling_problems(location: Location, margins: Iterable[str]) -> Iterator[Problem]:
    """Yield labels that are given in two spellings: one of the two margins would be lost."""
    spellings: dict[str, list[str]] = {}
    for text in margins:
        spellings.setdefault(canonical_label(text), []).append(text)
    for label, texts in spellings.items():
        if len(texts) > 1:
            problem = f"names {label} as {' and '.join(map(repr, texts))}"
            yield Problem(location, problem, "name each label once")


def gate_problems(
    gate: Gate,
    config: EvaluationConfig,
    segments: Mapping[str, Segmentation],
    models: Collection[str],
) -> Iterator[Problem]:
    """Yield unknown labels, segments and models, and labels that a gate cannot test."""
    if not gate.labels:
        problem = "names nothing that must not get worse, and nothing that must get better"
        yield Problem("gate", problem, "name a guardrail, such as `guardrails: {nDCG@10: 2%}`")
    labels = {str(label): label for label in config.labels}
    if len(set(gate.success)) < len(gate.success):
        yield Problem(("gate", "success"), "names a label more than once", "name each label once")
    for model in gate.models:
        if model not in models:
            fix = suggest(model, {*models})
            yield Problem(("gate", "models"), f"{model!r} is not among the models", fix)
    for name in [name for name in gate.segments if name not in segments]:
        known = {*segments}
        fix = suggest(name, known) if known else f"add it to {config.settings.name('segments')}"
        yield Problem(("gate", "segments"), f"{name!r} is not a segmentation", fix)
    entries: list[tuple[Location, str, Segmentation | None]] = [
        (("gate", key), text, None)
        for key in ("guardrails", "success")
        for text in getattr(gate, key)
    ]
    entries += [
        (("gate", "segments", name), text, segments[name])
        for name, margins in gate.segments.items()
        if name in segments
        for text in margins
    ]
    for location, text, segmentation in entries if labels else ():
        if text not in labels:
            yield unevaluated_label_problem(location, text, labels, config.settings)
        elif is_pooled(labels[text], config.conventions):
            problem = (
                f"{text} is pooled over users under these conventions, so that it has no interval"
            )
            yield Problem(location, problem, "name a metric that has a value for each user")
        elif segmentation is not None:
            yield from _segment_problems(location, labels[text], segmentation)
    margins: dict[tuple[str, ...], Mapping[str, Margin]] = {("guardrails",): gate.guardrails}
    margins |= {("segments", name): each for name, each in gate.segments.items()}
    for keys, margin_of in margins.items():
        for text, margin in margin_of.items():
            if text in labels and not isinstance(margin, str):
                yield from unreachable_problems(margin, [labels[text]], ("gate", *keys, text))


def _segment_problems(
    location: Location, label: Label, segmentation: Segmentation
) -> Iterator[Problem]:
    if not isinstance(segmentation, ByPopularity):
        if label.metric.is_aggregate:
            problem = f"{label} is one number over all users, which groups of users do not have"
            yield Problem(location, problem, "name a metric that has a value for each user")
    elif segmentation.by == "recommended_item":
        problem = "groups recommended items, of which more or fewer is neither better nor worse"
        yield Problem(location, problem, "name a segmentation of users, or of relevant items")
    elif label.stem != "R" or label.k is None:
        problem = f"{label} is not known for groups of relevant items"
        yield Problem(location, problem, "name R@k, such as R@10")


Measured = TypeVar("Measured", Guardrail, Success)

_WORST_FIRST: tuple[Outcome, ...] = ("suspicious", "worse", "undecided", "pass")


def decide(
    models: Mapping[str, tuple[Sequence[Guardrail], Sequence[MeasuredDifference]]],
    *,
    against: Kind,
    reference: str,
    confidence: float,
    undecided_passes: bool,
) -> Decision:
    """Return the decision on every model, from its guardrails and its success metrics.

    The outcome of a model is the worst of its guardrails. It is `undecided` if there are success
    metrics and none is better, unless the model is unchanged since a revision.
    p-values of guardrails are not adjusted: all must hold, so that more of them make it harder to
    pass, not easier. `undecided_passes` concerns guardrails alone.
    """
    decisions = []
    for model, (guardrails, measured) in models.items():
        success = decide_success(measured)
        outcome = _outcome(guardrails, success, against=against, undecided_passes=undecided_passes)
        decisions.append(ModelDecision(model, outcome, tuple(guardrails), tuple(success)))
    return Decision(
        against=against,
        reference=reference,
        confidence=confidence,
        undecided_passes=undecided_passes,
        outcome=_worst(each.outcome for each in decisions) if decisions else "undecided",
        models=tuple(decisions),
    )


def with_undecided(decision: Decision, *, undecided_passes: bool) -> Decision:
    """Return the decision against the baseline with another rule for undecided guardrails."""
    decided = decide(
        {each.model: (each.guardrails, each.success) for each in decision.models},
        against=decision.against,
        reference=decision.reference,
        confidence=decision.confidence,
        undecided_passes=undecided_passes,
    )
    failed = [check for each in decision.models for check in each.failed_checks]
    return with_findings(decided, failed, decision.doubts)


def with_findings(
    decision: Decision, checks: Iterable[BehaviourCheck], warnings: Iterable[DataWarning]
) -> Decision:
    """Return the decision with what the lists of its models show.

    A model that fails a check is worse. A model is suspicious if a near certain accident concerns
    it or its baseline, or all models. Acknowledged warnings are kept, too; those about models that
    the gate neither decides on nor compares with are left out.
    """
    references = {each.model: each.reference or decision.reference for each in decision.models}
    names = {*references, *references.values()}
    doubts = tuple(
        each
        for each in warnings
        if each.code in SUSPICIOUS and (not each.models or names & {*each.models})
    )
    suspected = {name for each in doubts if each.is_suspicious for name in each.models or names}
    failed: dict[str, list[BehaviourCheck]] = {}
    for check in checks:
        if not check.passed:
            failed.setdefault(check.model, []).append(replace(check, examples=()))
    models = []
    for each in decision.models:
        outcome: Outcome = "worse" if each.model in failed else each.outcome
        outcome = "suspicious" if {each.model, references[each.model]} & suspected else outcome
        failed_checks = tuple(failed.get(each.model, ()))
        models.append(replace(each, outcome=outcome, failed_checks=failed_checks))
    outcome = _worst([decision.outcome, *(each.outcome for each in models)])
    return replace(decision, outcome=outcome, models=tuple(models), doubts=doubts)


def with_decimals(decision: Decision, decimals: Mapping[str, int]) -> Decision:
    """Return the decision with the decimals by label with which the comparison shows numbers."""
    models = (
        replace(
            model,
            guardrails=tuple(_with_decimals(each, decimals) for each in model.guardrails),
            success=tuple(_with_decimals(each, decimals) for each in model.success),
        )
        for model in decision.models
    )
    return replace(decision, models=tuple(models))


def _with_decimals(measured: Measured, decimals: Mapping[str, int]) -> Measured:
    return replace(measured, decimals=decimals.get(measured.label))


def join_decisions(decision: Decision, new: Decision) -> Decision:
    """Return the decision on the models of both.

    Models that are new to a revision keep their own reference.
    """
    added = (replace(each, reference=new.reference) for each in new.models)
    models = (*decision.models, *added)
    outcome = _worst(each.outcome for each in models)
    return replace(decision, outcome=outcome, models=models)


def with_unmatched(decision: Decision, unmatched: UnmatchedModels) -> Decision:
    """Return the decision if new models may be vanished models under another name.

    It is undecided, unless a model is worse.
    """
    outcome: Outcome = "worse" if decision.outcome == "worse" else "undecided"
    return replace(decision, outcome=outcome, unmatched=unmatched)


def decide_guardrail(
    measured: MeasuredDifference,
    margin_setting: Margin,
    margin: float | None,
) -> Guardrail:
    """Return the guardrail of a measured difference.

    The outcome is `pass` if the lower end of the interval of the gain is above -margin, or if no
    user's value or list differs. It is `worse` if the upper end is below -margin.
    Otherwise it is `undecided`, also if it would pass but a user has a value with the reference
    alone.

    Parameters
    ----------
    margin_setting : float or str
        The margin as written: a number, a share such as "2%", or "min_effect".
    margin : float or None
        The margin as a number; None if it is a share of a mean that does not exist or may be 0.
    """
    outcome = _guardrail_outcome(measured, margin)
    return Guardrail(
        **vars(measured), margin_setting=str(margin_setting), margin=margin, outcome=outcome
    )


def decide_success(measured: Sequence[MeasuredDifference]) -> list[Success]:
    """Return the success metrics, with p-values adjusted by Holm.

    A metric is better if its interval is a gain, every user who has a value with the reference has
    one with the model, and the order of equal scores does not decide.
    """
    p = np.array([np.nan if each.p is None else each.p for each in measured], dtype=np.float64)
    return [
        Success(
            **vars(each)
            | {
                "p_adjusted": float(adjusted),
                "better": (each.gain_low or 0.0) > 0 and not each.n_lost and not each.order_decides,
            }
        )
        for each, adjusted in zip(measured, holm(p), strict=True)
    ]


def _guardrail_outcome(measured: MeasuredDifference, margin: float | None) -> Outcome:
    if measured.identical:
        return "pass"
    if measured.n_unlisted is not None:
        return "undecided"
    low, high = measured.gain_low, measured.gain_high
    if margin is None or low is None or high is None:
        return "undecided"
    if low > -margin:
        return "undecided" if measured.n_lost else "pass"
    return "worse" if high < -margin else "undecided"


def _outcome(
    guardrails: Sequence[Guardrail],
    success: Sequence[Success],
    *,
    against: Kind,
    undecided_passes: bool,
) -> Outcome:
    outcome = _worst(each.outcome for each in guardrails)
    if not all(each.is_comparable for each in (*guardrails, *success)):
        return "worse" if outcome == "worse" else "undecided"  # even with `undecided_passes`
    if outcome == "undecided" and undecided_passes:
        outcome = "pass"
    is_unchanged = against == "revision" and all(each.identical for each in success)
    has_gain = is_unchanged or any(each.better for each in success) or not success
    return "undecided" if outcome == "pass" and not has_gain else outcome


def _worst(outcomes: Iterable[Outcome]) -> Outcome:
    return min(outcomes, key=_WORST_FIRST.index, default="pass")
