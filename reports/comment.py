"""The comment in a pull request: decision, changes, leaderboard."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, SegmentCell
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.history import Change, RevisionChanges
from concord.metrics_core.results.text_format import PERCENT
from concord.reports.text import gate, numbers, ranks
from concord.reports.text.answer import answer
from concord.reports.text.display_words import display_words
from concord.reports.text.history import training_texts
from concord.reports.text.markdown import (
    COMMENT_LIMIT,
    MIN_ROWS,
    bullets,
    cell,
    escape_markdown,
    fit_comment,
    folded,
    sentence,
    table,
)
from concord.reports.text.missing_lists import warning_sentence
from concord.reports.text.segments import entries, segment_sentences
from concord.reports.text.summary import method_note
from concord.reports.text.verdict_styles import VERDICTS

_WORST_FIRST = [*VERDICTS][::-1]
_ICONS = {"pass": "✅", "worse": "❌"}  # outcome of the gate; others are undecided
_UNDECIDED_ICON = "⚪"
_MAX_NAMES = 3  # models on labels, of one verdict
_MAX_SEGMENTS = 3  # that are not folded
_WORSE = {verdict for verdict in VERDICTS if verdict.startswith("worse")}
_SIGNIFICANT = {verdict for verdict in VERDICTS if verdict.startswith(("better", "worse"))}
_HEADS = "Metric;Verdict;>Then → now;>Difference (interval);>Users who differ"
_OMITTED = "Left out, as the comment would be too long: {}. The report has everything."
_ADDRESS_CHARACTERS = ":/?#@!$&'*+,;=%~-._"  # others are quoted in a link
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
    report : str or None
        Address of the report.
    """

    folder: str
    comparison: Comparison
    decision: Decision | None
    no_decision: tuple[str, ...] = ()
    since: RevisionChanges | None = None
    commit: str | None = None
    stale: str | None = None
    report: str | None = None


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
    words = display_words(comment.comparison)
    return {
        name: words.show(text, "markdown", escape_markdown)
        for name, text in sections.items()
        if text
    }


def _join(comment: Comment, sections: Iterable[str]) -> str:
    return "\n\n".join([marker(comment.folder), *sections]) + "\n"


def _decision(comment: Comment, max_rows: int) -> str:
    """Return the decision of the gate, or the first verdict if there is no gate."""
    title = cell(comment.comparison.title)
    if comment.no_decision:
        reasons = bullets(comment.no_decision, max_rows)
        head = f"## {_UNDECIDED_ICON} Gate: no decision"
        return f"{head}\n\n**{title}** cannot be decided on:\n\n{reasons}"
    result = sentence(answer(comment.comparison))
    if comment.decision is None:
        changes = comment.since and _first_changes(comment.since)
        lines = [f"**{sentence(changes)}**", result] if changes else [f"**{result}**"]
        return "\n\n".join([f"## {title}", *lines])
    icon = _ICONS.get(comment.decision.outcome if comment.decision.models else "", _UNDECIDED_ICON)
    lines = [gate.first_line(comment.decision), *comment.decision.lines[1:]]
    first, *others = map(sentence, lines)
    head = f"## {icon} Gate: {gate.head(comment.decision)}"
    return "\n\n".join([head, f"**{title}. {first}**", *others, result])


def _report_link(comment: Comment, _: int) -> str:
    """Return the link to the report, if its address is known."""
    if comment.report is None:
        return ""
    return f"[The whole report](<{quote(comment.report, safe=_ADDRESS_CHARACTERS)}>)"


def _first_changes(since: RevisionChanges) -> str:
    """Return `Since v1, 1 of 2 models changed. Worse: ease on nDCG@10.`; empty if unknown."""
    models = {each.model for each in since.changes}
    if not models:
        return ""
    changed = {each.model for each in since.changes if each.verdict != "identical"}
    parts = []
    for verdict in _WORST_FIRST:
        if verdict == "identical":
            continue
        changes = [each for each in since.changes if each.primary and each.verdict == verdict]
        names = [f"{each.model} on {each.label}" for each in changes[:_MAX_NAMES]]
        if len(changes) > _MAX_NAMES:
            names.append(f"{len(changes) - _MAX_NAMES} more")
        if names:
            parts.append(f"{VERDICTS[verdict].word}: {', '.join(names)}")
    count = f"{len(changed)} of {len(models)} models changed" if changed else "no model changed"
    details = "; ".join(parts)
    more = f" {details[0].upper()}{details[1:]}." if details else ""
    return f"Since {since.revision}, {count}.{more}"


