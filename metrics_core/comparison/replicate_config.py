"""ReplicateNames and folds of models: how they are named and paired, and what is wrong with them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from numbers import Number
from typing import Any, TypeVar

from concord.metrics_core.conventions.convention import shown
from concord.metrics_core.errors import InputError, Problem, in_words, refuse
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.results.words import listed

T = TypeVar("T")
KEY = "replicates"
MIN_REPLICATES = 2
STAR = "*"  # in a pattern: the number of the replicate
ReplicateNames = Mapping[str, Mapping[str, str]]  # model -> number -> name of its lists


def named_by(
    replicates: Mapping[str, str | Mapping[str, str]], lists: Collection[str]
) -> ReplicateNames:
    """Return the replicates of each model, sorted by number; a pattern stands for all lists that match it."""
    return {
        model: in_order(_matching(value, lists) if isinstance(value, str) else value)
        for model, value in replicates.items()
    }


def _matching(pattern: str, lists: Collection[str]) -> dict[str, str]:
    before, _, after = pattern.partition(STAR)
    matching = {}
    for name in lists:
        number = name.removeprefix(before).removesuffix(after)
        if name == f"{before}{number}{after}" and number:
            matching[number] = name
    return matching


def models_of(lists: Iterable[str], named: ReplicateNames) -> list[str]:
    """The models that are compared: one that was trained several times stands where its first training does."""
    model_of = {name: model for model, of in named.items() for name in of.values()}
    return list(dict.fromkeys(model_of.get(name, name) for name in lists))


def in_order(given: Mapping[str, T]) -> dict[str, T]:
    """By their numbers: whole ones by size, before other texts."""

    def place(number: str) -> tuple[bool, int, str]:
        whole = number.isascii() and number.isdecimal()
        return not whole, int(number) if whole else 0, number

    return {number: given[number] for number in sorted(given, key=place)}


def replicate_problems(
    replicates: ReplicateNames, lists: Collection[str], *, paired: bool
) -> Iterator[Problem]:
    """Yield unknown lists, replicates that are too few or named twice, and numbers that cannot be paired."""
    owner: dict[str, str] = {}
    for model, numbered in replicates.items():
        location, names = (KEY, model), list(numbered.values())
        if missing := [name for name in names if name not in lists]:
            what = f"names {listed(missing)}, and there are no such lists"
            yield Problem(location, what, "name lists of `models`")
        if len(names) < MIN_REPLICATES:
            what = f"has {in_words(len(names), 'replicate')}: {listed(names) if names else 'none'}"
            fix = "name two at least, or leave the model out of `replicates`"
            yield Problem(location, what, fix)
        if model in lists:
            what = "is the name of lists, too"
            yield Problem(location, what, "give the model a name of its own")
        for name in names:
            if owner.setdefault(name, model) != model or names.count(name) > 1:
                what = f"names {name}, which is a replicate already"
                yield Problem(location, what, "name each replicate once")
    if paired and replicates:
        yield from _pairing_problems(replicates)


def _pairing_problems(replicates: ReplicateNames) -> Iterator[Problem]:
    first, *others = replicates
    for model in others:
        if list(replicates[model]) != list(replicates[first]):
            what = (
                f"has the replicates {listed(list(replicates[model]) or ['none'])}, and {first} has "
                f"{listed(list(replicates[first]) or ['none'])}: they cannot be paired"
            )
            fix = "number the same seeds or folds alike, or do not pair them"
            yield Problem((KEY, model), what, fix)


def of_lists(settings: Mapping[str, T], named: ReplicateNames) -> dict[str, T]:
    """Return name of lists -> the setting of its model."""
    return {
        name: setting
        for model, setting in settings.items()
        for name in named.get(model, {"": model}).values()
    }


def unfolded(models: Any) -> tuple[dict[str, Any], ReplicateNames]:
    """`{"als": {"replicates": {1: lists, 2: lists}}}` -> the lists als-1 and als-2, and whose trainings they are.

    Raises
    ------
    InputError : replicates that are no dict, or whose names meet those of other lists
    """
    lists: dict[str, Any] = {}
    named: dict[str, dict[str, str]] = {}
    problems = []
    for model, given in models.items():
        if not (isinstance(given, Mapping) and list(given) == [KEY]):
            found = {model: given}
        elif not isinstance(given[KEY], Mapping):
            what = f"replicates is {shown(given[KEY])}"
            problems.append(Problem(str(model), what, "write {1: lists, 2: lists}"))
            continue
        elif len({str(n) for n in given[KEY]}) < len(given[KEY]):
            what = f"two of its replicates have one number: {listed(list(map(repr, given[KEY])))}"
            problems.append(Problem(str(model), what, "give each training a number of its own"))
            continue
        else:
            named[model] = in_order({str(n): f"{model}-{n}" for n in given[KEY]})
            found = {f"{model}-{n}": data for n, data in given[KEY].items()}
        if met := sorted(found.keys() & lists.keys(), key=str):
            fix = "give one of them another name"
            problems.append(
                Problem(str(model), f"{listed(met)} is the name of other lists, too", fix)
            )
        lists |= found
    if problems:
        raise InputError(problems)
    return lists, named


def truths_of(truth: Any) -> dict[str, Any]:
    """`{"replicates": {1: truth, 2: truth}}` -> fold -> its truth; WHOLE -> the truth, where there is one for all.

    Raises
    ------
    InputError : two folds of one number
    """
    if not _is_folded(truth):
        return {NO_FOLD: truth}
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


def fold_problems(
    folds: Collection[str], models: Collection[str], replicates: ReplicateNames, *, paired: bool
) -> Iterator[Problem]:
    """Yield models without one replicate per fold, and folds that are not paired."""
    if not folds:
        return
    expected = list(in_order(dict.fromkeys(folds, "")))
    for model in models:
        numbers = list(replicates.get(model, ()))
        if numbers != expected:
            has = f"the replicates {listed(numbers)}" if numbers else "one replicate"
            what = f"has {has}, and the truth has the folds {listed(expected)}"
            fix = "give it one replicate a fold, numbered as the folds are"
            yield Problem((KEY, model), what, fix)
    if not paired:
        what = "is false, and each fold has a truth of its own"
        fix = "set it to true: models are compared fold by fold"
        yield Problem("paired_replicates", what, fix)
