"""On how few rows weighed metrics rest, and where a metric and its normalised form put models in another order."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import in_words
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.model_result import Models
from concord.metrics_core.evaluation.score import is_weighed_sum, names_users
from concord.metrics_core.evaluation.warnings.base import warned
from concord.metrics_core.evaluation.warnings.users import unit_word
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.results.comparison_parts import Warned
from concord.metrics_core.results.words import listed, percent

_WEIGHTS = ("rows", "effective", "largest", "clipped")  # of a model's summary


def weight_warnings(models: Models) -> Iterator[Warned]:
    """What inverse propensities rest on; nothing where rows count alike."""
    for model, each in models.items():
        weighed = each.summary.get("propensity")
        if weighed is None or weighed["largest"] is None:
            continue
        rows = in_words(weighed["rows"], "relevant row")
        clipped = f"; {weighed['clipped']:,} of them count as `clip`" if weighed["clipped"] else ""
        yield warned(
            "propensity",
            "notice",
            [model] if len(models) > 1 and _differ(models) else [],
            f"Hits count by the inverse of their propensities: {rows} are worth {weighed['effective']:,.1f} of equal weight, "
            f"and the heaviest has {percent(weighed['largest'])} of all weight{clipped}.",
            "where few rows decide, raise `conventions.propensity.clip`, at the price of some bias",
        )
        if not _differ(models):
            return


def _differ(models: Models) -> bool:
    weighed = [each.summary.get("propensity") or {} for each in models.values()]
    found = [[each.get(name) for name in _WEIGHTS] for each in weighed]
    return any(each != found[0] for each in found)


def unobserved_warnings(
    labels: Sequence[Label],
    conventions: Conventions,
    unobserved: Sequence[int],
    *,
    named: bool,
) -> Iterator[Warned]:
    """On means of weighed sums over users of whom something was observed, without the others.

    unobserved : by model, the users with a list of whom no relevant row was observed
    named      : does a table of users say who is evaluated?
    """
    sums = [str(each) for each in labels if is_weighed_sum(each, each.conventions(conventions))]
    if named or any(unobserved) or not sums:
        return
    whose = unit_word(conventions)
    give = "name all users in the table `users`, or " if names_users(conventions) else ""
    yield warned(
        "unobserved_users",
        "notice",
        [],
        f"Every {whose} with a list has an observed relevant item. If lists were made only for {whose}s of whom something "
        f"was observed, means of {listed(sums)} may be too high: each counts more, and the others, who count 0, are missing.",
        f"{give}give lists for all {whose}s whom the models serve",
    )


def order_warnings(config: EvaluationConfig, models: Models) -> Iterator[Warned]:
    """Where DCG and nDCG at one cutoff put models in another order, of which one label is primary.

    nDCG divides each user's DCG by the best that the user allows, so users with few relevant items weigh as much as
    those with many; only DCG is an unbiased estimate of a model's worth online.

    References
    ----------
    Jeunen, Potapov & Ustimenko (2024), KDD, 1222-1233.  doi:10.1145/3637528.3671687
    """
    evaluated = [str(label) for label in config.labels]
    for label in config.labels:
        other = str(label).removeprefix("n")
        if (
            label.name != "nDCG"
            or other not in evaluated
            or not {str(label), other} & {*config.primary}
        ):
            continue
        turned = [
            (a, b)
            for a, b in combinations(models, 2)
            if _ahead(models, str(label), a, b) * _ahead(models, other, a, b) < 0
        ]
        if turned:
            pairs = listed([f"{a} and {b}" for a, b in turned])
            yield warned(
                "dcg_disagrees",
                "notice",
                list(dict.fromkeys(model for pair in turned for model in pair)),
                f"{label} and {other} put {pairs} in another order: nDCG lets users with few relevant items weigh as much as "
                "those with many.",
                f"where the sum over all users is what counts, as in an experiment online, go by {other}",
            )


def _ahead(models: Models, label: str, a: str, b: str) -> float:
    one, other = models[a].mean(label), models[b].mean(label)
    return 0.0 if one is None or other is None else one - other