def _rules(comment: Comment, max_rows: int) -> str:
    """Return the changed settings of the gate, which a pull request may change for itself."""
    since = comment.since
    if since is None or not since.rules:
        return ""
    rows = [
        (each.name, *(value.replace("%", PERCENT) for value in (each.then, each.now)))
        for each in since.rules
    ]
    title = (
        f"**This changes the rules of the gate**, in params.yaml since {sentence(since.revision)}:"
    )
    return f"{title}\n\n{table('Key;Before;After', rows, max_rows)}"


def _warnings(comment: Comment, max_rows: int) -> str:
    warnings = [f"{comment.stale}."] if comment.stale else []
    comparison = comment.comparison
    warnings += [warning_sentence(comparison, warning) for warning in comparison.serious]
    lines = "\n>\n".join(f"> {sentence(each)}" for each in warnings[:max_rows])
    return f"> [!WARNING]\n{lines}" if lines else ""


def _changes(comment: Comment, max_rows: int) -> str:
    """Return the change of every model on the primary labels."""
    since = comment.since
    if since is None:
        return ""
    parts = [f"### Since {cell(since.revision)}"]
    mismatches = [
        text for text in since.mismatches if not any(text in why for why in comment.no_decision)
    ]
    if mismatches:
        parts.append(f"The numbers cannot be compared:\n\n{bullets(mismatches, max_rows)}")
    changes = [each for each in since.changes if each.primary]
    same = [each for each in changes if each.verdict == "identical"]
    different = [each for each in changes if each.verdict != "identical"]
    if different:
        parts.append(_change_table(comment.comparison, different, max_rows))
    parts += [sentence(text) for text in _unchanged(same, different)][:max_rows]
    notes = [f"{note[:1].upper()}{note[1:]}." for note in since.notes]
    parts.append(bullets(notes, max_rows))
    if training := list(training_texts(since.training_params)):
        parts.append(f"Training parameters that changed:\n\n{bullets(training, max_rows)}")
    if names := ", ".join(setting.name for setting in (*since.conventions, *since.data)):
        parts.append(f"Changed: {sentence(names)} (below).")
    return "\n\n".join(filter(None, parts))


def _unchanged(same: Sequence[Change], different: Sequence[Change]) -> Iterator[str]:
    """Yield models that have the same value for every user, first those that have no change."""
    changed = {each.model for each in different}
    unchanged = dict.fromkeys(each.model for each in same if each.model not in changed)
    if unchanged:
        who = "all models" if not changed and len(unchanged) > 1 else ", ".join(unchanged)
        yield f"Unchanged for every user: {who}."
    for label in dict.fromkeys(each.label for each in same if each.model in changed):
        names = (each.model for each in same if each.label == label and each.model in changed)
        yield f"Unchanged on {label}: {', '.join(names)}."


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
    """Return the segments in which models are worse than at the revision, or than the baseline.

    Those whose loss is not the one over all users come first, the others are folded.
    """
    comparison, since = comment.comparison, comment.since
    if since is None:
        return _worse_than_baseline(comparison, max_rows)
    if not since.worse:
        return "No segment is significantly worse than before." if since.segmented else ""
    overall = {(each.model, each.label): each for each in since.changes}
    ranked = sorted(since.worse, key=_loss)
    shown = [each for each in ranked if _deviates(each, overall.get((each.model, each.label)))]
    shown = shown[:_MAX_SEGMENTS]
    others = [each for each in ranked if each not in shown]
    parts = []
    if shown:
        rows = _segment_table(comparison, shown, max_rows)
        parts.append(f"### Segments that are worse\n\n{rows}")
    if others:
        title = f"{'Other s' if shown else 'S'}egments that are worse ({len(others):,})"
        parts.append(folded(title, _segment_table(comparison, others, max_rows)))
    return "\n\n".join(parts)


def _segment_table(comparison: Comparison, changes: Sequence[Change], max_rows: int) -> str:
    rows = [
        (
            each.model,
            f"{each.segmentation}={each.segment}",
            each.label,
            *_numbers(comparison, each),
        )
        for each in changes
    ]
    return table(f"Model;Segment;{_HEADS}", rows, max_rows)


