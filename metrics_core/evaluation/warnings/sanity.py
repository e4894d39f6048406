"""Warnings that an evaluation is too good or too bad to be true, and why it may be.

Codes of `SUSPICIOUS` are near certain: a gate that meets one decides nothing.
"""

import math
from collections.abc import Container, Iterator, Mapping

from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.diagnostics import TrainOverlap
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult, Models
from concord.metrics_core.evaluation.warnings.data import MIN_USERS
from concord.metrics_core.results.comparison_parts import SUSPICIOUS, DataWarning
from concord.metrics_core.results.reference import ReferenceHits, References

_MOST = 0.5  # of the users have a perfect top, or are missing
_MORE_PERFECT = 0.1  # of the users, than with any other model
_NEAR_CHANCE = 0.05  # of the way from chance to the best possible number of hits
_NEAR_CEILING, _FAR_BELOW = 0.95, 0.5  # of the best possible mean
_DENSE = 0.2  # of the largest possible number of hits is what chance brings
_FOREIGN = 0.01  # share of known ids, below which lists come from elsewhere
_MIN_ITEMS = 10  # distinct items of lists
_TINY = 1e-9


def sanity_warnings(
    config: EvaluationConfig,
    models: Models,
    data: EvaluationData,
    references: References | None,
    overlap: TrainOverlap | None,
) -> list[DataWarning]:
    """Return the warnings on means that no honest evaluation gives."""
    of_lists = list_sanity_warnings(
        config, models, data, references, overlap, label=str(config.primary_labels[0])
    )
    suspected = {model for each in of_lists if each.code in SUSPICIOUS for model in each.models}
    return [
        *of_lists,
        *_near_ceiling(config, models, data, references),
        *_below_popular(config, models, references, suspected),
    ]


def list_sanity_warnings(
    config: EvaluationConfig,
    models: Models,
    data: EvaluationData,
    references: References | None,
    overlap: TrainOverlap | None,
    *,
    label: str | None = None,
) -> list[DataWarning]:
    """Return those that need only the lists, and no mean but that of `label` if it is given."""
    return [
        *_perfect_tops(_perfect_shares(config, models, data, references)),
        *_chance(models, references, label),
        *_foreign_ids(models, data, overlap),
        *_swapped_split(data, overlap),
    ]


def checked_sanity(
    config: EvaluationConfig, models: Models, data: EvaluationData, references: References | None
) -> list[str]:
    """Return the codes of these warnings that all models were checked for."""
    hits = _telling_hits(references)
    is_checked = {
        "holds_truth": [*_perfect_shares(config, models, data, references)] == [*models],
        "no_better_than_chance": hits is not None and _chance_margin(hits) >= 1,
        "foreign_ids": True,
    }
    return [code for code, checked in is_checked.items() if checked]


def _perfect_shares(
    config: EvaluationConfig, models: Models, data: EvaluationData, references: References | None
) -> dict[str, tuple[float, int]]:
    """Return the largest share of users with a perfect top over replicates, and their number.

    Models for which few users can have one are left out, and all if chance brings many of the
    relevant items. If some judged items are not relevant, lists of judged items only, such as those
    of rating prediction, do not count.
    """
    hits = references.hits[0] if references and references.hits else None
    if hits and hits.chance is not None and hits.chance > _DENSE * hits.best_possible:
        return {}
    threshold, grades = config.conventions.relevance_threshold, data.truth_quality.get("grades")
    is_graded = threshold is not None and (
        grades is None or any(float(grade) < threshold for grade in grades)
    )
    shares: dict[str, tuple[float, int]] = {}
    for model, each in models.items():
        for result in each.replicate_results:
            other, perfect, other_judged, perfect_judged = _tops(result)
            if not is_graded:
                other, perfect = other + other_judged, perfect + perfect_judged
            if (n_users := other + perfect) >= MIN_USERS:
                shares[model] = max(shares.get(model, (0.0, 0)), (perfect / n_users, n_users))
    return shares


def _tops(result: ModelResult) -> list[int]:
    """Return the number of users by their kind in `perfect_tops`."""
    return list(result.summary.get("validity", {}).get("perfect_tops", [0] * 4))


def _perfect_tops(tops: Mapping[str, tuple[float, int]]) -> Iterator[DataWarning]:
    """Yield a warning for each model whose lists start with the whole ground truth.

    Else one if a model has many more perfect tops than all others: a partial leak.
    """
    for model, (share, n_users) in tops.items():
        others = max((each for name, (each, _) in tops.items() if name != model), default=1.0)
        details = {"share": share, "n_users": n_users}
        if share > _MOST:
            yield DataWarning("holds_truth", "serious", (model,), details)
        elif share > others + _MORE_PERFECT:
            details["others"] = others
            yield DataWarning("perfect_for_some", "serious", (model,), details)


def _near_ceiling(
    config: EvaluationConfig, models: Models, data: EvaluationData, references: References | None
) -> Iterator[DataWarning]:
    """Yield a warning if one model is near the best possible mean and all others far below.

    Only if too few users have several relevant items for their perfect tops to be counted.
    """
    label = config.primary_labels[0]
    reference = references and references.of(str(label))
    ceiling = (reference and reference.best_possible) or label.metric.high
    tops = _perfect_shares(config, models, data, references)
    if tops or len(models) < 2 or not label.metric.higher_is_better:  # noqa: PLR2004
        return
    means = {m: mean for m, each in models.items() if (mean := each.mean(str(label))) is not None}
    if len(means) < 2 or not math.isfinite(ceiling):  # noqa: PLR2004
        return
    *_, second, best = sorted(means, key=means.__getitem__)
    if means[best] >= _NEAR_CEILING * ceiling and means[second] <= _FAR_BELOW * ceiling:
        details = {"label": str(label), "mean": means[best], "others": means[second]}
        yield DataWarning("near_ceiling", "serious", (best,), {**details, "ceiling": ceiling})


