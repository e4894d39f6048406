"""The decision of a gate as sentences: outcome, reason, and other findings."""

import math
from collections.abc import Iterator, Sequence

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.results.gate import (
    Decision,
    Guardrail,
    MeasuredDifference,
    ModelDecision,
    Outcome,
    Success,
    UnmatchedModels,
)
from concord.metrics_core.results.limits import MIN_DIFFERING_USERS
from concord.metrics_core.results.text_format import (
    all_or_names,
    group_values,
    is_or_are,
    join_names,
    verb,
)
from concord.reports.text import numbers
from concord.reports.text.behaviour import failure
from concord.reports.text.gate_cells import (
    allowed,
    digits_of,
    metric_text,
    missing_lists,
    missing_values,
    unchanged_models,
)
from concord.reports.text.groups import NEARLY_ALL
from concord.reports.text.verdict_styles import ORDER_DECIDES
from concord.reports.text.warnings import acknowledgement_text

_MAX_GUARDRAILS = 3  # in one sentence
_MIN_WHOLE = 10  # times as many users, without decimals
_MAX_TIMES = 1000  # times as many users: more are out of reach
_RULE_EFFECTS = {"baseline": "compares them with the baseline", "ignore": "leaves them out"}


def describe(decision: Decision) -> Iterator[str]:
    """Return the outcome, its reason, and other findings or what to do."""
    if decision.unmatched is not None:
        return _unmatched_lines(decision, decision.unmatched)
    return _matched_lines(decision)


def _matched_lines(decision: Decision) -> Iterator[str]:
    models, outcome = decision.models, decision.outcome
    reference, confidence = decision.reference, decision.confidence
    if not models:
        yield f"{outcome}, against {reference}: there is no other model to decide on."
        yield (
            "A gate compares models with the baseline, or with their results at a revision: "
            "`concord gate HEAD`."
        )
        yield "Checked: nothing."
        return
    yield f"{outcome}, against {reference}: {_groups(decision)}."
    of_outcome = [each for each in models if each.outcome == outcome]
    # If undecided guardrails pass, only a missing success leaves a comparable model undecided.
    are_waived = decision.undecided_passes and outcome == "undecided"
    deciding = [
        (m.model, g)
        for m in of_outcome
        for g in m.guardrails_that(outcome)
        if not are_waived or not g.is_comparable
    ]
    failed = [check for model in of_outcome for check in model.failed_checks]
    found = [(check.model, f"the check {check.name}") for check in failed]
    found += [(model, metric_text(each)) for model, each in deciding]
    doubts = [each for each in decision.doubts if each.is_suspicious]
    if doubts:
        yield _doubts(doubts)
    elif outcome == "pass":
        yield _closest(of_outcome, confidence)
    elif failed:
        yield f"{failure(failed[0])}."
    elif deciding:
        yield f"{_difference_text(*deciding[0], confidence)}: {deciding[0][1].why}."
    else:
        yield _missing_success(of_outcome[0], confidence)
    accepted = "".join(_accepted(each) for each in decision.doubts if each.is_acknowledged)
    findings = (
        _what_to_check(doubts, reference)
        if doubts
        else _other_findings(outcome, deciding, found[1:], models)
    )
    yield f"{findings}{accepted} Checked: {_check_counts(models)}."


def _doubts(warnings: Sequence[DataWarning]) -> str:
    """Return the sentences, with the revision whose results they are about."""
    return " ".join(
        f"At {x.details['revision']}: {x.sentence}" if "revision" in x.details else x.sentence
        for x in warnings
    )


def _what_to_check(doubts: Sequence[DataWarning], reference: str) -> str:
    """Return the remedies of the warnings that make a decision suspicious."""
    current = [each for each in doubts if not each.details.get("revision")]
    if not current:
        return f"Compare with other results than those at {reference}."
    text = "; ".join(dict.fromkeys(each.fix for each in current))
    codes = join_names([*dict.fromkeys(f"`{each.code}`" for each in current)])
    return (
        f"{text[:1].upper()}{text[1:]}. If it is intended, acknowledge {codes}, with models and a "
        "reason."
    )


def _accepted(warning: DataWarning) -> str:
    return f" Accepted ({warning.model_names}, {warning.code}): {acknowledgement_text(warning)}."


def _unmatched_lines(decision: Decision, unmatched: UnmatchedModels) -> Iterator[str]:
    """Yield the lines of a decision where models have vanished while others are new."""
    vanished, new, example = unmatched.vanished, unmatched.new, unmatched.example
    gone = (
        f"{join_names(vanished)} {is_or_are(vanished)} gone "
        f"while {join_names(new)} {is_or_are(new)} new"
    )
    effects = [f"`gate.new_models: {rule}` {_RULE_EFFECTS[rule]}" for rule in unmatched.rules]
    other = ", and ".join(effects) or "compare with the baseline: `concord gate`"
    fix = (
        f"Write `{example}` if {new[0]} is the former {vanished[0]}; if new models are other ones, "
        f"{other}."
    )
    groups = [*([_groups(decision)] if decision.models else []), gone]
    yield f"{decision.outcome}, against {decision.reference}: {'; '.join(groups)}."
    if decision.outcome in {"suspicious", "worse"}:
        _, reason, other_findings = _matched_lines(decision)
        yield reason
        yield f"{other_findings} {fix}"
        return
    yield "A new model may be a renamed one. It would then be compared with its earlier results."
    yield f"{fix} Checked: {_check_counts(decision.models) if decision.models else 'nothing'}."


