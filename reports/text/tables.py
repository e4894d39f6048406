"""Content of the report's tables: leaderboard with marks, pairs, and their models."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, Metric, Score
from concord.reports.text import numbers
from concord.reports.text.verdict_styles import VERDICTS

Mark = Literal["best", "level", "close"]
MEANINGS: Mapping[Mark, str] = {
    "best": "significantly better than every other mean",
    "level": "equivalent to the leading mean: any difference is too small to matter",
    "close": "not significantly different from the leading mean",
}
_SIGNIFICANTLY_BETTER = {"better", "better_below_threshold", "better_without_interval"}
_EQUIVALENT = {"equivalent", "identical"}
_NOT_SIGNIFICANT = {"undecided", "undecided_by_order", "too_few_users"}


def marks(comparison: Comparison, label: str) -> dict[str, Mark]:
    """Return model -> mark, for the models that lead on a label.

    One model is marked `best` if its mean is significantly better than each of the others.
    Otherwise the models that no test separates from the best mean are marked, and so is the best
    mean itself. A best mean whose lead was not tested has no mark; nor has a model without a mean.
    """
    leaders = comparison.leaders(label)
    if not leaders:
        return {}
    leader, *_ = leaders
    verdicts = {
        model: pair.verdict if (pair := comparison.difference(leader, model, label)) else None
        for model in comparison.models
        if model != leader and comparison.score(model, label).mean is not None
    }
    tied: dict[str, Mark] = {
        model: "level" if verdict in _EQUIVALENT else "close"
        for model, verdict in verdicts.items()
        if verdict in _EQUIVALENT | _NOT_SIGNIFICANT
    }
    if tied:
        return {leader: "close" if "close" in tied.values() else "level", **tied}
    is_best = bool(verdicts) and set(verdicts.values()) <= _SIGNIFICANTLY_BETTER
    return {leader: "best"} if is_best else {}


def legend(comparison: Comparison, labels: Iterable[str]) -> dict[Mark, str]:
    """Return mark -> meaning, of the marks that these labels have."""
    used = {mark for label in labels for mark in marks(comparison, label).values()}
    return {mark: meaning for mark, meaning in MEANINGS.items() if mark in used}


def beats(comparison: Comparison, model: str, other: str, label: str) -> bool:
    """True if a model is significantly better than another one on a label."""
    pair = comparison.difference(model, other, label)
    return pair is not None and pair.verdict in _SIGNIFICANTLY_BETTER


MANY_MODELS = 12  # with this number of models or more, there are no tables of models by models
MAX_MODELS_WITH_INTERVALS = 6  # in a table with a column per model
MAX_LABELS_OF_A_CARD = 8
_MAX_PAIRS = 10  # of one metric, listed in full
_MAX_MODELS = 30  # of charts and pairs
_N_BEST = 15  # models of these, if there are more
_MAX_COLUMNS = 5  # metrics of the leaderboard that fit beside each other, if fewer are primary


@dataclass(frozen=True)
class Column:
    """A metric of the leaderboard; `users` is empty if models have different users."""

    metric: Metric
    users: str
    marks: Mapping[str, Mark]


def main_labels(comparison: Comparison) -> list[str]:
    """Return the primary labels, then those at the main cutoff, then those without a cutoff."""
    others = [metric for metric in comparison.metrics if not metric.primary]
    at_main_cutoff = [metric.label for metric in others if metric.k == comparison.main_cutoff]
    without_k = [metric.label for metric in others if metric.k is None]
    return list(dict.fromkeys([*comparison.primary, *at_main_cutoff, *without_k]))


def leaderboard_columns(comparison: Comparison) -> list[Column]:
    """Return the columns of the leaderboard: primary metrics, and as many others as fit."""
    n_columns = max(_MAX_COLUMNS, len(comparison.primary))
    return [
        Column(comparison.metric(label), common_users(comparison, label), marks(comparison, label))
        for label in main_labels(comparison)[:n_columns]
    ]


def common_users(comparison: Comparison, label: str) -> str:
    """Return the users of a label's means, in words; empty if models have different users."""
    texts = {users_text(row) for row in comparison.scores_of(label)}
    return texts.pop() if len(texts) == 1 else ""


