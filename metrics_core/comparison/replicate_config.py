"""Replicates and folds of models: how they are named and paired."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any, TypeVar

from concord.metrics_core.conventions.convention import shown
from concord.metrics_core.errors import InputError, Problem, in_words, refuse
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.results.words import listed

T = TypeVar("T")
KEY = "replicates"
STAR = "*"  # of a pattern: the number of the training
Named = Mapping[str, Mapping[str, str]]  # model -> number of the training -> name of its lists
Finding = tuple[str, str, str]


def named_by(asked: Mapping[str, str | Mapping[str, str]], lists: Collection[str]) -> Named:
    """Each model's trainings, in the order of their numbers; of a pattern, all lists that it fits."""
    return {
        model: in_order(_fitting(given, lists) if isinstance(given, str) else given)
        for model, given in asked.items()
    }


def _fitting(pattern: str, lists: Collection[str]) -> dict[str, str]:
    before, _, after = pattern.partition(STAR)
    found = {}
    for name in lists:
        inner = name.removeprefix(before).removesuffix(after)
        if name == f"{before}{inner}{after}" and inner:
            found[inner] = name
    return found


def models_of(lists: Iterable[str], named: Named) -> list[str]:
    """The models that are compared: one that was trained several times stands where its first training does."""
    model_of = {name: model for model, of in named.items() for name in of.values()}
    return list(dict.fromkeys(model_of.get(name, name) for name in lists))


def in_order(given: Mapping[str, T]) -> dict[str, T]:
    """By their numbers: whole ones by size, before other texts."""

    def place(number: str) -> tuple[bool, int, str]:
        whole = number.isascii() and number.isdecimal()
        return not whole, int(number) if whole else 0, number

    return {number: given[number] for number in sorted(given, key=place)}


def replicate_findings(named: Named, lists: Collection[str], *, paired: bool) -> Iterator[Finding]:
    """(model, what is wrong, what to do)."""
    owner: dict[str, str] = {}
    for model, trainings in named.items():
        names = list(trainings.values())
        if missing := [name for name in names if name not in lists]:
            yield (
                model,
                f"names {listed(missing)}, and there are no such lists",
                "name lists of `models`",
            )
        if len(names) < 2:  # noqa: PLR2004 - replicates are several
            what = f"has {in_words(len(names), 'training')}: {listed(names) if names else 'none'}"
            yield model, what, "name two at least, or leave the model out of `replicates`"
        if model in lists:
            yield model, "is the name of lists, too", "give the model a name of its own"
        for name in names:
            if owner.setdefault(name, model) != model or names.count(name) > 1:
                yield model, f"names {name}, which is a training already", "name each training once"
    if paired and named:
        yield from _unpaired(named)


def _unpaired(named: Named) -> Iterator[Finding]:
    first, *others = named
    for model in others:
        if list(named[model]) != list(named[first]):
            what = (
                f"has the trainings {listed(list(named[model]) or ['none'])}, and {first} has "
                f"{listed(list(named[first]) or ['none'])}: they cannot be paired"
            )
            yield model, what, "number the same seeds or folds alike, or do not pair them"


def of_lists(settings: Mapping[str, T], named: Named) -> dict[str, T]:
    """What is said of a model is said of each of its trainings."""
    return {
        name: setting
        for model, setting in settings.items()
        for name in named.get(model, {"": model}).values()
    }


def unfolded(models: Any) -> tuple[dict[str, Any], Named]:
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
