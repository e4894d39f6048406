"""What the findings of an audit say: in the words of a comparison's warnings where these tell the same."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from concord.metrics_core.auditing.checks import Seen
from concord.metrics_core.auditing.copies import FEWEST, Copies
from concord.metrics_core.auditing.drift import TIMES, Drift
from concord.metrics_core.auditing.parts import Effect, Turn
from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.comparing.warnings.data import born_after as warned_born_after
from concord.metrics_core.comparing.warnings.data import truth_before_train, truth_in_train
from concord.metrics_core.comparing.warnings.warned import severity_of_rows
from concord.metrics_core.comparison.parts import Severity, Warned
from concord.metrics_core.comparison.words import MINUS, number, percent
from concord.metrics_core.statistics.paired import FEWEST_INFORMATIVE

SOURCES: Mapping[str, str] = {
    "truth_before_train": "Meng et al. 2020; Ji et al. 2023",
    "train_after_truth": "Ji et al. 2023; Hidasi & Czapp 2023; Gusak et al. 2025",
    "future_items": "Ji et al. 2023",
    "items_born_after": "Ji et al. 2023; Sun 2023",
    "users_born_after": "Ji et al. 2023; Sun 2023",
    "truth_in_train": "Kaufman et al. 2012",
    "item_copies": "Kaufman et al. 2012; Broder 1997",
    "user_copies": "Kaufman et al. 2012; Broder 1997",
    "cold_users": "Schein et al. 2002",
    "cold_items": "Schein et al. 2002",
    "popularity_drift": "Sun 2023; Lin 1991",
}
NOTES = (
    "Means with and without touched users show what these users weigh, and they may differ from others in more than a "
    "leak. What models would reach without the leak takes another split and another training.",
    "Touched users and others are different people, so a shift has the interval of two independent means (Welch's). Two "
    "models are compared on the same users, by paired t intervals. No interval is corrected for the number of checks.",
)
_ONE_TIME = "train on what happened before the truth, with one split time for all users"
_DIGITS = 4


class Said(NamedTuple):
    """What a finding means, and what to do."""

    severity: Severity | None
    sentence: str
    fix: str


NOTHING = Said(None, "Nothing was found.", "")


def of_warning(told: Warned) -> Said:
    """The same as a warning of a comparison."""
    return Said(told.severity, told.sentence, told.fix)


def before_train(seen: Seen) -> Said:
    """Of users whose truth begins before their train ends."""
    return of_warning(truth_before_train(len(seen.touched)))


def in_train(seen: Seen) -> Said:
    """Of pairs that stand on both sides."""
    return of_warning(truth_in_train(seen.rows, seen.of_rows, len(seen.touched)))


def after_truth(seen: Seen, median: float) -> Said:
    """Of a train that goes on after the truth begins; `median`: the share of it that does so for the median user."""
    return Said(
        "notice",
        f"{_rows(seen, 'train', 'are', 'is')} later than the first row of the truth. When the truth of the median user begins, "
        f"{percent(median)} of train is still to come: models learned from what happened after it.",
        _ONE_TIME,
    )


def born_after(seen: Seen, kind: str) -> Said:
    """Of an item, or a user, whom train knows from later on."""
    counts = {"users": len(seen.touched), "items": seen.items}
    return of_warning(warned_born_after(kind, seen.rows, seen.of_rows, **counts))


def cold_users(seen: Seen, of_users: int) -> Said:
    """Of users whom train lacks."""
    share = percent(len(seen.touched) / of_users)
    sentence = f"{in_words(len(seen.touched), 'user')} of the truth ({share}) have no row in train: a model knows nothing of them."
    return Said("notice", sentence, "look at them apart, as a segment by activity with the edge 0")


def cold_items(seen: Seen) -> Said:
    """Of items that train lacks."""
    items = f"{in_words(seen.items, 'item')}, {percent(seen.items / seen.of_items)} of its items,"
    sentence = f"{_rows(seen, 'the truth', 'hold', 'holds')} {items} that train lacks: no model that learns from train alone finds them."
    return Said("notice", sentence, "read means as lower bounds, or give models what is known of new items")  # fmt: skip


def copied(seen: Seen, copies: Copies, kind: str) -> Said:
    """Of items, or users, that look like copies."""
    if not copies.number:
        return Said(None, f"No {kind}s look like copies: {_signs(copies)}.", "")
    have = f"{in_words(copies.number, kind)} look like copies of others ({_signs(copies)})"
    if not seen.rows:
        sentence = f"{have}; no row of the truth leaks through them."
        return Said("notice", sentence, f"if these {kind}s are the same, give them one id")
    held = _rows(seen, "the truth", "are", "is")
    held += " of an item whose copy their user has in train" if kind == "item" else " in train under a copy of their user"  # fmt: skip
    sentence = f"{have}. {held}: the answer is there under another id."
    fix = f"give copies one id before the split, or leave such {kind}s out of the truth"
    return Said(severity_of_rows(seen.rows, seen.of_rows), sentence, fix)


def drifted(seen: Seen, found: Drift) -> Said:
    """Of shares of items."""
    mean = found.mean_by_chance
    by_chance = "" if mean is None else f"; divided at random, these rows would have {mean:.3f}"
    risen = f" {in_words(seen.items, 'item')} took at least {TIMES} times their share of train." if seen.rows else ""  # fmt: skip
    sentence = f"Items' shares in the truth are {found.bits:.3f} bits from those in train (0: alike, 1: no item in common){by_chance}.{risen}"
    fix = "train on recent rows, and let popularity be counted up to the split"
    beyond = found.bits > max(found.by_chance, default=0.0)
    return Said("notice", sentence, fix) if beyond else Said(None, sentence, "")


def pooled(label: str) -> str:
    """Of a label whose mean is no mean of users' values."""
    return (
        f"{label} is one ratio over all users: what it would be without some of them is not told."
    )


