"""A history, and the changes since a revision, as text: tables, and cells of the page."""

from collections.abc import Iterator, Sequence

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.history import WORKING_TREE, Change, History, Revision, Standing
from concord.reports.text import numbers
from concord.reports.text.blocks import Block, TextTable
from concord.reports.text.verdict_styles import VERDICTS

HASH_LENGTH = 12  # characters of a hash that are shown
HEADER = ("what changed", "best model", "against the baseline", "since the revision before")
PREFIXES = {"serious": "warning: ", "notice": "notice: ", None: ""}
DIFF_HEADER = ("metric", "model", "then", "now", "difference", "p, adjusted", "users who differ")


def describe(history: History) -> Iterator[Block]:
    """Yield tables by revision: the best model, its difference to the baseline, the changes."""
    revisions = list(enumerate(history.revisions))
    for label in history.labels:
        digits = decimals(history, label)
        rows = [_row(each, label, digits, first=i == 0) for i, each in revisions]
        yield TextTable((label, *HEADER), rows)
        yield ""
    if not history.labels:
        names = [(revision_name(each), changed(each, first=False)) for _, each in revisions]
        yield TextTable(("revision", HEADER[0]), names)
        yield ""
    yield from (f"note: {note}" for note in history.notes)
    if history.reuse is not None:
        yield f"{PREFIXES[history.reuse.severity]}{history.reuse.sentence}"


def _row(revision: Revision, label: str, digits: int, *, first: bool) -> tuple[str, ...]:
    names = (revision_name(revision), changed(revision, first=first))
    ranked = revision.standings_of(label)
    if not ranked:
        return (*names, "not a primary metric" if revision.standings else "", "", "")
    against = against_baseline(revision, ranked[0], digits)
    return (*names, _mean(ranked[0], digits), against, _changes(revision, label, digits))


def _changes(revision: Revision, label: str, digits: int) -> str:
    """Return the change of each model since the revision before."""
    changes = [each for each in revision.changes if each.label == label]
    if revision.unpaired and not changes:
        return "" if revision.gone else f"not comparable: {revision.unpaired}"
    texts = [f"{each.model} {_change_text(each, digits)}" for each in changes]
    return "; ".join(texts) or ("the same for every user" if revision.same else "")


def revision_name(revision: Revision) -> str:
    """Return `0ba27de v1.0`."""
    return " ".join((revision.name, *revision.tags))


def _standings(history: History, label: str) -> list[Standing]:
    return [each for revision in history.revisions for each in revision.standings_of(label)]


def decimals(history: History, label: str) -> int:
    """Return the decimals of a metric, the same for all revisions."""
    standings = _standings(history, label)
    return numbers.interval_decimals(standings, [each.mean for each in standings])


def changed(revision: Revision, *, first: bool) -> str:
    """Return the inputs that changed at a revision, or why they are unknown."""
    inputs = "; ".join(each.text for each in revision.changed)
    if first and not inputs:
        inputs = "the first shown"
    return "; ".join(filter(None, (inputs, revision.gone))) or "nothing that decides"


def _mean(standing: Standing, digits: int) -> str:
    """Return `ease 0.2425`."""
    return f"{standing.model} {numbers.number(standing.mean, digits)}"


def against_baseline(revision: Revision, standing: Standing, digits: int) -> str:
    """Return `better, +0.0139 (+0.0066 to +0.0211)`."""
    if standing.verdict is None:
        return "baseline" if standing.model == revision.baseline else numbers.MISSING
    word = VERDICTS[standing.verdict].word
    if standing.difference is None:
        return word
    interval = numbers.signed_interval(standing.diff_low, standing.diff_high, digits)
    return f"{word}, {numbers.with_details(numbers.signed(standing.difference, digits), interval)}"


def _change_text(change: Change, digits: int) -> str:
    """Return `worse, −0.0301 (−0.0365 to −0.0237)`."""
    word = VERDICTS[change.verdict].word
    if change.difference is None:
        return word
    return f"{word}, {numbers.difference_with_interval(change, digits)}"


def change_since_previous(revision: Revision, standing: Standing, digits: int) -> str:
    """Return the change of a model since the revision before; empty if unknown."""
    if standing.model in revision.same:
        return "the same for every user"
    change = revision.change(standing.model, standing.label)
    return "" if change is None else _change_text(change, digits)


def higher_is_better(history: History, label: str) -> bool:
    """True if larger values are better, by the last revision with the metric."""
    return _standings(history, label)[-1].higher_is_better


def headline(history: History) -> str:
    """Return `nDCG@10 in the working tree: ease 0.2214, slightly better than knn`."""
    last = history.revisions[-1]
    when = "in the working tree" if last.name == WORKING_TREE else f"at {revision_name(last)}"
    if not last.labels:
        return f"Nothing is known {when}"
    label = last.labels[0]
    best = last.standings_of(label)[0]
    text = f"{label} {when}: {_mean(best, decimals(history, label))}"
    if best.verdict is None or last.baseline is None:
        return text
    verdict = VERDICTS[best.verdict]
    return f"{text}, {verdict.word} {verdict.link} {last.baseline}"


def extent(history: History) -> str:
    """Return `4 revisions of the comparison since 2026-11-23`."""
    revisions = format_count(len(history.revisions), "revision")
    first = history.revisions[0].date
    return f"{revisions} of the comparison" + (f" since {first}" if first else "")


def describe_changes(
    revision: str, changes: Sequence[Change], notes: Sequence[str]
) -> Iterator[Block]:
    """Yield the notes, a sentence per changed model, and the table of their numbers."""
    yield from (f"note: {note}" for note in notes)
    if not changes:
        yield f"nothing to compare with {revision}: no requested metric has values per user in both"
        return
    different = [each for each in changes if each.verdict != "identical"]
    for label in dict.fromkeys(each.label for each in changes):
        yield from (_diff_sentence(revision, each) for each in different if each.label == label)
        same = [e.model for e in changes if e.label == label and e.verdict == "identical"]
        if same:
            yield f"{label}: the same for every user: {', '.join(same)}"
    if different:
        yield ""
        yield TextTable(DIFF_HEADER, [_diff_row(each) for each in different])


def _diff_sentence(revision: str, change: Change) -> str:
    """Return `nDCG@10: ease, against v1.0: better, +0.012 (+0.008 to +0.016, +4.1 %)`."""
    if change.difference is None:
        return f"{change.label}: {change.model} against {revision}: no user has a value in both"
    relative = "" if change.relative is None else numbers.relative(change.relative)
    size = numbers.difference_with_interval(change, _diff_digits(change), relative)
    word = VERDICTS[change.verdict].word
    return f"{change.label}: {change.model}, against {revision}: {word}, {size}"


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
