"""Who wins how often: shares of users who are better, equally and worse off, and how probably a model is the best."""

from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.reports.writing import numbers


@dataclass(frozen=True)
class Win:
    """One challenger against the baseline; shares in percent of the users, None where nothing was compared."""

    model: str
    better: float
    equal: float
    worse: float
    words: tuple[str, str, str]
    best: float | None
    best_words: str


def wins(comparison: Comparison, label: str) -> list[Win]:
    """Challengers in the order of the leaderboard; empty where no user was compared."""
    best = {row.model: row.probability for row in comparison.best if row.label == label}
    found = []
    for model in comparison.challengers:
        row = comparison.difference(model, comparison.baseline, label)
        if row is None or row.better is None:
            continue
        shares = (row.better, row.equal or 0.0, row.worse or 0.0)
        better, equal, worse = map(numbers.share, shares)
        chance = best.get(model)
        up, level, down = (100 * share for share in shares)
        words = (better, equal, worse)
        found.append(Win(model, up, level, down, words, chance, likely(chance)))
    return found


def baseline_chance(comparison: Comparison, label: str) -> str:
    """How probably the baseline is the best; nothing where it was not computed."""
    for row in comparison.best:
        if (row.label, row.model) == (label, comparison.baseline):
            return likely(row.probability)
    return ""


def likely(probability: float | None) -> str:
    """A share of resamples: never a certainty, however many there are."""
    if probability is None:
        return ""
    if probability < 0.001 or probability > 0.999:  # noqa: PLR2004 - resamples cannot tell more
        return ("< 0.1" if probability < 0.5 else "> 99.9") + numbers.PERCENT  # noqa: PLR2004
    return numbers.share(probability)