def _difference_text(model: str, measured: MeasuredDifference, confidence: float) -> str:
    """Return `als on nDCG@10: −0.012 (95 % interval −0.020 to −0.004), −0.005 allowed`."""
    digits = digits_of(measured)
    interval = numbers.signed_interval(measured.ci_low, measured.ci_high, digits)
    if interval:
        joint = "" if (measured.level or 0.0) == confidence else "joint "
        interval = f"{joint}{numbers.confidence_level(confidence)} interval {interval}"
    difference = measured.difference
    number = "no mean" if difference is None else numbers.signed(difference, digits)
    text = f"{model} on {metric_text(measured)}: {numbers.with_details(number, interval)}"
    return f"{text}, {allowed(measured)} allowed" if isinstance(measured, Guardrail) else text


def _groups(decision: Decision) -> str:
    """Return `als is worse; ease and knn (new, against pop) pass`.

    Models that are as they were at a revision are only counted: `1 of 4 models changed: …`.
    """
    models = decision.models
    unchanged = unchanged_models(decision)
    changed = [each for each in models if each.model not in unchanged]
    if not changed:
        return f"{all_or_names(unchanged, len(models))} {is_or_are(unchanged)} unchanged"
    if unchanged:
        return f"{len(changed)} of {len(models)} models changed; {_outcomes(changed)}"
    return _outcomes(models)


def _outcomes(models: Sequence[ModelDecision]) -> str:
    groups = []
    for outcome in ("suspicious", "worse", "undecided", "pass"):
        names = [
            each.model + (f" (new, against {each.reference})" if each.reference else "")
            for each in models
            if each.outcome == outcome
        ]
        if names:
            passes = verb(len(names), "passes", "pass")
            is_what = passes if outcome == "pass" else f"{is_or_are(names)} {outcome}"
            groups.append(f"{all_or_names(names, len(models))} {is_what}")
    return "; ".join(groups)


def _closest(models: Sequence[ModelDecision], confidence: float) -> str:
    """Return the waived guardrails, or else the one closest to its margin, and the best gain."""
    waived = [(m.model, g) for m in models for g in m.guardrails_that("undecided")]
    gained = [(m.model, each) for m in models for each in m.gains[:1]]
    better = f" Better: {_success(*gained[0], confidence)}." if gained else ""
    if waived:
        more = f", and {len(waived) - 1} more" if len(waived) > 1 else ""
        first = _difference_text(*waived[0], confidence)
        return f"Passes although undecided: {first}: {waived[0][1].why}{more}.{better}"
    known = [(m.model, g) for m in models for g in m.guardrails if g.gain_low is not None]
    if known:
        closest = min(known, key=lambda pair: _distance_to_margin(pair[1]))
        return f"Closest: {_difference_text(*closest, confidence)}.{better}"
    return better.strip() or "Every user has the same value with both."


def _distance_to_margin(guardrail: Guardrail) -> float:
    """Return the distance of the interval from the margin, as a share of its width."""
    low, high, margin = guardrail.gain_low, guardrail.gain_high, guardrail.margin
    if low is None or high is None or margin is None:
        return math.inf
    return (low + margin) / (high - low) if high > low else math.inf


def _success(model: str, success: Success, confidence: float) -> str:
    text = _difference_text(model, success, confidence)
    if not success.better and success.detectable is not None:
        size = numbers.number(success.detectable, digits_of(success))
        text = f"{text}; these {format_count(success.n_users, 'user')} can show {size}"
    if success.n_unlisted is not None:
        return f"{text}, as {missing_lists(success)}"
    text = f"{text}, but {ORDER_DECIDES}" if success.order_decides else text
    return f"{text}, but {missing_values(success)}" if success.n_lost else text


def _missing_success(model: ModelDecision, confidence: float) -> str:
    metrics = "; ".join(
        _success(model.model, each, confidence) for each in model.success[:_MAX_GUARDRAILS]
    )
    return f"No success metric of {model.model} is significantly better: {metrics}."


def _other_findings(
    outcome: Outcome,
    deciding: Sequence[tuple[str, Guardrail]],
    others: Sequence[tuple[str, str]],
    models: Sequence[ModelDecision],
) -> str:
    also = f"Also {outcome}: {_models_by_metric(others)}. " if others else ""
    if outcome == "worse":
        n = sum(len(model.guardrails_that("undecided")) for model in models)
        undecided = f"Undecided: {format_count(n, 'guardrail')}. " if n else ""
        failed = any(model.failed_checks for model in models)
        rules = ["widen the margin in `gate:`"] if deciding else []
        rules += ["change `checks:`"] if failed else []
        what = "this" if failed else "this loss"
        advice = f"if {what} is intended, {' or '.join(rules)}"
        return f"{also}{undecided}Improve the model or leave it out; {advice}."
    if outcome == "undecided":
        without = [m for m in models if m.outcome == outcome and m.success and not m.gains]
        if deciding and without:
            names = join_names([each.model for each in without])
            also += f"No success metric of {names} is better. "
        success = () if deciding else [each for model in without for each in model.success]
        if any(each.order_decides for each in (*(each for _, each in deciding), *success)):
            return f"{also}Write scores with more digits, or choose `ties: average` for all models."
        return f"{also}{_more_users(deciding)}"
    return "A pass covers only these metrics, segments and margins."


