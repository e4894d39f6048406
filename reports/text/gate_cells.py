"""The decision of a gate in the views: its outcome, and a line per check."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.gate import (
    MIN_EFFECT,
    Decision,
    Guardrail,
    MeasuredDifference,
    ModelDecision,
    Outcome,
    Success,
)
from concord.metrics_core.results.text_format import (
    MINUS,
    PERCENT,
    exact,
    join_names,
    verb,
)
from concord.reports.text import numbers
from concord.reports.text.behaviour import failure
from concord.reports.text.verdict_styles import ORDER_DECIDES

_OUTCOMES: Mapping[Outcome, str] = {"pass": "passed", "worse": "failed"}  # others are words
_WORST_FIRST: tuple[Outcome, ...] = ("worse", "undecided", "pass")


def headline(decision: Decision) -> str:
    """Return `Gate failed: als on nDCG@10 of segment activity=0.`."""
    if not decision.models:
        return "Gate: no decision."
    title, outcome = f"Gate {head(decision)}", decision.outcome
    if outcome == "pass":
        return f"{title}."
    if outcome == "suspicious":
        doubts = (each.model_names for each in decision.doubts if each.is_suspicious)
        return f"{title}: {join_names([*dict.fromkeys(doubts)])}."
    models: dict[str, list[str]] = {}
    for model in decision.models:
        for check in model.failed_checks:
            models.setdefault(f"the check {check.name}", []).append(model.model)
        for each in model.guardrails_that(outcome):
            models.setdefault(metric_text(each), []).append(model.model)
    metrics: dict[str, list[str]] = {}
    for metric, names in models.items():
        are_all = len(names) == len(decision.models) > 1
        metrics.setdefault("all models" if are_all else join_names(names), []).append(metric)
    parts = [f"{who} on {numbers.join_first(on, 2)}" for who, on in metrics.items()]
    more = "; …" if parts[2:] else ""
    return f"{title}: {'; '.join(parts[:2])}{more}." if parts else f"{title}."


def head(decision: Decision) -> str:
    """Return the outcome in words; `no decision` if there is no model to decide on."""
    if not decision.models:
        return "no decision"
    word = _OUTCOMES.get(decision.outcome, decision.outcome)
    is_waived = decision.outcome == "pass" and bool(decision.waived)
    return f"{word}{', though undecided' * is_waived}"


def first_line(decision: Decision) -> str:
    """Return the first sentence of the decision, without the outcome, which is in the heading."""
    text = decision.lines[0].removeprefix(f"{decision.outcome}, ")
    return text[:1].upper() + text[1:]


def glyph_of(outcome: Outcome) -> str:
    """Return the verdict whose mark an outcome has."""
    return {"pass": "better", "undecided": "undecided"}.get(outcome, "worse")


@dataclass(frozen=True)
class Line:
    """A guardrail or a success metric of a model, as a row of a table."""

    model: str
    metric: str
    difference: str
    interval: str
    allowed: str
    outcome: Outcome
    word: str
    reason: str


def lines(decision: Decision | None) -> list[Line]:
    """Return a line per check, the worst first, else in the order of params.yaml."""
    models = decision.models if decision else ()
    all_lines = [line for model in models for line in _lines(model)]
    return sorted(all_lines, key=lambda line: _WORST_FIRST.index(line.outcome))


def intervals_note(decision: Decision) -> str:
    """Return why intervals of a gate are narrower than the joint ones of the comparison."""
    level = numbers.confidence_level(decision.confidence)
    guardrails = [each for model in decision.models for each in model.guardrails]
    settings = {each.margin_setting for each in guardrails if each.test != "jackknife"}
    notes = []
    if guardrails:
        notes.append(f"All guardrails must hold, so each has its own {level} interval.")
    if any("%" in each or each == MIN_EFFECT for each in settings):
        notes.append(
            "If a margin is a share, its interval is for the share times the reference's mean."
        )
    if any(len(model.success) > 1 for model in decision.models):
        notes.append(
            "One success metric is enough, so the intervals of a model's success metrics hold "
            f"together with {level}."
        )
    return " ".join(notes)


def _lines(model: ModelDecision) -> Iterator[Line]:
    for check in model.failed_checks:
        reason = failure(check).partition(": ")[2]
        yield Line(model.model, f"check {check.name}", "", "", "", "worse", "worse", reason)
    for each in model.guardrails:
        yield _line(model, each, (allowed(each), each.outcome, each.outcome, each.why))
    aim = "better" if len(model.success) == 1 else "one of these better"
    for success in model.success:
        reason = _success_reason(success)
        if success.n_lost:
            reason += f"; {missing_values(success)}"
        outcome: Outcome = "pass" if success.better else "undecided"
        word = "better" if success.better else "not better"
        yield _line(model, success, (aim, outcome, word, reason))


def _success_reason(success: Success) -> str:
    low, high = success.gain_low, success.gain_high
    if success.order_decides:
        return ORDER_DECIDES
    if low is None or high is None:
        return "no test" if success.p_adjusted is None else "there is no interval"
    if low > 0 or high < 0:
        return f"the whole interval is a {'gain' if low > 0 else 'loss'}"
    if success.detectable is None:
        return "the interval contains 0"
    size = numbers.number(success.detectable, digits_of(success))
    return f"the interval contains 0; these {success.n_users:,} users can show {size}"


def _line(
    model: ModelDecision, each: MeasuredDifference, outcome: tuple[str, Outcome, str, str]
) -> Line:
    digits = digits_of(each)
    difference = numbers.signed(each.difference, digits)
    interval = numbers.signed_interval(each.ci_low, each.ci_high, digits)
    return Line(model.model, metric_text(each), difference, interval, *outcome)


def unchanged_models(decision: Decision) -> list[str]:
    """Return the models that are as they were at the revision, on all that is checked."""
    return [
        each.model
        for each in decision.models
        if decision.against == "revision"
        and each.reference is None
        and each.outcome != "suspicious"
        and _is_identical(each)
    ]


def _is_identical(model: ModelDecision) -> bool:
    checks = (*model.guardrails, *model.success)
    return bool(checks) and not model.failed_checks and all(each.identical for each in checks)


def metric_text(measured: MeasuredDifference) -> str:
    """Return `nDCG@10`, or `nDCG@10 of segment activity=0`."""
    segment = measured.segment
    suffix = "" if segment is None else f" of segment {measured.segmentation}={segment}"
    return measured.label + suffix


def digits_of(measured: MeasuredDifference) -> int:
    """Return the decimals of the label in all views; its interval decides if it has none."""
    if measured.decimals is not None:
        return measured.decimals
    return numbers.interval_decimals([measured], [measured.mean, measured.reference])


def allowed(guardrail: Guardrail) -> str:
    """Return the allowed loss with its setting: `−0.005`, or `−0.019 (5 %)`."""
    setting = guardrail.margin_setting.replace("%", PERCENT)
    if guardrail.margin is None:
        return setting
    sign = "" if not guardrail.margin else MINUS if guardrail.higher_is_better else "+"
    if setting == guardrail.margin_setting != MIN_EFFECT:
        return f"{sign}{exact(guardrail.margin)}"
    _, _, exponent = f"{guardrail.margin:.0e}".partition("e")
    digits = max(digits_of(guardrail), -int(exponent))  # so that a small margin is not 0
    return f"{sign}{numbers.number(guardrail.margin, digits)} ({setting})"


def missing_lists(measured: MeasuredDifference) -> str:
    """Return `29 users have no list, too many to compare`."""
    n = measured.n_unlisted or 0
    return f"{format_count(n, 'user')} {verb(n, 'has', 'have')} no list, too many to compare"


def missing_values(measured: MeasuredDifference) -> str:
    """Return `37 of the 40 users who have a value with the reference have none with the model`."""
    unit, n_common = "user", measured.n_users
    if measured.n_requests is not None:
        unit, n_common = "request", measured.n_requests
    have = verb(measured.n_lost, "has", "have")
    known = format_count(n_common + measured.n_lost, unit)
    pronoun = "who" if unit == "user" else "that"
    return (
        f"{measured.n_lost:,} of the {known} {pronoun} have a value with the reference {have} none "
        "with the model"
    )
