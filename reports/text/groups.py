"""Names of the groups of a segmentation that say what is in them."""

from collections.abc import Sequence

from concord.metrics_core.results.comparison_parts import Segmentation
from concord.metrics_core.results.text_format import join_names, percent

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
