"""Parsing and validation of replicates and folds."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from numbers import Number
from typing import Any, TypeVar

from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.errors import Problem, format_count, raise_problems, refuse
from concord.metrics_core.files import NO_FOLD, sort_by_number
from concord.metrics_core.results.text_format import join_names

T = TypeVar("T")
REPLICATES = "replicates"
MIN_REPLICATES = 2
STAR = "*"  # in a pattern: the number of the replicate
ReplicateNames = Mapping[str, Mapping[str, str]]  # model -> number -> name of its lists


def match_replicates(
    replicates: Mapping[str, str | Mapping[str, str]], lists: Collection[str]
) -> ReplicateNames:
    """Return the replicates of each model, sorted by number; a pattern gives all its matches."""
    return {
        model: sort_by_number(_match_pattern(value, lists) if isinstance(value, str) else value)
        for model, value in replicates.items()
    }


def _match_pattern(pattern: str, lists: Collection[str]) -> dict[str, str]:
    """Return number -> name of the lists that match."""
    prefix, _, suffix = pattern.partition(STAR)
    matches = {}
    for name in lists:
        number = name.removeprefix(prefix).removesuffix(suffix)
        if name == f"{prefix}{number}{suffix}" and number:
            matches[number] = name
    return matches


def model_names(lists: Iterable[str], replicates: ReplicateNames) -> list[str]:
    """Return the compared models; a model with replicates has the position of its first list."""
    model_of = {name: model for model, names in replicates.items() for name in names.values()}
    return list(dict.fromkeys(model_of.get(name, name) for name in lists))


def replicate_problems(
    replicates: ReplicateNames, lists: Collection[str], *, paired: bool
) -> Iterator[Problem]:
    """Yield unknown lists, too few replicates, duplicate names, and numbers that do not pair."""
    owner: dict[str, str] = {}
    for model, numbered in replicates.items():
        location, names = (REPLICATES, model), list(numbered.values())
        if missing := [name for name in names if name not in lists]:
            problem = f"names {join_names(missing)}, and there are no such lists"
            yield Problem(location, problem, "name lists of `models`")
        if len(names) < MIN_REPLICATES:
            count = format_count(len(names), "replicate")
            problem = f"has {count}: {join_names(names or ['none'])}"
            fix = "name two at least, or leave the model out of `replicates`"
            yield Problem(location, problem, fix)
        if model in lists:
            problem = "is also the name of lists"
            yield Problem(location, problem, "give the model a name of its own")
        for name in names:
            if owner.setdefault(name, model) != model or names.count(name) > 1:
                problem = f"names {name}, which is a replicate already"
                yield Problem(location, problem, "name each replicate once")
    if paired and replicates:
        yield from _pairing_problems(replicates)


def _pairing_problems(replicates: ReplicateNames) -> Iterator[Problem]:
    first, *others = replicates
    for model in others:
        numbers, first_numbers = list(replicates[model]), list(replicates[first])
        if numbers != first_numbers:
            problem = (
                f"has the replicates {join_names(numbers or ['none'])}, and {first} has "
                f"{join_names(first_numbers or ['none'])}: they cannot be paired"
            )
            fix = "give the same seed or fold the same number, or do not pair them"
            yield Problem((REPLICATES, model), problem, fix)


def settings_by_list(settings: Mapping[str, T], replicates: ReplicateNames) -> dict[str, T]:
    """Return name of lists -> the setting of its model."""
    return {
        name: setting
        for model, setting in settings.items()
        for name in replicates.get(model, {"": model}).values()
    }


def split_replicates(models: Mapping[Any, Any]) -> tuple[dict[str, Any], ReplicateNames]:
    """Return the lists of all models, and the names of replicates.

    `{"als": {"replicates": {1: lists, 2: lists}}}` has the lists als-1 and als-2.

    Raises
    ------
    InputError
        Replicates are not a dict, or a name or number occurs twice; all problems at once.
    """
    lists: dict[str, Any] = {}
    replicates: dict[str, dict[str, str]] = {}
    problems = []
    for model, value in models.items():
        by_name = {model: value}
        if isinstance(value, Mapping) and list(value) == [REPLICATES]:
            numbered, fix = value[REPLICATES], "write {1: lists, 2: lists}"
            if not isinstance(numbered, Mapping):
                problems.append(Problem((REPLICATES, model), f"is {format_value(numbered)}", fix))
                continue
            replicates[model] = sort_by_number({str(n): f"{model}-{n}" for n in numbered})
            by_name = {f"{model}-{n}": data for n, data in numbered.items()}
            if len(by_name) < len(numbered):
                problem = f"has a duplicate number: {join_names(list(map(repr, numbered)))}"
                problems.append(Problem((REPLICATES, model), problem, "give each its own number"))
        if duplicates := sorted(by_name.keys() & lists.keys(), key=str):
            problem = f"{join_names(duplicates)} is also the name of other lists"
            problems.append(Problem(str(model), problem, "give one of them another name"))
        lists |= by_name
    raise_problems(problems)
    return lists, replicates


def parse_truths(truth: Any) -> dict[str, Any]:
    """Return fold -> its ground truth; NO_FOLD -> the ground truth if there is only one.

    Folds are given as `{"replicates": {1: truth, 2: truth}}`.

    Raises
    ------
    InputError
        Two folds have the same number.
    """
    if not _has_folds(truth):
        return {NO_FOLD: truth}
    folds = {str(number): each for number, each in truth[REPLICATES].items()}
    if len(folds) < len(truth[REPLICATES]):
        problem = f"has a duplicate number: {join_names(list(map(repr, truth[REPLICATES])))}"
        raise refuse(("truth", REPLICATES), problem, "give each fold its own number")
    return sort_by_number(folds)


def _has_folds(truth: Any) -> bool:
    """True for a dict of folds; False if its key is a user id, with grades of items."""
    if not isinstance(truth, Mapping) or list(truth) != [REPLICATES]:
        return False
    folds = truth[REPLICATES]
    return isinstance(folds, Mapping) and not all(isinstance(v, Number) for v in folds.values())


def fold_problems(
    folds: Collection[str], models: Collection[str], replicates: ReplicateNames, *, paired: bool
) -> Iterator[Problem]:
    """Yield models without one replicate per fold, and folds that are not paired."""
    if not folds:
        return
    expected = list(sort_by_number(dict.fromkeys(folds, "")))
    for model in models:
        numbers = list(replicates.get(model, ()))
        if numbers != expected:
            has = f"the replicates {join_names(numbers)}" if numbers else "one replicate"
            problem = f"has {has}, and the ground truth has the folds {join_names(expected)}"
            fix = "give it one replicate per fold, with the numbers of the folds"
            yield Problem((REPLICATES, model), problem, fix)
    if not paired:
        problem = "is false, and each fold has its own ground truth"
        fix = "set it to true: models are compared fold by fold"
        yield Problem("paired_replicates", problem, fix)
