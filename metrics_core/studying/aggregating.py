"""Ways of making one number a model of its numbers on several data sets."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from concord.metrics_core.studying.parts import LOWER_IS_BETTER, WAYS, Aggregation, Cell, Way
from concord.metrics_core.studying.ranks import average_ranks

OfModel = Mapping[str, float | None]


def aggregations(label: str, cells: Sequence[Cell], *, higher_is_better: bool) -> list[Aggregation]:
    """Every way with every model's value, and who wins under it; a model without a mean somewhere has no value.

    mean                     : of its means; data sets with large values decide
    mean_rank                : of its ranks; by how much it is better does not count
    mean_relative_difference : of (mean - baseline's mean) / baseline's mean
    wins                     : data sets in which no mean is better; those who share a win share its 1

    References
    ----------
    Shevchenko et al. (2024), KDD '24, 5701-5712: the way changes the winner.  doi:10.1145/3637528.3671655
    """
    models = list(dict.fromkeys(cell.model for cell in cells))
    of_model = {model: [cell for cell in cells if cell.model == model] for model in models}
    found: dict[Way, OfModel] = {
        "mean": {m: _mean([c.mean for c in own]) for m, own in of_model.items()},
        "mean_rank": {m: _mean([c.rank for c in own]) for m, own in of_model.items()},
        "mean_relative_difference": {
            m: _mean([c.relative for c in own]) for m, own in of_model.items()
        },
        "wins": _wins(cells, of_model, higher_is_better=higher_is_better),
    }
    rows: list[Aggregation] = []
    for way in WAYS:
        up = way not in LOWER_IS_BETTER and (higher_is_better or way == "wins")
        first = _winners(found[way], higher_is_better=up)
        rows += [Aggregation(label, way, m, value, m in first) for m, value in found[way].items()]
    return rows


def winners_of(rows: Sequence[Aggregation]) -> dict[Way, tuple[str, ...]]:
    """Way -> who wins under it; a way without any value is left out."""
    found: dict[Way, tuple[str, ...]] = {}
    for row in rows:
        if row.winner:
            found[row.way] = (*found.get(row.way, ()), row.model)
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def _wins(
    cells: Sequence[Cell], of_model: Mapping[str, Sequence[Cell]], *, higher_is_better: bool
) -> dict[str, float | None]:
    won = dict.fromkeys(of_model, Fraction(0))  # shares such as 1/2 + 1/3 + 1/6 make 1
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        means = {c.model: c.mean for c in cells if c.dataset == dataset}
        first = _winners(means, higher_is_better=higher_is_better)
        for model in first:
            won[model] += Fraction(1, len(first))
    return {
        model: float(won[model]) if all(cell.mean is not None for cell in own) else None
        for model, own in of_model.items()
    }


def _winners(values: OfModel, *, higher_is_better: bool) -> list[str]:
    known = {model: value for model, value in values.items() if value is not None}
    ranks = average_ranks(known, higher_is_better=higher_is_better)
    return [model for model in known if ranks[model] == min(ranks.values())]
