"""The comment in a pull request: decision, changes, leaderboard."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.history import Change, RevisionChanges
from concord.reports.text import gate, numbers
from concord.reports.text.markdown import (
    COMMENT_LIMIT,
    MIN_ROWS,
    bullets,
    cell,
    fit_comment,
    folded,
    sentence,
    table,
)
from concord.reports.text.segments import entries
from concord.reports.text.summary import method_note
from concord.reports.text.verdict_styles import VERDICTS
from concord.reports.text.verdicts import segment_sentences

_WORST_FIRST = [*VERDICTS][::-1]
_MAX_NAMES = 3  # models on labels, of one verdict
_SIGNIFICANT = {verdict for verdict in VERDICTS if verdict.startswith(("better", "worse"))}
_HEADS = "Metric;Verdict;>Then → now;>Difference (interval);>Users who differ"
_OMITTED = "Left out, since a comment is too short for it: {}. The report has all of it."
_OMITTED_LENGTH = 1000  # characters, at most


@dataclass(frozen=True)
class Comment:
    """Content of a comment.

    Attributes
    ----------
    folder : str
        Folder of the project in its repository; empty at its root.
    decision : Decision or None
        None if there is no gate, or if it cannot decide.
    no_decision : tuple of str
        Reasons why the gate cannot decide.
    since : RevisionChanges or None
        Changes since the requested revision.
    commit : str or None
        Evaluated commit.
    stale : str or None
        Clause on the inputs that changed after the results were made; None if none did.
    """

    folder: str
    comparison: Comparison
    decision: Decision | None
    no_decision: tuple[str, ...] = ()
    since: RevisionChanges | None = None
    commit: str | None = None
    stale: str | None = None


def marker(folder: str) -> str:
    """Return the invisible first line, which identifies the comment of a project."""
    return f"<!-- concord: {quote(folder) or '.'} -->"


def render_comment(comment: Comment) -> str:
    """Return the comment in Markdown; rows and sections that do not fit are omitted."""
    text = fit_comment(lambda rows: _join(comment, _sections(comment, rows).values()))
    if len(text) <= COMMENT_LIMIT:
        return text
    n_free = COMMENT_LIMIT - _OMITTED_LENGTH - len(marker(comment.folder))
    sections, omitted = [], []
    for name, section in _sections(comment, MIN_ROWS).items():
        if len(section) + 2 <= n_free:
            n_free -= len(section) + 2
            sections.append(section)
        else:
            omitted.append(name)
    return _join(comment, [*sections, _OMITTED.format(", ".join(omitted))])


def _sections(comment: Comment, max_rows: int) -> dict[str, str]:
    sections = {name: section(comment, max_rows) for name, section in _SECTIONS.items()}
    return {name: text for name, text in sections.items() if text}


def _join(comment: Comment, sections: Iterable[str]) -> str:
    return "\n\n".join([marker(comment.folder), *sections]) + "\n"


def _decision(comment: Comment, max_rows: int) -> str:
    """Return the decision of the gate, or the first verdict if there is no gate."""
    title = cell(comment.comparison.title)
    if comment.no_decision:
        reasons = bullets(comment.no_decision, max_rows)
        return f"## Gate: no decision\n\n**{title}** cannot be decided on:\n\n{reasons}"
    if comment.decision is None:
        changes = comment.since and _first_changes(comment.since)
        verdict = changes or next(iter(comment.comparison.verdicts), "Nothing was compared.")
        return f"## {title}\n\n**{sentence(verdict)}**"
    lines = [gate.first_line(comment.decision), *comment.decision.lines[1:]]
    first, *others = map(sentence, lines)
    return "\n\n".join(
        [f"## Gate: {gate.head(comment.decision)}", f"**{title}. {first}**", *others]
    )


def _first_changes(since: RevisionChanges) -> str:
    """Return `Since v1: worse: ease on nDCG@10; identical: knn on nDCG@10.`; empty if unknown."""
    parts = []
    for verdict in _WORST_FIRST:
        changes = [each for each in since.changes if each.primary and each.verdict == verdict]
        names = [f"{each.model} on {each.label}" for each in changes[:_MAX_NAMES]]
        if len(changes) > _MAX_NAMES:
            names.append(f"{len(changes) - _MAX_NAMES} more")
        if names:
            parts.append(f"{VERDICTS[verdict].word}: {', '.join(names)}")
    return f"Since {since.revision}: {'; '.join(parts)}." if parts else ""


def _rules(comment: Comment, max_rows: int) -> str:
    """Return the changed settings of the gate, which a pull request may change for itself."""
    since = comment.since
    if since is None or not since.rules:
        return ""
    rows = [(each.name, each.then, each.now) for each in since.rules]
    title = (
        f"**This changes the rules of the gate**, in params.yaml since {sentence(since.revision)}:"
    )
    return f"{title}\n\n{table('Key;Before;After', rows, max_rows)}"


def _warnings(comment: Comment, max_rows: int) -> str:
    warnings = [f"{comment.stale}."] if comment.stale else []
    warnings += [warning.sentence for warning in comment.comparison.serious]
    return "\n\n".join(f"> **Read this first:** {sentence(each)}" for each in warnings[:max_rows])


def _changes(comment: Comment, max_rows: int) -> str:
    """Return the change of every model on the primary labels."""
    since = comment.since
    if since is None:
        return ""
    parts = [f"### Since {cell(since.revision)}"]
    if since.mismatches:
        parts.append(f"The numbers cannot be compared:\n\n{bullets(since.mismatches, max_rows)}")
    changes = [each for each in since.changes if each.primary]
    same = [each for each in changes if each.verdict == "identical"]
    different = [each for each in changes if each.verdict != "identical"]
    primary = [_change_table(comment.comparison, different, max_rows)] if different else []
    for label in dict.fromkeys(each.label for each in same):
        names = ", ".join(each.model for each in same if each.label == label)
        primary.append(sentence(f"{label}: the same for every user: {names}."))
    parts += primary[: max_rows + 1]
    notes = [f"{note[:1].upper()}{note[1:]}." for note in since.notes]
    parts.append(bullets(notes, max_rows))
    if names := ", ".join(setting.name for setting in (*since.conventions, *since.data)):
        parts.append(f"Changed: {sentence(names)} (below).")
    return "\n\n".join(filter(None, parts))


def _change_table(comparison: Comparison, changes: Sequence[Change], max_rows: int) -> str:
    ordered = sorted(changes, key=lambda each: _WORST_FIRST.index(each.verdict))
    rows = [(each.model, each.label, *_numbers(comparison, each)) for each in ordered]
    return table(f"Model;{_HEADS}", rows, max_rows)


def _numbers(comparison: Comparison, change: Change) -> tuple[str, ...]:
    digits = numbers.label_decimals(comparison, change.label)
    return (
        VERDICTS[change.verdict].word,
        f"{numbers.number(change.then, digits)} → {numbers.number(change.now, digits)}",
        numbers.difference_with_interval(change, digits),
        f"{change.n_nonzero:,} of {change.n_users:,}",
    )


def _segments(comment: Comment, max_rows: int) -> str:
    """Return the segments in which models are worse than at the revision, or than the baseline."""
    comparison, since = comment.comparison, comment.since
    if since is None:
        worse = [
            text
            for entry in entries(comparison)
            for text in segment_sentences(comparison, entry, entry.cells)
        ]
        return f"### For whom it is worse\n\n{bullets(worse, max_rows)}" if worse else ""
    if not since.worse:
        return "No segment is shown to be worse than it was." if since.segmented else ""
    rows = [
        (
            each.model,
            f"{each.segmentation} “{each.segment}”",
            each.label,
            *_numbers(comparison, each),
        )
        for each in sorted(since.worse, key=_loss)
    ]
    return f"### Segments that are worse\n\n{table(f'Model;Segment;{_HEADS}', rows, max_rows)}"


def _loss(change: Change) -> float:
    """Return the negative loss in widths of its interval, so that metrics can be compared."""
    if change.difference is None or change.ci_low is None or change.ci_high is None:
        return 0.0
    return -abs(change.difference) / max(change.ci_high - change.ci_low, 1e-12)


def _trainings(comment: Comment, _: int) -> str:
    answer = next(iter(comment.comparison.replicate_answers), "")
    return f"**Would it hold if trained again?** {sentence(answer)}" if answer else ""


def _leaderboard(comment: Comment, max_rows: int) -> str:
    comparison = comment.comparison
    first, *others = comparison.primary
    text = f"### Leaderboard\n\n{_label_table(comparison, first, max_rows)}"
    for label in others[:max_rows]:
        arrow = _arrow(comparison, label)
        text += "\n\n" + folded(f"{label} {arrow}", _label_table(comparison, label, max_rows))
    more = len(others) - max_rows
    return f"{text}\n\n… and {more} more primary metrics." if more > 0 else text


def _label_table(comparison: Comparison, label: str, max_rows: int) -> str:
    """Return the table of the best models on a label, and of the baseline."""
    ranked = [*comparison.leaders(label), *comparison.others(label)]
    visible_models = ranked[:max_rows]
    if comparison.baseline not in visible_models:
        visible_models[-1] = comparison.baseline
    rows = [_label_row(comparison, label, model) for model in visible_models]
    heads = (
        f"Model;>{label} {_arrow(comparison, label)};"
        f">Against {comparison.baseline.replace(';', ',')};Verdict"
    )
    more = len(ranked) - len(visible_models)
    return table(heads, rows, max_rows) + (f"\n\n… and {more:,} more models." if more else "")


def _label_row(comparison: Comparison, label: str, model: str) -> tuple[str, ...]:
    score, digits = comparison.score(model, label), comparison.decimals[label]
    interval = numbers.interval(score.ci_low, score.ci_high, digits)
    mean = numbers.with_details(numbers.number(score.mean, digits), interval)
    pair = comparison.difference(model, comparison.baseline, label)
    if pair is None:
        return (model, mean, "", "baseline" if model == comparison.baseline else "not compared")
    difference = numbers.difference_with_interval(pair, digits)
    return (model, mean, difference, VERDICTS[pair.verdict].word)


def _arrow(comparison: Comparison, label: str) -> str:
    return "↑" if comparison.metric(label).higher_is_better else "↓"


def _checks(comment: Comment, max_rows: int) -> str:
    if comment.decision is None:
        return ""
    rows = [
        (
            line.model,
            line.metric,
            numbers.with_details(line.difference, line.interval),
            line.allowed,
            f"{line.word}: {line.reason}",
        )
        for line in gate.lines(comment.decision)
    ]
    heads = "Model;Metric;>Difference (interval);>Allowed;Decision"
    return folded(f"What the gate checked ({len(rows):,})", table(heads, rows, max_rows))


def _other_changes(comment: Comment, max_rows: int) -> str:
    """Return the significant changes on labels that are not primary."""
    changes = [
        each
        for each in (comment.since.changes if comment.since else ())
        if not each.primary and each.verdict in _SIGNIFICANT
    ]
    title = f"Other metrics with a significant change ({len(changes):,})"
    return folded(title, _change_table(comment.comparison, changes, max_rows)) if changes else ""


def _inputs(comment: Comment, max_rows: int) -> str:
    """Return the conventions and tables that changed."""
    since, sections = comment.since, []
    inputs = (("Conventions", since.conventions), ("Data", since.data)) if since else ()
    for title, settings in inputs:
        rows = [(each.name, each.then, each.now, ", ".join(each.models)) for each in settings]
        if rows:
            content = table("What;Before;After;Models", rows, max_rows)
            sections.append(folded(f"{title} that changed ({len(rows):,})", content))
    return "\n\n".join(sections)


def _footer(comment: Comment, _: int) -> str:
    conventions = comment.comparison.conventions
    preset, fingerprint = cell(conventions.preset), cell(conventions.fingerprint)
    sentences = [
        method_note(comment.comparison),
        f"Conventions: preset {preset}, fingerprint {fingerprint}.",
    ]
    if comment.decision is None and not comment.no_decision:
        sentences.append("No `gate:` is declared, so nothing is decided.")
    source = [f"in {cell(comment.folder)}"] if comment.folder else []
    source += [f"for {cell(comment.commit)}"] if comment.commit else []
    if source:
        sentences.append(f"Evaluated {' '.join(source)}.")
    return f"<sub>{' '.join(sentences)}</sub>"


_SECTIONS: Mapping[str, Callable[[Comment, int], str]] = {
    "the decision": _decision,
    "the rules of the gate": _rules,
    "warnings": _warnings,
    "changes": _changes,
    "segments": _segments,
    "new trainings": _trainings,
    "the leaderboard": _leaderboard,
    "what the gate checked": _checks,
    "changes of other metrics": _other_changes,
    "changed conventions and data": _inputs,
    "how it was compared": _footer,
}