def _models_by_metric(checks: Sequence[tuple[str, str]]) -> str:
    """Return `als and ease on nDCG@10; als on Coverage@10; 4 more`."""
    models = group_values((metric, model) for model, metric in checks)
    parts = [f"{join_names(names)} on {metric}" for metric, names in models.items()]
    more = sum(len(names) for names in list(models.values())[_MAX_GUARDRAILS:])
    return "; ".join([*parts[:_MAX_GUARDRAILS], *([f"{more} more"] if more else [])])


def _more_users(deciding: Sequence[tuple[str, Guardrail]]) -> str:
    """Return how many times as many users would decide all of these, at the same differences."""
    ways = "a wider margin decides; `undecided: pass` lets undecided guardrails pass."
    if not deciding:
        return "More users can show smaller gains."
    advice, known = "", [each for _, each in deciding if not (each.n_unlisted or each.n_lost)]
    if any(each.n_unlisted is not None for _, each in deciding):
        advice = (
            "Give every user a list, or set the share of users that may lack one: "
            "`comparison.max_missing_lists`."
        )
    elif len(known) < len(deciding):
        advice = (
            "Give every user a value with both models; `user_no_recs: zero` counts users without a "
            "list as 0; `undecided: pass` lets undecided guardrails pass."
        )
    if not known:
        return advice
    text = f"{_times(known)}; {ways}"
    return f"{advice} For the others, {text[:1].lower()}{text[1:]}" if advice else text


def _times(guardrails: Sequence[Guardrail]) -> str:
    """Return `With this difference, 4.1 times the users would decide it …`."""
    times = [each.users_needed / each.n_users for each in guardrails if each.users_needed]
    hardest = max(times, default=0.0)
    if len(times) < len(guardrails) or hardest > _MAX_TIMES:
        if all(each.gain_low is not None for each in guardrails):
            return "A difference is close to its margin: no number of users decides"
        return "More users are needed"
    number = f"{hardest:{'.2g' if hardest < _MIN_WHOLE else ',.0f'}}"
    these, each = ("this difference", "it") if len(times) == 1 else ("these differences", "each")
    return (
        f"With {these}, {number} times the users would decide {each} with a probability of "
        f"80{numbers.PERCENT} (`concord plan` says how many an equally good model needs)"
    )


def _check_counts(models: Sequence[ModelDecision]) -> str:
    guardrails = sum(len(each.guardrails) for each in models)
    successes = sum(len(each.success) for each in models)
    parts = [format_count(guardrails, "guardrail")] if guardrails else []
    parts += [format_count(successes, "success metric")] if successes else []
    return f"{' and '.join(parts)} of {format_count(len(models), 'model')}"


def reason(guardrail: Guardrail) -> str:
    """Return the reason of a guardrail's outcome."""
    if guardrail.departure is not None:
        return f"it had {guardrail.departure} at {guardrail.revision}"
    if guardrail.revision is not None:
        return f"it was not evaluated at {guardrail.revision}"
    return _measured_reason(guardrail)


def _measured_reason(guardrail: Guardrail) -> str:
    outcome, margin = guardrail.outcome, guardrail.margin
    if guardrail.order_decides:
        return ORDER_DECIDES
    if guardrail.identical:
        return "every user has the same value with both"
    if missing := _missing_users(guardrail, outcome):
        return missing
    if margin is None:
        return "the margin is a share of a mean that is undefined, or may be 0"
    low, high = guardrail.gain_low, guardrail.gain_high
    if low is None or high is None:
        return _without_interval(guardrail)
    return {
        "pass": "the interval excludes a loss as large as the margin",
        "worse": "the whole interval is beyond the margin",
        "undecided": "the interval contains the margin",
    }[outcome]


def _missing_users(guardrail: Guardrail, outcome: Outcome) -> str:
    if guardrail.n_unlisted is not None:
        return missing_lists(guardrail)
    n = guardrail.n_without_list or 0
    if outcome != "pass" and n > NEARLY_ALL * guardrail.n_users:
        return f"it has no list for {format_count(n, 'user')} of this segment"
    return missing_values(guardrail) if guardrail.n_lost and outcome == "undecided" else ""


def _without_interval(measured: MeasuredDifference) -> str:
    if measured.difference is None:
        return "no user has a value with both"
    if measured.test == "none":
        return "this metric has no interval"
    if measured.n_nonzero >= MIN_DIFFERING_USERS:
        return "there is no interval"
    differ = f"only {format_count(measured.n_nonzero, 'user')} of {measured.n_users:,} differ"
    return f"{differ}, too few for an interval"