def _worse_than_baseline(comparison: Comparison, max_rows: int) -> str:
    """Return the segments that are reversed or lose more than all users, and folded the others."""
    overall = {(pair.a, pair.label): pair for pair in comparison.pairs if pair.vs_baseline}
    shown: list[str] = []
    others: list[str] = []
    for entry in entries(comparison):
        deviating = [
            cell
            for cell in entry.cells
            if cell.is_reversed or _deviates(cell, overall.get((cell.model, cell.label)))
        ]
        rest = [c for c in entry.cells if c not in deviating]
        shown += segment_sentences(comparison, entry, deviating)
        others += segment_sentences(comparison, entry, rest)
    others = [*shown[_MAX_SEGMENTS:], *others]
    parts = []
    if shown:
        parts.append(f"### Segments that are worse\n\n{bullets(shown[:_MAX_SEGMENTS], max_rows)}")
    if others:
        title = f"{'Other s' if shown else 'S'}egments that are worse ({len(others):,})"
        parts.append(folded(title, bullets(others, max_rows)))
    return "\n\n".join(parts)


def _deviates(segment: Change | SegmentCell, overall: Change | Difference | None) -> bool:
    """True if a segment loses although all users together do not, or loses significantly more."""
    if overall is None or overall.verdict not in _WORSE:
        return True
    low, high = (
        (segment.diff_low, segment.diff_high)
        if isinstance(segment, SegmentCell)
        else (segment.ci_low, segment.ci_high)
    )
    if low is None or high is None or overall.ci_low is None or overall.ci_high is None:
        return False
    return high < overall.ci_low if (overall.difference or 0) < 0 else low > overall.ci_high


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
    legend = "".join(
        f"\n\n{mark.capitalize()}: {meaning}."
        for mark, meaning in ranks.legend(comparison, [label]).items()
    )
    others = f"\n\n… and {more:,} more models." if more else ""
    return f"{table(heads, rows, max_rows)}{others}{legend}"


def _label_row(comparison: Comparison, label: str, model: str) -> tuple[str, ...]:
    score, digits = comparison.score(model, label), comparison.decimals[label]
    interval = numbers.interval(score.ci_low, score.ci_high, digits)
    mark = ranks.marks(comparison, label).get(model, "")
    mean = numbers.with_details(f"{numbers.number(score.mean, digits)} {mark}".strip(), interval)
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
    lines = gate.lines(comment.decision)
    unchanged = gate.unchanged_models(comment.decision)
    rows = [
        (
            line.model,
            line.metric,
            numbers.with_details(line.difference, line.interval),
            line.allowed,
            f"{line.word}: {line.reason}",
        )
        for line in lines
        if line.model not in unchanged
    ]
    heads = "Model;Metric;>Difference (interval);>Allowed;Decision"
    parts = [table(heads, rows, max_rows)] if rows else []
    if unchanged:
        parts.append(sentence(f"Pass, as nothing has changed: {', '.join(unchanged)}."))
    return folded(f"What the gate checked ({len(lines):,})", "\n\n".join(parts))


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
    sentences = [method_note(comment.comparison)]
    if comment.comparison.has_lists:
        sentences.append(f"Conventions: preset {preset}, fingerprint {fingerprint}.")
    if comment.decision is None and not comment.no_decision:
        sentences.append("No `gate:` is declared, so nothing is decided.")
    source = [f"in {cell(comment.folder)}"] if comment.folder else []
    source += [f"for {cell(comment.commit)}"] if comment.commit else []
    if source:
        sentences.append(f"Evaluated {' '.join(source)}.")
    return f"<sub>{' '.join(sentences)}</sub>"


_SECTIONS: Mapping[str, Callable[[Comment, int], str]] = {
    "the decision": _decision,
    "the link to the report": _report_link,
    "the rules of the gate": _rules,
    "warnings": _warnings,
    "changes": _changes,
    "segments": _segments,
    "replicates": _trainings,
    "the leaderboard": _leaderboard,
    "what the gate checked": _checks,
    "changes of other metrics": _other_changes,
    "changed conventions and data": _inputs,
    "how models were compared": _footer,
}
