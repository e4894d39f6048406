"""What answers and marks claim, checked against the means and verdicts of random comparisons."""

import re
from collections.abc import Callable
from itertools import combinations, product

import pytest

from concord.metrics_core.results.comparison import Comparison
from concord.reports.text.answer import answer
from concord.reports.text.tables import marks
from tests.metrics_core.comparison.test_families import WITHOUT_INTERVAL, normal_world, word_of
from tests.metrics_core.defined import defined
from tests.reports.samples.sample_random import random_comparison

BETTER = {"better", "better_below_threshold", "better_without_interval"}
LEVEL = {"identical", "equivalent"}
TOO_FEW = {"too_few_users"}
TIES = {
    "identical": {"identical"},
    "equivalent": LEVEL,
    "too close to call, as too few users differ": LEVEL | TOO_FEW,
    "too close to call": LEVEL | TOO_FEW | {"undecided"},
}
STATES = {
    "worse": {"worse", "worse_below_threshold", "worse_without_interval"},
    "equivalent": {"equivalent"},
    "identical": {"identical"},
    "undecided": {"undecided"},
    "not testable": TOO_FEW,
}
MODEL, LABEL = r"m\d+", r"[AB]@10|C"
MODELS = rf"{MODEL}(?:(?:, | and ){MODEL})*(?: and \d+ more)?"
ON = rf"(?: on (?P<labels>(?:{LABEL})(?:(?:, | and )(?:{LABEL}))*))?"
SIZE = r"[\d.]+(?:\xa0%)?"
LESS = rf"perhaps by less than ({SIZE})"
STATE = (
    rf"({'|'.join(STATES)})((?: on |, | and |{LABEL})*)"
    rf"(?:as too few users differ|{LESS}(?:,? and |, )?)?"
)


def _verdict(comparison: Comparison, a: str, b: str, label: str) -> str:
    """Return what the interval of a pair says, or why it has none."""
    pair = comparison.difference(a, b, label)
    if pair is None or pair.verdict in WITHOUT_INTERVAL:
        return pair.verdict if pair else ""
    upwards = comparison.metric(label).higher_is_better
    return word_of(pair.ci_low, pair.ci_high, pair.min_effect, up=upwards)


def _has_mean(comparison: Comparison, model: str, label: str) -> bool:
    return comparison.score(model, label).mean is not None


def _rivals(comparison: Comparison, model: str, label: str) -> list[str]:
    """Return the other models that have a mean and can be compared with this one."""
    return [
        other
        for other in comparison.models
        if other != model
        and _has_mean(comparison, other, label)
        and _verdict(comparison, model, other, label) != "not_comparable"
    ]


def _models(text: str | None) -> list[str]:
    return re.findall(MODEL, text or "")


def _labels(comparison: Comparison, text: str | None) -> list[str]:
    """Return the labels in a text; without any, a clause is about all primary metrics."""
    return re.findall(LABEL, text or "") or list(comparison.primary)


def _less_is_true(comparison: Comparison, model: str, label: str, margin: str | None) -> bool:
    """True if a size is left open exactly where the interval reaches below the margin."""
    pair = comparison.difference(model, comparison.baseline, label)
    word = _verdict(comparison, model, comparison.baseline, label)
    if pair is None or margin is None or not word.endswith("below_threshold"):
        return word.endswith("below_threshold") == (margin is not None)
    ends = [abs(end) for end in (pair.ci_low, pair.ci_high) if end is not None]
    number, _, percent = margin.partition("\xa0")
    size = float(number) * (defined(pair.mean_b) / 100 if percent else 1)
    return min(ends) <= size == pytest.approx(pair.min_effect)


def _best(comparison: Comparison, clause: re.Match[str], _: str) -> bool:
    def holds(label: str) -> bool:
        verdicts = {
            _verdict(comparison, model, x, label) for x in _rivals(comparison, model, label)
        }
        is_less = _less_is_true(comparison, model, label, clause["margin"])
        return bool(verdicts) and verdicts <= BETTER and is_less

    model = clause["model"]
    return all(map(holds, _labels(comparison, clause["labels"])))


def _tie(comparison: Comparison, clause: re.Match[str], _: str) -> bool:
    pairs = combinations(_models(clause["models"]), 2)
    labels = _labels(comparison, clause["labels"])
    verdicts = {_verdict(comparison, *pair, label) for pair, label in product(pairs, labels)}
    return verdicts <= TIES[f"{clause['words']}{clause['reason'] or ''}"]


def _best_mean(comparison: Comparison, clause: re.Match[str], _: str) -> bool:
    model = clause["model"]
    return all(
        model in comparison.leaders(label)
        and all(_verdict(comparison, model, x, label) not in BETTER for x in _models(clause["not"]))
        and all(_verdict(comparison, x, model, label) in BETTER for x in _models(clause["beaten"]))
        for label in _labels(comparison, clause["labels"])
    )


def _beats(comparison: Comparison, clause: re.Match[str], text: str) -> bool:
    models = _models(clause["models"])
    if clause["n"]:  # `all 20`, besides the baseline
        models = [x for x in comparison.models if x != comparison.baseline]
        assert int(clause["n"]) == len(models)
    elif not models:  # `both` or `all` are the models of the only tie
        (tie,) = [x for x in text.split("; ") if " are " in x]
        models = [x for x in comparison.models if x in _models(tie) or " more are " in tie]
        models = [x for x in models if x != comparison.baseline]
    return clause["baseline"] == comparison.baseline and all(
        _verdict(comparison, model, comparison.baseline, label) in BETTER
        and _less_is_true(comparison, model, label, clause["margin"])
        for model, label in product(models, _labels(comparison, clause["labels"]))
    )


