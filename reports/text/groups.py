"""Groups of a segmentation: their names, and those for which models have no list.

A model without lists for a group is not worse there, whatever `user_no_recs` does with its users.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import DataWarning, Segmentation, SegmentCell
from concord.metrics_core.results.text_format import MAX_NAMES, join_names, percent
from concord.reports.text.numbers import label_decimals, number
from concord.reports.text.warnings import exceeded_text

_NEW, _SINGLE = "0", "1"  # names of groups by activity


def group_name(segmentation: Segmentation, group: str) -> str:
    """Return the name of a group: `new users (0 interactions)`, `1 to 20 interactions`."""
    if not segmentation.by_activity:
        return group
    if group == _NEW:
        return f"new users ({group} interactions)"
    return f"{group} interaction{'s' * (group != _SINGLE)}"


def group_phrase(segmentation: Segmentation, groups: Sequence[str]) -> str:
    """Return groups in a sentence: `new users`, `channel “advert”`, `head and tail items`."""
    with_users = {group.name for group in segmentation.segments if group.n_users}
    if len(groups) > 1 and {*groups} == with_users:
        return f"every group of {segmentation.name}"
    if segmentation.by_activity:
        active = [group for group in groups if group != _NEW]
        noun = "interaction" if active == [_SINGLE] else "interactions"
        names = ["new users"] if _NEW in groups else []
        names += [f"users with {join_names(active, 'or')} {noun}"] if active else []
        return join_names(names)
    if segmentation.kind != "user":
        return f"{join_names(groups)} items"
    return f"{segmentation.name} {join_names([f'“{group}”' for group in groups])}"


def users_phrase(segmentation: Segmentation, group: str) -> str:
    """Return the users of a group: `new users`, `users of channel “advert”`."""
    phrase = group_phrase(segmentation, [group])
    return phrase if segmentation.by_activity else f"users of {phrase}"


def explain_groups(segmentation: Segmentation) -> str:
    """Return what head, middle, tail and cold items are; empty for groups of users."""
    if segmentation.kind == "user":
        return ""
    meanings = {
        "head": "the most popular items in the training set",
        "middle": "the next ones",
        "tail": "all others",
        "cold": "items without training rows",
    }
    if segmentation.shares is not None:
        head, middle = segmentation.shares
        meanings["head"] += f", with {percent(head)} of its interactions"
        meanings["middle"] += f", up to {percent(middle)} of them"
    parts = [
        f"{group.name}: {meanings[group.name]}"
        for group in segmentation.segments
        if group.name in meanings
    ]
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


NEARLY_ALL = 0.9  # of the users of a group, or of the users without a list


@dataclass(frozen=True)
class MissingLists:
    """A group of users of whom nearly none has a list of `models`.

    Attributes
    ----------
    counts : tuple of int
        Users without a list of each model.
    """

    segmentation: Segmentation
    group: str
    n_users: int
    models: tuple[str, ...]
    counts: tuple[int, ...]


def absent_models(segmentation: Segmentation) -> dict[str, list[str]]:
    """Return group -> models that have no list for nearly all of its users."""
    models: dict[str, list[str]] = {}
    n_users = {group.name: group.n_users for group in segmentation.segments}
    for cell in segmentation.cells:
        if (cell.n_without_list or 0) > NEARLY_ALL * n_users.get(cell.segment, 0):
            group = models.setdefault(cell.segment, [])
            group += [cell.model] * (cell.model not in group)
    return models


def not_compared(comparison: Comparison, segmentation: Segmentation) -> set[tuple[str, str]]:
    """Return (model, group) where the model or the baseline has no list."""
    return {
        (model, group)
        for group, absent in absent_models(segmentation).items()
        for model in (comparison.models if comparison.baseline in absent else absent)
    }


def compared_cells(
    comparison: Comparison, segmentation: Segmentation, cells: Sequence[SegmentCell]
) -> list[SegmentCell]:
    """Return the cells of groups for which both the model and the baseline have lists."""
    excluded = not_compared(comparison, segmentation)
    return [cell for cell in cells if (cell.model, cell.segment) not in excluded]


def groups_without_lists(comparison: Comparison) -> list[MissingLists]:
    """Return each group of users that models leave out.

    A group with the counts of one in another segmentation has the same users, and is left out.
    """
    groups: list[MissingLists] = []
    for segmentation in comparison.segments:
        if segmentation.kind == "user":
            known = {(each.models, each.counts) for each in groups}
            new = _groups_of(comparison, segmentation)
            groups += [each for each in new if (each.models, each.counts) not in known]
    return groups


def _groups_of(comparison: Comparison, segmentation: Segmentation) -> list[MissingLists]:
    n_users = {group.name: group.n_users for group in segmentation.segments}
    groups = []
    for group, models in absent_models(segmentation).items():
        missing = {
            cell.model: cell.n_without_list or 0
            for cell in segmentation.cells
            if cell.segment == group and cell.model in models
        }
        names = tuple(model for model in comparison.models if model in missing)
        counts = tuple(missing[model] for model in names)
        groups.append(MissingLists(segmentation, group, n_users[group], names, counts))
    return groups


def missing_list_sentences(comparison: Comparison) -> list[str]:
    """Return a sentence per group of users that models leave out, with the baseline's mean."""
    return [_sentence(comparison, each) for each in groups_without_lists(comparison)]


def _sentence(comparison: Comparison, missing: MissingLists) -> str:
    fewest, most = min(missing.counts), max(missing.counts)
    baseline, label = comparison.baseline, comparison.primary[0]
    users = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    if fewest < missing.n_users:
        users += f" of {missing.n_users:,}"
    others = [model for model in comparison.models if model not in missing.models]
    if not others:
        models = "any model"
    elif len(missing.models) > MAX_NAMES and len(others) <= MAX_NAMES:
        models = f"any model but {join_names(others)}"
    else:
        models = join_names(missing.models)
    text = f"{users} {users_phrase(missing.segmentation, missing.group)} get no list from {models}"
    conventions = {each.name: each.value for each in comparison.conventions.values}
    if conventions.get("user_no_recs") == "zero":
        text += ", which counts as 0"
    means = (
        cell.mean
        for cell in missing.segmentation.cells
        if (cell.label, cell.segment, cell.model) == (label, missing.group, baseline)
    )
    mean = next(means, None)
    if baseline in missing.models or mean is None:
        return f"{text}."
    return f"{text}; {baseline} scores {number(mean, label_decimals(comparison, label))} there."


def explains(comparison: Comparison, warning: DataWarning) -> bool:
    """True if nearly all users of a warning about missing lists are in groups without lists.

    Groups of one segmentation have no user in common, and their users add up.
    """
    if warning.code != "user_sets_differ" or "without_list" not in warning.details:
        return False
    counts: dict[str, Counter[str]] = {}
    for each in groups_without_lists(comparison):
        of_segmentation = counts.setdefault(each.segmentation.name, Counter())
        of_segmentation.update(dict(zip(each.models, each.counts, strict=True)))
    return all(
        any(each[comparison.lists.get(name, name)] >= NEARLY_ALL * n for each in counts.values())
        for name, n in warning.details["without_list"].items()
    )


def warning_sentence(comparison: Comparison, warning: DataWarning) -> str:
    """Return the sentence of a warning; if groups without lists explain it, theirs."""
    if not explains(comparison, warning):
        return warning.sentence
    return " ".join(filter(None, [*missing_list_sentences(comparison), exceeded_text(warning)]))
