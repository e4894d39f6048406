"""A comparison as text: verdicts, serious warnings, and the leaderboard of each primary metric."""

from collections.abc import Iterator

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison import Comparison
from concord.reports.text import numbers
from concord.reports.text.blocks import Block, TextTable
from concord.reports.text.missing_lists import warning_sentence
from concord.reports.text.numbers import conventions_name
from concord.reports.text.summary import headline, notes
from concord.reports.text.verdict_styles import VERDICTS

HEADER = ("mean", "interval", "difference", "interval", "verdict")


def describe(comparison: Comparison) -> Iterator[Block]:
    """Yield what was compared, the verdicts, the serious warnings, the leaderboards and notes."""
    models, metrics = format_count(len(comparison.models), "model"), ", ".join(comparison.primary)
    conventions = conventions_name(comparison.conventions)
    settings = f", conventions {conventions}" if comparison.has_lists else ""
    yield f"{models} on {metrics}; the baseline is {comparison.baseline}{settings}"
    yield headline(comparison)
    yield from comparison.verdicts[1:]
    for warning in comparison.serious:
        yield f"Warning ({warning.model_names}): {warning_sentence(comparison, warning)}"
    for label in comparison.primary:
        models_by_rank = [*comparison.leaders(label), *comparison.others(label)]
        rows = [(model, *_cells(comparison, model, label)) for model in models_by_rank]
        yield TextTable((label, *HEADER), rows)
    yield from notes(comparison)


def _cells(comparison: Comparison, model: str, label: str) -> tuple[str, ...]:
    digits = comparison.decimals[label]
    score = comparison.score(model, label)
    mean = numbers.number(score.mean, digits), numbers.interval(score.ci_low, score.ci_high, digits)
    pair = comparison.difference(model, comparison.baseline, label)
    if pair is None:
        return (*mean, "", "", "baseline" if model == comparison.baseline else "not compared")
    interval = numbers.signed_interval(pair.ci_low, pair.ci_high, digits)
    verdict = VERDICTS[pair.verdict].word
    return (*mean, numbers.signed(pair.difference, digits), interval, verdict)