def _no_mean(comparison: Comparison, clause: re.Match[str], _: str) -> bool:
    pairs = product(_models(clause["models"]), _labels(comparison, clause["labels"]))
    return not any(_has_mean(comparison, model, label) for model, label in pairs)


def _not_comparable(comparison: Comparison, clause: re.Match[str], _: str) -> bool:
    return {
        _verdict(comparison, model, other, label)
        for model, label in product(_models(clause["models"]), comparison.primary)
        for other in comparison.models
        if comparison.difference(model, other, label)  # many models: with baseline and leaders only
    } == {"not_comparable"}


def _against_baseline(comparison: Comparison, clause: re.Match[str], _: str) -> bool:
    """True if all states of the models are those of the verdicts, and none is left out."""
    states = re.findall(STATE, clause["states"])
    baseline = comparison.baseline
    for model in _models(clause["models"]):
        labels = [x for x in comparison.primary if _has_mean(comparison, model, x)]
        shared = {x for x in labels if baseline in _rivals(comparison, model, x)}
        named = {label for _, on, _ in states for label in _labels(comparison, on)} & shared
        if named != shared or not all(
            _verdict(comparison, model, baseline, label) in STATES[words]
            and _less_is_true(comparison, model, label, margin or None)
            for words, on, margin in states
            for label in shared.intersection(_labels(comparison, on))
        ):
            return False
    return True


RULES: dict[str, Callable[[Comparison, re.Match[str], str], bool]] = {
    rf"(?P<model>{MODEL})(?:, the baseline,)? is best{ON}"
    rf"(?:, though perhaps less than (?P<margin>{SIZE}) ahead of {MODEL})?": _best,
    rf"(?P<models>{MODELS}) are (?P<words>identical|equivalent|too close to call){ON}"
    r"(?P<reason>, as too few users differ)?": _tie,
    rf"(?P<model>{MODEL}) has the best mean{ON}, but"
    rf"(?: is not shown to be better than (?P<not>{MODELS}))?(?:, and)?"
    rf"(?: (?P<beaten>{MODELS}) beats? it on the users with values of both)?": _best_mean,
    rf"(?P<models>{MODELS}|both|all(?: (?P<n>\d+))?) beats? (?P<baseline>{MODEL}){ON}"
    rf"(?:, perhaps by less than (?P<margin>{SIZE}))?": _beats,
    rf"(?P<models>{MODELS}) (?:has|have) no mean of (?P<labels>.+)": _no_mean,
    rf"(?P<models>{MODELS}) (?:is|are) not comparable, as too many users have no value":
        _not_comparable,
    rf"(?P<models>{MODELS}) (?:is|are) (?P<states>(?:{STATE})+)": _against_baseline,
}  # fmt: skip


def _is_true(comparison: Comparison, clause: str, text: str) -> bool:
    matches = [(rule, match) for x, rule in RULES.items() if (match := re.fullmatch(x, clause))]
    return bool(matches) and any(rule(comparison, match, text) for rule, match in matches)


def _start_is_true(comparison: Comparison, start: str) -> bool:
    """True if `No model beats m0 …` is, or `No model is shown to beat m0 …`."""
    pairs = [pair for x in comparison.primary for pair in comparison.against_baseline(x)]
    words = {_verdict(comparison, pair.a, pair.b, pair.label) for pair in pairs}
    is_open = not words.isdisjoint(TOO_FEW | {"undecided"})
    return words.isdisjoint(BETTER) and is_open <= ("shown" in start)


def _mark_is_true(comparison: Comparison, model: str, mark: str, label: str) -> bool:
    rivals = _rivals(comparison, model, label)
    leader, *_ = comparison.leaders(label)
    if mark == "best":
        verdicts = {_verdict(comparison, model, other, label) for other in rivals}
        return bool(verdicts) and verdicts <= BETTER
    tied = {"level": LEVEL, "close": TOO_FEW | {"undecided"}}[mark]
    if model == leader:
        return any(_verdict(comparison, leader, other, label) in tied for other in rivals)
    return leader in rivals and _verdict(comparison, leader, model, label) in tied


@pytest.mark.parametrize("seed", range(40))
def test_answers_and_marks_of_random_comparisons_are_true(seed: int) -> None:
    comparison = random_comparison(seed)
    text, *users = re.split(r",(?: each)? on the (?=\d|users with)", answer(comparison)[:-1])
    known = (x for x in comparison.primary_pairs if x.difference is not None)
    pairs = [x for x in known if x.verdict != "not_comparable"]
    counts = {pair.n_users for pair in pairs}
    for numbers in users:
        assert {*map(int, re.findall(r"\d+", numbers))} == {min(counts), max(counts)}
    scores = {comparison.score(m, x.label).n_users for x in pairs for m in (x.a, x.b)}
    assert users or scores <= counts or text.startswith("No model is comparable")

    start, _, rest = text.rpartition(": ")
    if start.startswith("No model"):
        assert _start_is_true(comparison, start), text
    if not text.startswith(("No model has a mean", "No model is comparable")):
        assert [x for x in rest.split("; ") if not _is_true(comparison, x, rest)] == [], text
    assert [
        (label, model, mark)
        for label in comparison.labels
        for model, mark in marks(comparison, label).items()
        if not _mark_is_true(comparison, model, mark, label)
    ] == []


def test_models_that_all_beat_the_baseline_are_counted_not_named() -> None:
    comparison = normal_world(1, 13, 200, gain=1).compare()

    text = answer(comparison)
    assert text.endswith("; all 12 beat m0.")
    assert _is_true(comparison, "all 12 beat m0", text)
