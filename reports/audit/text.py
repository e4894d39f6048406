"""An audit as text: one line per check, then the meaning, effect and fix of each finding."""

from collections.abc import Iterator, Mapping, Sequence

from concord.metrics_core.analyses.audit.result import (
    MIN_SET_SIZE,
    MIN_USERS,
    RISEN_FACTOR,
    Audit,
    AuditCheck,
    Copies,
    LeaveOutEffect,
    Reversal,
)
from concord.metrics_core.errors import format_count
from concord.metrics_core.results.text_format import join_names, percent, verb
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.numbers import MISSING, conventions_name, number, signed, signed_interval

_DIGITS = 4
_SOURCES: Mapping[str, str] = {
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
_EXAMPLES: Mapping[str, str] = {
    "truth_before_train": (
        "user {user}: training has item {item} at {train_time}, the user's ground truth begins at "
        "{truth_time}"
    ),
    "train_after_truth": (
        "training has item {item} of user {user} at {train_time}, the ground truth begins at "
        "{truth_time}"
    ),
    "future_items": (
        "a list of user {user} has item {item}, which first occurs in training at {train_time}, "
        "after the user's last row of the ground truth at {truth_time}"
    ),
    "items_born_after": (
        "item {item} is in the ground truth of user {user} at {truth_time}, and in training from "
        "{train_time} on"
    ),
    "users_born_after": (
        "user {user} is in the ground truth (item {item}) at {truth_time}, and in training from "
        "{train_time} on"
    ),
    "truth_in_train": "user {user}, item {item}: in training and in the ground truth",
    "item_copies": ("user {user}: the ground truth has item {item}, training has its copy {copy}"),
    "user_copies": (
        "user {user}: the ground truth has item {item}, training has it for the copy {copy}"
    ),
    "cold_users": "user {user} is not in training, but has item {item} in the ground truth",
    "cold_items": "item {item} is not in training, but in the ground truth of user {user}",
}
_EVIDENCE = {
    "title": "the same title",
    "vector": "the same vector",
    "users": "nearly the same users in training",
    "items": "nearly the same items in training",
}
_NOTES = (
    "The change of a mean shows what the affected users contribute to it. They may differ from "
    "the others in more than a leak: only a new split and training show the values without it.",
    "Affected users and others are different people, so the interval of a change is that of two "
    "independent means (Welch). Two models are compared on the same users, by paired t "
    "intervals. No interval is corrected for the number of checks.",
)
_NO_TIMES = "training set or ground truth has no times"


def describe(audit: Audit) -> Iterator[Block]:
    """Yield the table of checks, the findings, the checks that were not made, and notes."""
    performed_checks = [check for check in audit.checks if check.count.is_performed]
    users = format_count(audit.n_users, "user")
    yield Heading(
        f"{len(audit.findings)} of {format_count(len(performed_checks), 'check')} found something, "
        f"{users}, conventions {conventions_name(audit.conventions)}"
    )
    labels = list(dict.fromkeys(each.label for check in performed_checks for each in check.effects))
    header = ("check", "rows", "users", "items", *labels)
    yield TextTable(header, [_row(check, labels) for check in performed_checks])
    if labels:
        yield ""
        yield (
            "The column of a metric shows the model whose mean changes most without these users. "
            "reversal: two models change places. reversal?: they change places, but an interval "
            "contains 0."
        )
    for check in audit.findings:
        yield ""
        yield Heading(f"{check.name} ({check.count.severity})")
        yield from _finding_lines(audit, check)
    if audit.not_performed:
        yield ""
        names = join_names([check.name for check in audit.not_performed])
        fix = audit.times_fix[0].upper() + audit.times_fix[1:]
        yield f"Not checked, as {_NO_TIMES}: {names}. {fix}."
    yield ""
    yield from (f"Note: {note}" for note in _notes(audit))


def _notes(audit: Audit) -> list[str]:
    pooled = (
        f"{label} is one ratio over all users: it has no value without some of them."
        for label in audit.pooled
    )
    return [*_NOTES, *pooled]


def _row(check: AuditCheck, labels: Sequence[str]) -> tuple[str, ...]:
    count = check.count
    return (
        check.name,
        _share(count.rows, count.of_rows),
        _share(count.users, count.of_users),
        _share(count.items, count.of_items),
        *(_change(check, label) for label in labels),
    )


def _share(n: int | None, total: int | None) -> str:
    return f"{n:,} ({percent(n / total)})" if n and total else "0"


def _change(check: AuditCheck, label: str) -> str:
    """Return the largest shift of a label by the affected users, as in `−0.0123 (als), reversal`.

    `reversal?` is not significant.
    """
    shifts = [
        (each.shift, each.model)
        for each in check.effects
        if each.label == label and each.shift is not None and each.n_without >= MIN_USERS
    ]
    if not shifts:
        return MISSING if check.count.users and check.count.severity else ""
    shift, model = max(shifts, key=lambda each: abs(each[0]))
    reversals = [each for each in check.reversals if each.label == label]
    is_sure = any(each.is_significant for each in reversals)
    reversal = ", reversal" if is_sure else ", reversal?" if reversals else ""
    return f"{signed(shift, _DIGITS)} ({model}){reversal}"


def _finding_lines(audit: Audit, check: AuditCheck) -> Iterator[str]:
    sentence, fix = _sentence_and_fix(check)
    yield sentence
    yield from _effect_sentences(audit, check)
    if fix:
        yield f"do: {fix}"
    yield from (f"e.g. {example}" for example in _examples(check))
    yield f"see: {_SOURCES[check.name]}"


def _sentence_and_fix(check: AuditCheck) -> tuple[str, str]:
    """Return what a check found, and the fix."""
    if check.warning is not None:
        return check.warning.sentence, check.warning.fix
    if check.copies is not None:
        return _copies_finding(check, check.copies)
    if check.count.bits is not None:
        return _drift_finding(check)
    return _count_finding(check)


def _count_finding(check: AuditCheck) -> tuple[str, str]:
    count = check.count
    if check.train_share_after is not None:
        rows, are = _rows(check, "the training set"), verb(count.rows, "is", "are")
        sentence = (
            f"{rows} {are} later than the first row of the ground truth. "
            f"{percent(check.train_share_after)} of the training set is later than the start of "
            "the median user's ground truth: models learned from the future."
        )
        fix = "train on rows before the ground truth, with one split time for all users"
        return sentence, fix
    if check.name == "cold_users":
        users = format_count(count.users or 0, "user")
        share = _percent_of(count.users, count.of_users)
        sentence = (
            f"{users} of the ground truth ({share}) have no training row: a model cannot know them."
        )
        return sentence, "evaluate them separately, as a segment by activity with the edge 0"
    rows, have = _rows(check, "the ground truth"), verb(count.rows, "has", "have")
    items, share = format_count(count.items or 0, "item"), _percent_of(count.items, count.of_items)
    sentence = (
        f"{rows} {have} {items} ({share} of its items) without training rows: no model that learns "
        "from interactions alone can recommend them."
    )
    return sentence, "read means as lower bounds, or give models the features of new items"


def _copies_finding(check: AuditCheck, copies: Copies) -> tuple[str, str]:
    kind = _kind(check)
    pairs = ", ".join(
        f"{_EVIDENCE[sign]}: {format_count(n, 'pair')}" for sign, n in copies.pairs.items()
    )
    evidence = f"{pairs}; sets with fewer than {MIN_SET_SIZE} are not compared"
    subject = f"{format_count(copies.n_ids, kind)} look like copies of others ({evidence})"
    if not check.count.rows:
        fix = f"if these {kind}s are the same, give them one id"
        return f"{subject}; no row of the ground truth leaks through them.", fix
    leak = (
        "of an item whose copy the user has in training"
        if kind == "item"
        else "in training for a copy of the user"
    )
    rows, are = _rows(check, "the ground truth"), verb(check.count.rows, "is", "are")
    sentence = f"{subject}. {rows} {are} {leak}: models have seen the answer under another id."
    fix = f"give copies one id before the split, or remove such {kind}s from the ground truth"
    return sentence, fix


def _drift_finding(check: AuditCheck) -> tuple[str, str]:
    count = check.count
    by_chance = ""
    if count.bits_by_chance is not None:
        by_chance = f"; a random division of these rows has {count.bits_by_chance:.3f}"
    sentence = (
        f"The items' shares of the ground truth differ by {count.bits:.3f} bits from those of "
        f"training (Jensen-Shannon; 0: equal, 1: no item in common){by_chance}."
    )
    if count.rows:
        items = format_count(count.items or 0, "item")
        have = verb(count.items, "has", "have")
        sentence += f" {items} {have} at least {RISEN_FACTOR} times the share of training."
    return sentence, "train on recent rows, and count popularity up to the split"


def _kind(check: AuditCheck) -> str:
    return check.name.removesuffix("_copies")


def _rows(check: AuditCheck, table: str) -> str:
    """Return `2 rows of the ground truth (1 %)`."""
    share = _percent_of(check.count.rows, check.count.of_rows)
    return f"{format_count(check.count.rows or 0, 'row')} of {table} ({share})"


def _percent_of(n: int | None, total: int | None) -> str:
    return percent((n or 0) / (total or 1))


def _examples(check: AuditCheck) -> Iterator[str]:
    for example in check.examples:
        texts = {name: _value(value) for name, value in example.items()}
        if check.name == "popularity_drift":
            train, truth = (float(example[name]) for name in ("train_share", "truth_share"))
            shares = f"{percent(train)} of training, {percent(truth)} of the ground truth"
            yield f"item {texts['item']}: {shares}"
        elif check.copies is not None and not check.count.rows:
            kind = _kind(check)
            yield f"{kind}s {texts[kind]} and {texts['copy']} are copies"
        else:
            yield _EXAMPLES[check.name].format_map(texts)


def _value(value: str | float) -> str:
    """Return a time with all digits, or an id in quotes."""
    return f"{value:.15g}" if isinstance(value, float) else repr(value)


def _effect_sentences(audit: Audit, check: AuditCheck) -> Iterator[str]:
    """Yield how means and the order of the models change without the affected users, by label."""
    for label in dict.fromkeys(each.label for each in check.effects):
        effects = [each for each in check.effects if each.label == label]
        reversals = [each for each in check.reversals if each.label == label]
        yield f"{label}: {_effect_sentence(audit, label, effects, reversals)}."


def _effect_sentence(
    audit: Audit, label: str, effects: Sequence[LeaveOutEffect], reversals: Sequence[Reversal]
) -> str:
    n_users = max(each.n_users for each in effects)
    n_left = max(each.n_without for each in effects)
    known = [each for each in effects if each.shift is not None]
    if n_left < MIN_USERS or not known:
        affected = f"all but {n_left:,} of" if n_left else "all of"
        users = format_count(n_users, "user")
        return f"{affected} {users} are affected, too many to compare the means without them"
    most = max(known, key=lambda each: abs(each.shift or 0.0))
    n_users = most.n_users
    without = f"without {n_users - most.n_without:,} of {format_count(n_users, 'user')},"
    if not most.shift:
        return f"{without} no mean changes"
    means = f"from {number(most.mean, _DIGITS)} to {number(most.mean_without, _DIGITS)}"
    shift = _with_interval(audit, most.shift, most.ci_low, most.ci_high)
    if len(effects) == 1:
        return f"{without} {most.model} changes {means} ({shift})"
    order = _order_clause(audit, label, reversals)
    return f"{without} {most.model} changes most, {means} ({shift}); {order}"


def _order_clause(audit: Audit, label: str, reversals: Sequence[Reversal]) -> str:
    if not reversals:
        return "the ranking of the models stays the same"
    pair = next((each for each in reversals if each.is_significant), reversals[0])
    leader, other, sign = pair.a, pair.b, 1
    if (pair.difference > 0) != audit.higher_is_better[label]:
        leader, other, sign = pair.b, pair.a, -1
    with_all = _difference(audit, sign, pair.difference, pair.ci_low, pair.ci_high)
    without = _difference(audit, sign, pair.difference_without, pair.low_without, pair.high_without)
    certainty = "neither interval contains 0" if pair.is_significant else "an interval contains 0"
    n_more = len(reversals) - 1
    change = verb(n_more, "changes", "change")
    more = f"; {format_count(n_more, 'other pair')} {change}" if n_more else ""
    return (
        f"the ranking of the models changes: {leader} is ahead of {other} with them ({with_all}) "
        f"and behind without them ({without}); {certainty}{more}"
    )


def _difference(
    audit: Audit, sign: int, difference: float, low: float | None, high: float | None
) -> str:
    """Return a difference with its interval, both negated if the sign is -1."""
    if low is not None and high is not None and sign < 0:
        low, high = -high, -low
    return _with_interval(audit, sign * difference, low, high)


def _with_interval(audit: Audit, value: float, low: float | None, high: float | None) -> str:
    text = signed(value, _DIGITS)
    if low is None or high is None:
        return text
    return f"{text}, {percent(audit.confidence)} interval {signed_interval(low, high, _DIGITS)}"