def usual_users(comparison: Comparison, labels: Iterable[str]) -> str:
    """Return the users of most of these labels, in words."""
    return Counter(common_users(comparison, label) for label in labels).most_common(1)[0][0]


def users_vary(comparison: Comparison, labels: Iterable[str]) -> bool:
    """True if the means of these labels are over different users."""
    return len({users_text(row) for label in labels for row in comparison.scores_of(label)}) > 1


def has_undefined(comparison: Comparison, labels: Iterable[str]) -> bool:
    """True if a value of these labels is undefined for some users."""
    return any(row.n_undefined for label in labels for row in comparison.scores_of(label))


def users_text(row: Score) -> str:
    """Return the number of users of a mean, and of users whose value is undefined."""
    requests = "" if row.n_requests is None else f"{row.n_requests:,} requests of "
    undefined = f", {row.n_undefined:,} undefined" if row.n_undefined else ""
    return f"{requests}{row.n_users:,} users{undefined}"


def interval_strip(comparison: Comparison, row: Score) -> tuple[float, float, float] | None:
    """Return low end, mean and high end, in percent of the range of the metric's intervals."""
    scores = comparison.scores_of(row.label)
    lows = [each.ci_low for each in scores if each.ci_low is not None]
    highs = [each.ci_high for each in scores if each.ci_high is not None]
    if row.ci_low is None or row.ci_high is None or row.mean is None or max(highs) <= min(lows):
        return None
    start, length = min(lows), max(highs) - min(lows)
    low, mean, high = (
        round(100 * (value - start) / length, 1) for value in (row.ci_low, row.mean, row.ci_high)
    )
    return low, mean, high


def has_all_pairs(comparison: Comparison, label: str) -> bool:
    """True if all pairs of several models were compared on a label."""
    others = comparison.compared_models
    return 1 < len(others) < MANY_MODELS - 1 and all(
        comparison.difference(a, b, label) for a in others for b in others if a != b
    )


def against_baseline(comparison: Comparison, label: str) -> list[Difference]:
    """Return the differences to the baseline, models in the order of the leaderboard."""
    models = comparison.compared_models
    pairs = (comparison.difference(model, comparison.baseline, label) for model in models)
    return [pair for pair in pairs if pair is not None]


def plotted_labels(comparison: Comparison) -> list[str]:
    """Return the primary labels on which models were compared with the baseline."""
    return [label for label in comparison.primary if against_baseline(comparison, label)]


def plot_rows(comparison: Comparison) -> list[list[str]]:
    """Return the labels that are plotted: two in a row if the same models have differences."""
    rows: list[tuple[list[str], list[str]]] = []  # models, labels
    for label in plotted_labels(comparison):
        models = [pair.a for pair in against_baseline(comparison, label)]
        if rows and len(rows[-1][1]) == 1 and rows[-1][0] == models:
            rows[-1][1].append(label)
        else:
            rows.append((models, [label]))
    return [labels for _, labels in rows]


def min_effect(comparison: Comparison, label: str) -> float:
    """Return the minimum relevant difference on a label; 0 if there is none."""
    effects = (pair.min_effect for pair in against_baseline(comparison, label))
    return next((effect for effect in effects if effect is not None), 0.0)


def has_wilcoxon(comparison: Comparison) -> bool:
    """True if params.yaml requests the p-values of Wilcoxon's test."""
    return any(row.p_wilcoxon is not None for row in comparison.pairs)


def listed_pairs(comparison: Comparison, label: str) -> list[Difference]:
    """Return the differences of a label that are listed in full.

    With many pairs, they are those to the baseline and between neighbours of the leaderboard. Of
    many models, they are all that were compared.
    """
    pairs = comparison.pairs_of(label)
    if len(pairs) <= _MAX_PAIRS or len(comparison.ranked) >= MANY_MODELS:
        return pairs
    neighbours = {frozenset(pair) for pair in pairwise(comparison.ranked)}
    return [row for row in pairs if row.vs_baseline or frozenset((row.a, row.b)) in neighbours]


