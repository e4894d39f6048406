"""The answer of a study in sentences: who wins under how many ways of aggregating, and is it sure."""

import math
from collections.abc import Collection, Mapping, Sequence

from concord.metrics_core.comparison.words import listed
from concord.metrics_core.studying.aggregating import winners_of
from concord.metrics_core.studying.parts import WAYS, Aggregation, Answer, Way
from concord.metrics_core.studying.random_effects import FEWEST_DATASETS

WAY_WORDS: Mapping[Way, str] = {
    "mean": "mean",
    "mean_rank": "mean rank",
    "mean_relative_difference": "mean relative difference",
    "wins": "wins",
}


def answer_of(
    label: str,
    rows: Sequence[Aggregation],
    above: Collection[tuple[str, str]],
    n_datasets: int,
    alike: Sequence[tuple[str, ...]] = (),
) -> Answer:
    """Who wins alone under the most ways; then who shares the most; then who has the best mean rank.

    above : (better, worse) of each pair that differs significantly over data sets
    alike : data sets that are one and the same, of which no interval over data sets can be believed
    """
    winners = winners_of(rows)
    ranks = {r.model: r.value for r in rows if r.way == "mean_rank"}
    if not winners:
        return Answer(label, (), 0, 0, f"No model has a {label} on every data set.", "", False)

    def standing(model: str) -> tuple[int, int, float]:
        alone = sum(named == (model,) for named in winners.values())
        shared = sum(model in named for named in winners.values())
        return -alone, -shared, ranks[model] or math.inf

    first = min(standing(model) for model in ranks)
    best = [model for model in ranks if standing(model) == first]
    sentence = _sentence(label, best, -first[0], winners)
    sure, is_sure = _sure(best, above, list(ranks), n_datasets)
    if alike:
        what = f"{listed(alike[0])} are scored on the same truth, so they are one data set, not {len(alike[0])}"
        sure, is_sure = f"Not known: {what}.", False
    return Answer(label, tuple(best), -first[0], len(winners), sentence, sure, is_sure)


def _sentence(
    label: str, best: Sequence[str], alone: int, winners: Mapping[Way, tuple[str, ...]]
) -> str:
    """`3 of 4 ways of aggregating nDCG@10 name ease; by wins: als.`"""
    of = len(winners)
    others: dict[tuple[str, ...], list[str]] = {}
    for way in WAYS:
        if way in winners and (len(best) > 1 or winners[way] != (best[0],)):
            others.setdefault(winners[way], []).append(WAY_WORDS[way])
    told = "".join(f"; by {listed(ways)}: {_tie(models)}" for models, ways in others.items())
    if not alone:
        return f"No way of aggregating {label} names one model alone{told}."
    if alone == of:
        return f"All {of} ways of aggregating {label} name {best[0]}."
    verb = "names" if alone == 1 else "name"
    named = f"{verb} {best[0]}" if len(best) == 1 else f"each {verb} {listed(best)}"
    return f"{alone} of {of} ways of aggregating {label} {named}{told}."


def _tie(models: Sequence[str]) -> str:
    return models[0] if len(models) == 1 else f"{listed(models)} share it"


def _sure(
    best: Sequence[str],
    above: Collection[tuple[str, str]],
    models: Sequence[str],
    n_datasets: int,
) -> tuple[str, bool]:
    """Is the winner's difference to every other model, over data sets like these, above 0?"""
    if len(best) > 1:
        return f"Not sure: {listed(best)} stand level.", False
    if n_datasets < FEWEST_DATASETS:
        what = f"{n_datasets} data sets say nothing of another one: an interval over data sets needs {FEWEST_DATASETS}"
        return f"Not known: {what}.", False
    others = [model for model in models if model != best[0]]
    behind = [model for model in others if (best[0], model) in above]
    unsure = [model for model in others if model not in behind]
    if not unsure:
        return f"Sure for data sets like these: {best[0]} differs significantly from every other model.", True  # fmt: skip
    if not behind:
        what = f"{best[0]} differs significantly from no other model"
        return f"Not sure for data sets like these: over {n_datasets} of them, {what}.", False
    what = f"it differs significantly from {listed(behind)}, not from {listed(unsure)}"
    return f"Not sure for data sets like these: over {n_datasets} of them, {what}.", False
