"""Folds with a truth of their own: training n of every model was made for fold n, and is judged by the truth of fold n."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any

from concord.metrics_core.checking.known_by import WHOLE
from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.comparing.evidence.replicating import KEY, Finding, Named, in_order
from concord.metrics_core.comparison.words import listed


def truths_of(truth: Any) -> dict[str, Any]:
    """`{"replicates": {1: truth, 2: truth}}` -> fold -> its truth; WHOLE -> the truth, where there is one for all.

    Raises
    ------
    InputError : two folds of one number
    """
    if not _is_folded(truth):
        return {WHOLE: truth}
    folds = {str(number): each for number, each in truth[KEY].items()}
    if len(folds) < len(truth[KEY]):
        what = f"two of its folds have one number: {listed(list(map(repr, truth[KEY])))}"
        raise refuse("truth", what, "give each fold a number of its own")
    return in_order(folds)


def _is_folded(truth: Any) -> bool:
    """Or is it a dict of users, one of whom has that name?"""
    if not isinstance(truth, Mapping) or list(truth) != [KEY]:
        return False
    of_key = truth[KEY]
    return isinstance(of_key, Mapping) and not all(isinstance(v, Number) for v in of_key.values())


def fold_findings(folds: Collection[str], models: Sequence[str], named: Named) -> Iterator[Finding]:
    """(model, what is wrong, what to do): every model has one training a fold."""
    wanted = list(in_order(dict.fromkeys(folds, "")))
    for model in models if folds else ():
        trainings = list(named.get(model, ()))
        if trainings != wanted:
            has = f"the trainings {listed(trainings)}" if trainings else "one training"
            what = f"has {has}, and the truth has the folds {listed(wanted)}"
            yield model, what, "give it one training a fold, numbered as the folds are"


def unpaired_folds(folds: Collection[str], *, paired: bool) -> Iterator[Finding]:
    """Trainings of different folds met different truths, so that their difference would be that of the truths, too."""
    if folds and not paired:
        what = "is false, and each fold has a truth of its own"
        yield "paired_replicates", what, "set it to true: models are compared fold by fold"