def best_shares(comparison: Comparison, label: str) -> dict[str, float]:
    """Return model -> share of resamples in which it is best.

    Empty if it was not computed, or would contradict the intervals: the leader's share is at least
    the confidence if and only if the intervals show the leader ahead of every other model.
    """
    shares = {
        row.model: row.probability
        for row in comparison.best
        if row.label == label and row.model in comparison.models and row.probability is not None
    }
    if not shares:
        return {}
    leader = max(shares, key=shares.__getitem__)
    is_ahead = all(_is_ahead(comparison, leader, x, label) for x in shares if x != leader)
    return shares if is_ahead == (shares[leader] >= comparison.confidence) else {}


def resampled_users(comparison: Comparison, label: str) -> str:
    """Return `the users`, or `the 76 users with a value of every compared model`."""
    n_users = next(row.n_users for row in comparison.best if row.label == label)
    if {score.n_users for score in comparison.scores_of(label)} == {n_users}:
        return "the users"
    return f"the {n_users:,} users with a value of every compared model"


def _is_ahead(comparison: Comparison, model: str, other: str, label: str) -> bool:
    """True if the interval of the difference is on the better side of 0."""
    pair = comparison.difference(model, other, label)
    if pair is None or not pair.excludes_zero or pair.ci_low is None:
        return False
    return (pair.ci_low > 0) == comparison.metric(label).higher_is_better


def best_share_text(share: float | None) -> str:
    """Return a share of resamples as text, never as 0 or 100 %; empty if it is not shown."""
    if share is None:
        return ""
    if share < 0.001 or share > 0.999:  # noqa: PLR2004 - the precision of resamples
        return ("< 0.1" if share < 0.5 else "> 99.9") + numbers.PERCENT  # noqa: PLR2004
    return numbers.share(share)


def primary_metrics(comparison: Comparison) -> dict[str, Any]:
    """Return means and verdicts by primary label and model, for the table of `dvc exp show`."""
    content: dict[str, Any] = {}
    for label in comparison.primary:
        content[label] = {score.model: score.mean for score in comparison.scores_of(label)}
        pairs = [comparison.difference(m, comparison.baseline, label) for m in comparison.models]
        words = {pair.a: VERDICTS[pair.verdict].word for pair in pairs if pair is not None}
        if words:
            content[f"{label} verdict"] = words
    return content


def fold_models(comparison: Comparison, requested: Iterable[str]) -> Comparison:
    """Return the comparison without models that charts and pairs do not show.

    With more than 30 models, they show the best, the baseline, the leader of each primary metric,
    `requested` models and, if they are few, the models of the gate.
    """
    if len(comparison.models) <= _MAX_MODELS:
        return comparison
    visible = {*comparison.ranked[:_N_BEST], comparison.baseline, *requested}
    visible.update(*(comparison.leaders(label) for label in comparison.primary))
    if comparison.gate and len(comparison.gate.models) <= _N_BEST:
        visible.update(each.model for each in comparison.gate.models)
    folded = replace(
        comparison,
        models=tuple(model for model in comparison.models if model in visible),
        scores=tuple(each for each in comparison.scores if each.model in visible),
        pairs=tuple(each for each in comparison.pairs if {each.a, each.b} <= visible),
        distributions=tuple(each for each in comparison.distributions if each.a in visible),
    )
    # The same in all sections.
    vars(folded)["decimals"] = comparison.decimals
    vars(folded)["model_order"] = comparison.model_order  # of which colours depend
    return folded


def fold_note(comparison: Comparison, visible: Comparison) -> str:
    """Return the sentence that names the visible models; empty if all are visible."""
    if visible is comparison:
        return ""
    return (
        f"{len(visible.models)} of {len(comparison.models):,} models are shown here: the best "
        f"{_N_BEST} on {comparison.primary[0]}, the leaders of the other primary metrics, "
        f"{comparison.baseline}, and those that were requested. The leaderboard and the tables of "
        "differences hold all models, the files of the comparison all pairs that were compared."
    )
