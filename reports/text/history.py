"""A history, and the changes since a revision, as text: tables, and cells of the page."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.history import (
    WORKING_TREE,
    Change,
    History,
    Revision,
    Setting,
    Standing,
)
from concord.metrics_core.results.text_format import exact, group_values, join_names
from concord.reports.text import numbers
from concord.reports.text.blocks import Block, Heading, TextTable
from concord.reports.text.verdict_styles import VERDICTS, phrase

HASH_LENGTH = 12  # characters of a hash that are shown
CHANGED_HEADER = ("revision", "date", "what changed")
MEANS_HEADER = ("best model", "against the baseline")
SINCE_HEADER = ("model", "since the revision before")
PREFIXES = {"serious": "warning: ", "notice": "notice: ", None: ""}
_MAX_VALUE = 40  # characters of a parameter
DIFF_HEADER = ("metric", "model", "then", "now", "difference", "p, adjusted", "users who differ")


def describe(history: History) -> Iterator[Block]:
    """Yield what changed by revision; then by metric the best models and the changes."""
    yield Heading(headline(history))
    yield extent(history)
    yield ""
    history = collapse(history)
    names = [revision_name(each) for each in history.revisions]
    rows = [
        (name, each.date, changed(each, first=i == 0))
        for i, (name, each) in enumerate(zip(names, history.revisions, strict=True))
    ]
    yield TextTable(CHANGED_HEADER, rows)
    yield ""
    for label in history.labels:
        yield from _metric_tables(history, label)
    yield from (f"note: {note}" for note in history.notes)
    if history.reuse is not None:
        yield f"{PREFIXES[history.reuse.severity]}{history.reuse.sentence}"


def _metric_tables(history: History, label: str) -> Iterator[Block]:
    digits = decimals(history, label)
    best = [(each, each.standings_of(label)) for each in history.revisions if each.standings]
    rows = [
        (
            revision_name(each),
            *(
                (_mean(ranked[0], digits), against_baseline(each, ranked[0], digits))
                if ranked
                else ("not a primary metric", "")
            ),
        )
        for each, ranked in best
    ]
    yield TextTable((label, *MEANS_HEADER), rows)
    yield ""
    changes = [row for each in history.revisions for row in _change_rows(each, label, digits)]
    if changes:
        yield TextTable((label, *SINCE_HEADER), changes)
        yield ""


def _change_rows(revision: Revision, label: str, digits: int) -> Iterator[tuple[str, ...]]:
    """Yield the changes since the revision before, of models whose values differ."""
    for each in revision.changes:
        if each.label == label and each.verdict != "identical":
            yield revision_name(revision), each.model, _change_text(each, digits)


def collapse(history: History) -> History:
    """Return the history with one revision for neighbours that are equally unreadable."""

    def unreadable(numbered: tuple[int, Revision]) -> object:
        i, revision = numbered
        return (revision.gone, revision.standings) if revision.gone else i

    groups = groupby(enumerate(history.revisions), key=unreadable)
    revisions = [_merge([revision for _, revision in group]) for _, group in groups]
    return replace(history, revisions=tuple(revisions))


def _merge(revisions: Sequence[Revision]) -> Revision:
    """Return one revision named by the number of these, with all that changed at them."""
    first, last = revisions[0], revisions[-1]
    if len(revisions) == 1:
        return first
    count = format_count(len(revisions), "revision")
    return replace(
        first,
        name=count,
        tags=tuple(tag for each in revisions for tag in each.tags),
        date=first.date if first.date == last.date else f"{first.date} to {last.date}",
        subject=f"{first.name} to {last.name}",
        truth=last.truth,
        gone=first.gone.replace("its ", "their ", 1),
        changed=tuple(dict.fromkeys(change for each in revisions for change in each.changed)),
        training_params=tuple(
            dict.fromkeys(setting for each in revisions for setting in each.training_params)
        ),
    )


def revision_name(revision: Revision) -> str:
    """Return `0ba27de v1.0`."""
    return " ".join((revision.name, *revision.tags))


def _standings(history: History, label: str) -> list[Standing]:
    return [each for revision in history.revisions for each in revision.standings_of(label)]


def decimals(history: History, label: str) -> int:
    """Return the decimals of a metric, the same for all revisions."""
    if label in history.decimals:
        return history.decimals[label]
    standings = _standings(history, label)
    return numbers.interval_decimals(standings, [each.mean for each in standings])


def changed_inputs(revision: Revision) -> str:
    """Return `other lists: als; als: train.als.alpha 10 → 2`."""
    texts = [each.text for each in revision.changed]
    return "; ".join([*texts, *training_texts(revision.training_params)])


def training_texts(settings: Sequence[Setting]) -> Iterator[str]:
    """Yield `als: train.als.alpha 10 → 2, train.als.factors 64 → 32` for models alike."""
    by_models = group_values(
        (each.models, f"{each.name} {' → '.join(_shorten(each.then, each.now))}")
        for each in settings
    )
    for models, changes in by_models.items():
        yield f"{join_names(models)}: {', '.join(changes)}"


def _shorten(then: str, now: str) -> Iterator[str]:
    """Yield texts of at most `_MAX_VALUE` characters that show where they differ."""
    start = 0
    if max(len(then), len(now)) > _MAX_VALUE:
        characters = enumerate(zip(then, now, strict=False))
        first = next((i for i, (a, b) in characters if a != b), min(len(then), len(now)))
        start = max(0, first - _MAX_VALUE // 2)
    for text in (then[start:], now[start:]):
        end = "…" if len(text) > _MAX_VALUE else ""
        yield f"{'…' if start else ''}{text[:_MAX_VALUE]}{end}"


def changed(revision: Revision, *, first: bool) -> str:
    """Return the inputs that changed at a revision, and why values are unknown or not compared."""
    inputs = changed_inputs(revision)
    if first and not inputs:
        inputs = "first revision shown"
    inputs = "; ".join(filter(None, (inputs, revision.gone))) or "the same inputs"
    if revision.gone or not revision.unpaired:
        return inputs
    return f"{inputs} (not compared user by user: {revision.unpaired})"


def last_change(history: History) -> str:
    """Return `Last change, 3bd99e9 of 2026-11-24: gain: linear → exp2.`; empty without one."""
    for revision in reversed(history.revisions):
        if inputs := changed_inputs(revision):
            date = f" of {revision.date}" if revision.date else ""
            return f"Last change, {revision_name(revision)}{date}: {inputs}."
    return ""


def _mean(standing: Standing, digits: int) -> str:
    """Return `ease 0.2425`."""
    return f"{standing.model} {numbers.number(standing.mean, digits)}"


def against_baseline(revision: Revision, standing: Standing, digits: int) -> str:
    """Return `better, +0.0139 (+0.0066 to +0.0211)`."""
    if standing.verdict is None:
        return "baseline" if standing.model == revision.baseline else numbers.MISSING
    margin = _margin(standing)
    if standing.difference is None:
        return phrase(standing.verdict, margin)
    interval = numbers.signed_interval(standing.diff_low, standing.diff_high, digits)
    size = numbers.with_details(numbers.signed(standing.difference, digits), interval)
    return phrase(standing.verdict, margin, f", {size}")


def _change_text(change: Change, digits: int) -> str:
    """Return `worse, −0.0301 (−0.0365 to −0.0237)`."""
    size = numbers.difference_with_interval(change, digits)
    text = "" if change.difference is None else f", {size}"
    return phrase(change.verdict, _margin(change), text)


def _margin(row: Standing | Change) -> str:
    """Return the minimum relevant difference as text, without its number if that is unknown."""
    return "the minimum relevant difference" if row.min_effect is None else exact(row.min_effect)


def change_since_previous(revision: Revision, standing: Standing, digits: int) -> str:
    """Return the change of a model since the revision before; empty if unknown."""
    if standing.model in revision.same:
        return "same values for every user"
    change = revision.change(standing.model, standing.label)
    return "" if change is None else _change_text(change, digits)


def higher_is_better(history: History, label: str) -> bool:
    """True if larger values are better, by the last revision with the metric."""
    return _standings(history, label)[-1].higher_is_better


def headline(history: History) -> str:
    """Return `nDCG@10 in the working tree: ease 0.2214, better than knn`."""
    last = history.revisions[-1]
    when = "in the working tree" if last.name == WORKING_TREE else f"at {revision_name(last)}"
    if not last.labels:
        return f"No results {when}"
    label = last.labels[0]
    best = last.standings_of(label)[0]
    text = f"{label} {when}: {_mean(best, decimals(history, label))}"
    if best.verdict is None or last.baseline is None:
        return text
    link = f" {VERDICTS[best.verdict].link} {last.baseline}"
    return f"{text}, {phrase(best.verdict, _margin(best), link)}"


def extent(history: History) -> str:
    """Return `4 revisions of the comparison since 2026-11-23`."""
    revisions = format_count(len(history.revisions), "revision")
    first = history.revisions[0].date
    return f"{revisions} of the comparison" + (f" since {first}" if first else "")


def describe_changes(
    revision: str,
    changes: Sequence[Change],
    notes: Sequence[str],
    training_params: Sequence[Setting],
) -> Iterator[Block]:
    """Yield notes, a sentence per changed model, training parameters, and the table of numbers."""
    yield from (f"note: {note}" for note in notes)
    if not changes:
        yield f"nothing to compare with {revision}: no requested metric has values per user in both"
    different = [each for each in changes if each.verdict != "identical"]
    for label in dict.fromkeys(each.label for each in changes):
        yield from (_diff_sentence(revision, each) for each in different if each.label == label)
        same = [e.model for e in changes if e.label == label and e.verdict == "identical"]
        if same:
            yield f"{label}: same values for every user: {', '.join(same)}"
    yield from training_texts(training_params)
    if different:
        yield ""
        yield TextTable(DIFF_HEADER, [_diff_row(each) for each in different])


def _diff_sentence(revision: str, change: Change) -> str:
    """Return `nDCG@10: ease, against v1.0: better, +0.012 (+0.008 to +0.016, +4.1 %)`."""
    if change.difference is None:
        return f"{change.label}: {change.model} against {revision}: no user has a value in both"
    relative = "" if change.relative is None else numbers.relative(change.relative)
    size = numbers.difference_with_interval(change, _diff_digits(change), relative)
    text = phrase(change.verdict, _margin(change), f", {size}")
    return f"{change.label}: {change.model}, against {revision}: {text}"


def _diff_row(change: Change) -> tuple[str, ...]:
    digits = _diff_digits(change)
    return (
        change.label,
        change.model,
        numbers.number(change.then, digits),
        numbers.number(change.now, digits),
        numbers.signed(change.difference, digits),
        numbers.p_value(change.p_adjusted),
        f"{change.n_nonzero:,} of {change.n_users:,}",
    )


def _diff_digits(change: Change) -> int:
    return numbers.interval_decimals([change], [change.then, change.now])
