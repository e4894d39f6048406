"""What past evaluations say of the lists of an experiment: treatment minus control, label by label."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.calibrating.experiments import Experiment
from concord.metrics_core.checking.problems import InputError, Problem
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.comparison.parts import or_nan
from concord.metrics_core.metrics.judged import Floats

PINNED = "as pinned"
Key = tuple[str, str]  # label, definition


@dataclass(frozen=True)
class Skipped:
    """An experiment that takes no part, and why."""

    experiment: str
    why: str


@dataclass(frozen=True)
class Offline:
    """differences : (labels, experiments) treatment minus control, turned so that higher is better; NaN: no value"""

    keys: tuple[Key, ...]
    experiments: tuple[Experiment, ...]
    differences: Floats
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True)
class _Side:
    model: str
    comparison: Comparison


def revision_of(named: str, models: Sequence[str]) -> tuple[str, str]:
    """`als@v1.2` -> als, v1.2; a model of today, and a name without @, have the revision ``."""
    model, _, revision = named.partition("@")
    return (named, "") if named in models or not revision else (model, revision)


def offline_of(experiments: Sequence[Experiment], comparisons: Mapping[str, Comparison]) -> Offline:
    """The differences of every label that some experiment has, in the order of the labels today.

    Parameters
    ----------
    comparisons : revision -> its comparison; `` is the one of today

    Raises
    ------
    InputError : a model or a revision is not there
    """
    sides = _sides(experiments, comparisons)
    skipped = {i: why for i, pair in enumerate(sides) if (why := _unlike(*pair))}
    kept = [i for i in range(len(sides)) if i not in skipped]
    prints = Counter(sides[i][0].comparison.conventions.fingerprint for i in kept)
    if prints:
        (most, _), *_ = prints.most_common(1)
        for i in list(kept):
            if sides[i][0].comparison.conventions.fingerprint != most:
                skipped[i] = "evaluated under other conventions than the other experiments"
                kept.remove(i)
    found = [_differences(*sides[i]) for i in kept]
    keys = tuple(dict.fromkeys(key for each in [_order(comparisons), *found] for key in each))
    keys = tuple(key for key in keys if any(key in each for each in found))
    values = [[each.get(key, np.nan) for each in found] for key in keys]
    return Offline(
        keys,
        tuple(experiments[i] for i in kept),
        np.array(values, dtype=np.float64).reshape(len(keys), len(kept)),
        tuple(Skipped(experiments[i].name, skipped[i]) for i in sorted(skipped)),
    )


def _order(comparisons: Mapping[str, Comparison]) -> list[Key]:
    return [(label, PINNED) for label in next(iter(comparisons.values())).labels]


def _sides(
    experiments: Sequence[Experiment], comparisons: Mapping[str, Comparison]
) -> list[tuple[_Side, _Side]]:
    problems: list[Problem] = []
    pairs = []
    for each in experiments:
        sides = []
        for role, named in (("control", each.control), ("treatment", each.treatment)):
            today = comparisons[""].models if "" in comparisons else ()
            model, revision = revision_of(named, today)
            where, comparison = f"{each.where}: {role}", comparisons.get(revision)
            if comparison is None:
                what = (
                    f"{named!r} names the revision {revision!r}, of which no comparison was given"
                )
                problems.append(Problem(where, what, "give its comparison"))
            elif model not in comparison.models:
                then = f" of {revision}" if revision else ""
                what = f"{model!r} is not among the models{then}"
                problems.append(
                    Problem(where, what, f"name one of: {', '.join(comparison.models)}")
                )
            else:
                sides.append(_Side(model, comparison))
        pairs.append(tuple(sides))
    if problems:
        raise InputError(problems)
    return [(control, treatment) for control, treatment in pairs]


def _unlike(control: _Side, treatment: _Side) -> str:
    """Why the difference of the two would be none of the lists; nothing where it is one."""
    one, other = control.comparison, treatment.comparison
    if one is other:
        return ""
    if one.conventions.fingerprint != other.conventions.fingerprint:
        return "control and treatment were evaluated under different conventions"
    truths = [_truth(each) for each in (one, other)]
    if None in truths:
        return "it is not known whether control and treatment were evaluated on the same truth"
    if truths[0] != truths[1]:
        return "control and treatment were evaluated on different truths"
    return ""


def _truth(comparison: Comparison) -> dict[str, str] | None:
    """The hash of the truth, or of that of each fold; None where one is not known."""
    truths = comparison.provenance.truths
    found = {each.role: each.sha256 for each in truths if each.sha256 is not None}
    return found if truths and len(found) == len(truths) else None


def _differences(control: _Side, treatment: _Side) -> dict[Key, float]:
    one, other = dict(_values(control)), dict(_values(treatment))
    found = {}
    for key, value in other.items():
        sign = 1 if treatment.comparison.metric(key[0]).higher_is_better else -1
        if key in one and np.isfinite(difference := sign * (value - one[key])):
            found[key] = float(difference)
    return found


def _values(side: _Side) -> Iterator[tuple[Key, float]]:
    """Of all labels as they are pinned, and of the primary ones under every other definition of the panel."""
    for label in side.comparison.labels:
        yield (label, PINNED), or_nan(side.comparison.score(side.model, label).mean)
    for entry in side.comparison.panel:
        for definition in entry.definitions[1:]:
            value = definition.values.get(side.model)
            yield (entry.metric, definition.name), or_nan(value)
