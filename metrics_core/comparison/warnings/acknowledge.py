"""Warnings that are acknowledged with a reason, up to an extent."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from concord.metrics_core.comparison.min_effect import PERCENT
from concord.metrics_core.conventions.convention import format_value
from concord.metrics_core.conventions.registry import suggest
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.metrics_core.results.comparison_parts import (
    SUSPICIOUS,
    Acknowledgement,
    DataWarning,
)
from concord.metrics_core.stats.floating_point import difference

Details = Mapping[str, Any]
Acknowledgements = Mapping[str, Acknowledgement]  # by the code of the warning

_EXAMPLE = "{'truth_in_train': {'reason': 'repeat purchases are wanted', 'up_to': '25%'}}"
_KEYS = {"reason", "up_to", "models"}


def _share(details: Details) -> float:
    return float(details["share"])


def _share_of_rows(details: Details) -> float:
    return float(details["rows"] / details["of_rows"])


def _share_of_users(details: Details) -> float:
    """Return the share of the users whom a model lacks; that of the worst model of several."""
    missing = details.get("without_list", details.get("without_values"))
    most = max(missing.values()) if isinstance(missing, Mapping) else missing
    return float(most / details["n_users"])


_WITH_SHARE = (
    "constant_scores duplicates_counted heavy_users one_list own_id_listed short_lists "
    "split_not_by_time ties_at_cutoff train_items_recommended"
)
_SHARES: Mapping[str, Callable[[Details], float]] = {
    **dict.fromkeys(_WITH_SHARE.split(), _share),
    "few_lists": _share_of_users,
    "truth_in_train": _share_of_rows,
    "user_sets_differ": _share_of_users,
    "value_users_differ": _share_of_users,
}
_COUNTS = {  # code -> its detail
    "empty_truth": "lists",
    "not_in_catalogue": "rows",
    "spelled_otherwise": "ids",
}
_NO_EXTENT = (
    "all_relevant below_popular dcg_disagrees direction_unclear far_below_popular few_judged "
    "foreign_ids fractions_irrelevant holds_truth ids_rewritten low_threshold near_ceiling "
    "no_better_than_chance no_common_item nobody_relevant order_not_identifiable outlying_training "
    "padding_item perfect_for_some propensity same_file same_lists sampled_candidates "
    "sampled_corrected sampled_unfit several_lists several_splits swapped_split swapped_tables "
    "tie_range unobserved_users unrelated_train"
)
_WITHOUT_EXTENT = frozenset(_NO_EXTENT.split())
_SIGNS = {"future_items", "items_born_after", "truth_before_train", "users_born_after"}
CODES = frozenset({*_SHARES, *_COUNTS, *_WITHOUT_EXTENT})
VALUE_CODES = frozenset({"direction_unclear", "user_sets_differ"})  # of values without lists


def parse_acknowledgements(
    value: Any, codes: Collection[str] = CODES
) -> dict[str, Acknowledgement]:
    """Parse {code: {reason, up_to}} into acknowledgements by warning code.

    Parameters
    ----------
    value : object
        The dict.
    codes : collection of str
        Codes of the warnings that can occur.

    Raises
    ------
    InputError
        The value is not a dict, or its keys or values are invalid; all problems at once.
    """
    if not isinstance(value, Mapping):
        raise refuse("acknowledge", f"is {format_value(value)}", f"write a dict such as {_EXAMPLE}")
    raise_problems(
        problem for code, entry in value.items() for problem in _problems(code, entry, codes)
    )
    return {
        code: Acknowledgement(
            entry["reason"].strip(),
            None if entry.get("up_to") is None else str(entry["up_to"]),
            is_exceeded=False,
            models=tuple(entry.get("models") or ()),
        )
        for code, entry in value.items()
    }


def _problems(code: Any, entry: Any, codes: Collection[str]) -> Iterator[Problem]:
    location = ("acknowledge", code)
    if code not in codes:
        fix = "write split_not_by_time" if code in _SIGNS else suggest(str(code), codes)
        yield Problem(location, "is not the code of a warning", fix)
        return
    if not isinstance(entry, Mapping):
        yield Problem(location, f"is {format_value(entry)}", f"write a dict such as {_EXAMPLE}")
        return
    for key in entry:
        if key not in _KEYS:
            problem = f"{format_value(key)} is not a key of an acknowledgement"
            yield Problem(location, problem, suggest(str(key), _KEYS))
    reason, up_to = entry.get("reason"), entry.get("up_to")
    if not isinstance(reason, str) or not reason.strip("… .") or not reason.isprintable():
        problem = f"is {format_value(reason)}" if "reason" in entry else "is missing"
        fix = "write on one line why the warning is accepted"
        yield Problem((*location, "reason"), problem, fix)
    models = entry.get("models")
    names = models if isinstance(models, list | tuple) else ()
    is_valid = len(names) > 0 and all(isinstance(each, str) for each in names)
    if (models is not None or code in SUSPICIOUS) and not is_valid:
        problem = "is missing" if models is None else f"is {format_value(models)}"
        fix = "name the models for which it is accepted, such as [als]"
        yield Problem((*location, "models"), problem, fix)
    if up_to is not None and (fix := _extent_fix(code, up_to)):
        yield Problem((*location, "up_to"), f"is {format_value(up_to)}", fix)


def _extent_fix(code: str, up_to: Any) -> str:
    """Return what to write instead of an invalid extent; empty if it is valid."""
    if code in _WITHOUT_EXTENT:
        return f"remove it: {code} has no share and no count that could grow"
    if code in _COUNTS:
        is_count = type(up_to) is int and up_to >= 0
        return "" if is_count else f"write a number of {_COUNTS[code]}, such as 20"
    is_share = isinstance(up_to, str) and PERCENT.fullmatch(up_to) and float(up_to[:-1]) <= 100  # noqa: PLR2004
    return "" if is_share else "write a share from 0% to 100%, such as 25%"


def acknowledge_warnings(
    warnings: Iterable[DataWarning], acknowledgements: Acknowledgements
) -> list[DataWarning]:
    """Return the warnings with their acknowledgements, those that are acknowledged last."""
    marked = [
        _acknowledge(each, entry)
        if (entry := acknowledgements.get(each.code)) and _is_about(each, entry.models)
        else each
        for each in warnings
    ]
    return sorted(marked, key=lambda warning: warning.is_acknowledged)


def _is_about(warning: DataWarning, models: Collection[str]) -> bool:
    """True if the warning is about these models only; any warning without models."""
    return not models or (bool(warning.models) and {*warning.models} <= {*models})


def _acknowledge(warning: DataWarning, acknowledgement: Acknowledgement) -> DataWarning:
    code, details, up_to = warning.code, warning.details, acknowledgement.up_to
    is_exceeded = False
    if up_to is not None and code in _SHARES:
        is_exceeded = difference(_SHARES[code](details), float(up_to[:-1]) / 100) > 0
    elif up_to is not None:
        is_exceeded = details[_COUNTS[code]] > int(up_to)
    return replace(warning, acknowledgement=replace(acknowledgement, is_exceeded=is_exceeded))