def _chance(
    models: Models, references: References | None, label: str | None
) -> Iterator[DataWarning]:
    """Yield a warning for each model whose lists hold no more relevant items than chance brings.

    An upper limit of the number of hits, if it were a Poisson number, is near the number that
    chance brings, at the cutoff where such lists are found best. If `label` is given and has a
    chance, its mean is near this, too.
    """
    reference = references.of(label) if references and label else None
    hits = _telling_hits(references)
    if hits is None or hits.chance is None:
        return
    for model, result in models.items():
        for lists in result.replicate_results:
            counts, n_users = lists.at_cutoff(hits.k), lists.summary["users"]["in_truth"]
            if "hits" not in counts:
                continue
            length = counts["shown"] / max(hits.k * n_users, 1)  # short lists bring fewer
            expected = hits.chance * min(length, 1.0)
            is_near = _upper_limit(counts["hits"]) <= _near_chance(expected, hits.best_possible)
            if reference and reference.chance is not None and reference.best_possible is not None:
                most = _near_chance(reference.chance, reference.best_possible)
                is_near &= (lists.mean(reference.label) or 0.0) <= most
            if is_near:
                details = {"k": hits.k, "hits": counts["hits"], "expected": expected}
                yield DataWarning("no_better_than_chance", "serious", (model,), details)
                break


def _telling_hits(references: References | None) -> ReferenceHits | None:
    """Return the hits at the cutoff where lists in random order are found best."""
    known = [each for each in (references.hits if references else ()) if each.chance is not None]
    return max(known, key=_chance_margin, default=None)


def _chance_margin(hits: ReferenceHits) -> float:
    """Return the allowed limit over that of lists with as many hits as chance brings."""
    chance = hits.chance or 0.0
    return _near_chance(chance, hits.best_possible) / _upper_limit(chance)


def _upper_limit(n: float) -> float:
    """Return an upper limit of a Poisson number of which n was observed; 4 if n is 0."""
    return (math.sqrt(n + 1) + 1) ** 2


def _near_chance(chance: float, best: float) -> float:
    """Return twice the value by chance, but at most a twentieth of the way to the best."""
    return chance + min(chance, _NEAR_CHANCE * (best - chance))


def _below_popular(
    config: EvaluationConfig,
    models: Models,
    references: References | None,
    suspected: Container[str],
) -> Iterator[DataWarning]:
    """Yield a warning if no model has a better mean than the most popular items.

    Else one on the models with less than half of this mean, but for suspected ones.
    """
    label = str(config.primary_labels[0])
    reference = references.of(label) if references else None
    popular = reference.most_popular if reference else None
    means = {m: mean for m, each in models.items() if (mean := each.mean(label)) is not None}
    if popular is None or not means:
        return
    details = {"label": label, "popular": popular}
    low = tuple(
        model for model, mean in means.items() if 2 * mean < popular and model not in suspected
    )
    if max(means.values()) <= popular + _TINY:
        details = {**details, "mean": max(means.values())}
        yield DataWarning("below_popular", "serious", (), details)
    elif low:
        details = {**details, "mean": min(means.values())}
        yield DataWarning("far_below_popular", "serious", low, details)


def _foreign_ids(
    models: Models, data: EvaluationData, overlap: TrainOverlap | None
) -> Iterator[DataWarning]:
    """Yield a warning for models whose ids occur nowhere else, while the other tables agree.

    The ids of items are looked for in train and in the lists of other models, those of users in
    the ground truth. Only models with almost no item, or no user, of the ground truth are read.
    """
    lists = {model: result.replicate_results[0] for model, result in models.items()}
    strange = [model for model, result in models.items() if _has_foreign_items(result)]
    others = [each.lists for model, each in lists.items() if model not in strange]
    agree = bool(others) or (overlap is not None and overlap.shares_items)
    for model in strange if agree else ():
        share, example = data.known_share(lists[model], others)
        if share < _FOREIGN:
            details = {"kind": "item", "share": share, "example": example}
            yield DataWarning("foreign_ids", "serious", (model,), details)
    missing = {model: _missing_share(result) for model, result in models.items()}
    for model, result in models.items():
        users = result.summary.get("id_match", {}).get("users", {})
        is_strange = missing[model] > 1 - _FOREIGN and users.get("listed", 0) >= _MIN_ITEMS
        if is_strange and min(missing.values()) < _MOST:
            details = {"kind": "user", "share": users["known"] / users["listed"], "example": None}
            yield DataWarning("foreign_ids", "serious", (model,), details)


def _has_foreign_items(result: ModelResult) -> bool:
    """True if almost no item of the lists is in the ground truth."""
    items = result.summary.get("id_match", {}).get("items", {})
    listed = items.get("listed", 0)
    return listed >= _MIN_ITEMS and items["known"] < _FOREIGN * listed


def _missing_share(result: ModelResult) -> float:
    """Return the share of the users of the ground truth who have no list."""
    users = result.summary["users"]
    return float(users.get("without_list", 0) / max(users.get("in_truth", 0), 1))


def _swapped_split(data: EvaluationData, overlap: TrainOverlap | None) -> Iterator[DataWarning]:
    """Yield a warning if train has less than half the rows of the ground truth, of its users."""
    if overlap is None or not overlap.shares_users or data.folds:
        return
    if 2 * overlap.train_rows < overlap.truth_rows:
        details = {"rows": overlap.train_rows, "truth_rows": overlap.truth_rows}
        yield DataWarning("swapped_split", "serious", (), details)
