"""Descriptions of MLflow runs, in Markdown: who was evaluated, and what came out against the baseline."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference

Json = Mapping[str, Any]
_ROOM = 7000  # characters; MLflow cuts a tag at 8,000 without a word


def model_note(users: Json, *, of_requests: bool = False) -> str:
    """What concerns one model alone: a run outlives the comparison that it was first part of."""
    return (
        f"{_who(users, of_requests=of_requests)}\nHow it compares with other models: `report.html` under Artifacts of the run `comparison` "
        "whose id is the tag `concord.comparison`."
    )


def comparison_note(comparison: Comparison) -> str:
    """The verdicts on the primary metrics, model by model, and where the rest is."""
    baseline = comparison.baseline
    lines = _retrained(comparison) + [
        line
        for model in _in_order(comparison)
        for line in (
            f"\n**{model}** against the baseline **{baseline}**:\n",
            *_verdicts(model, comparison),
        )
    ]
    ends = accumulate(len(line) + 1 for line in lines)
    shown = [line for line, end in zip(lines, ends, strict=True) if end < _ROOM]
    more = ["\n…"] if len(shown) < len(lines) else []
    where = "\nThe comparison of all models: `report.html` under Artifacts."
    return "\n".join([f"**{baseline}** is the baseline.", *shown, *more, where])


def _retrained(comparison: Comparison) -> list[str]:
    """Would it hold if the models were trained again? Nothing where each was trained once."""
    if comparison.replicates is None:
        return []
    answers = [f"- {answer}" for answer in comparison.replicates.answers]
    return ["\nWould it hold if the models were trained again?\n", *answers]


def _in_order(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(p.a for p in comparison.primary_pairs if p.vs_baseline))


def _verdicts(model: str, comparison: Comparison) -> Iterator[str]:
    for pair in comparison.primary_pairs:
        if pair.a == model and pair.vs_baseline:
            verdict = pair.verdict.replace("_", " ")
            yield f"- {pair.label}: {verdict}{_numbers(pair, comparison.confidence)}"


def _numbers(pair: Difference, confidence: float) -> str:
    """Empty where the comparison gives no number, for example with too few users."""
    if pair.difference is None:
        return ""
    text = f"; {pair.mean_a:.4f} against {pair.mean_b:.4f}, difference {pair.difference:+.4f}"
    if pair.ci_low is None or pair.ci_high is None:
        return text
    return f"{text} ({100 * confidence:g} % interval {pair.ci_low:+.4f} to {pair.ci_high:+.4f})"


def _who(users: Json, *, of_requests: bool) -> str:
    without = users["without_list"]
    missing = f", {without:,} of them without a list" if without else ""
    return f"{users['evaluated']:,} {'requests' if of_requests else 'users'}{missing}."