def not_made(why: str, fix: str) -> Said:
    """Of a check that could not be made."""
    return Said(None, f"Could not be made: {why}.", fix)


def weighed(
    label: str,
    effects: Sequence[Effect],
    turns: Sequence[Turn],
    *,
    higher_is_better: bool,
    confidence: float,
) -> str:
    """How far the means of a label move without the touched users, and whether the order of the models turns."""
    n_users = max(each.n_users for each in effects)
    left = max(each.n_without for each in effects)
    known = [each for each in effects if each.shift is not None]
    if left < FEWEST_INFORMATIVE or not known:
        few = f"all but {left:,} of" if left else "all of"
        return f"{label}: {few} {in_words(n_users, 'user')} are touched, so nothing can be said without them."
    most = max(known, key=lambda each: abs(each.shift or 0.0))
    move = f"{label}: without {n_users - left:,} of {in_words(n_users, 'user')}, "
    if not most.shift:
        return f"{move}no mean moves."
    moves = "no model moves further than" if len(effects) > 1 else "the mean moves as"
    move += f"{moves} {most.model}, from {number(most.mean, _DIGITS)} to {number(most.mean_without, _DIGITS)}"
    move += f" ({_signed(most.shift)}{_interval(most.ci_low, most.ci_high, confidence)})"
    if len(effects) == 1:
        return f"{move}."
    return f"{move}; {_order(turns, higher_is_better, confidence)}."


def _order(turns: Sequence[Turn], higher_is_better: bool, confidence: float) -> str:
    if not turns:
        return "the order of the models stays"
    turn = next((each for each in turns if each.sure), turns[0])
    first, second = (turn.a, turn.b) if (turn.difference > 0) == higher_is_better else (turn.b, turn.a)  # fmt: skip
    sign = 1 if first == turn.a else -1
    with_all = _gap(sign, turn.difference, turn.ci_low, turn.ci_high, confidence)
    without = _gap(sign, turn.difference_without, turn.low_without, turn.high_without, confidence)
    sure = "both are sure" if turn.sure else "by these users it is not sure that it turns"
    more = f"; {in_words(len(turns) - 1, 'other pair')} turn{'s' * (len(turns) == 2)}" if len(turns) > 1 else ""  # noqa: PLR2004  # fmt: skip
    return f"the order of the models turns: {first} is ahead of {second} with them ({with_all}) and behind without them ({without}); {sure}{more}"


def _gap(
    sign: int, difference: float, low: float | None, high: float | None, confidence: float
) -> str:
    if low is not None and high is not None and sign < 0:
        low, high = -high, -low
    return f"{_signed(sign * difference)}{_interval(low, high, confidence)}"


def _interval(low: float | None, high: float | None, confidence: float) -> str:
    if low is None or high is None:
        return ""
    return f", {percent(confidence)} interval {_signed(low)} to {_signed(high)}"


def _signed(value: float) -> str:
    return f"{value:+.{_DIGITS}f}".replace("-", MINUS)


def _rows(seen: Seen, of: str, verb: str, of_one: str) -> str:
    """`2 rows of the truth (1 %) hold`."""
    share = percent(seen.rows / seen.of_rows)
    return f"{in_words(seen.rows, 'row')} of {of} ({share}) {of_one if seen.rows == 1 else verb}"


def _signs(copies: Copies) -> str:
    return ", ".join(f"{sign}: {in_words(count, 'pair')}" for sign, count in copies.signs) + f"; of sets, those of at least {FEWEST}"  # fmt: skip
