"""The comment in a pull request: decision, changes, leaderboard."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.history import Change, RevisionChanges
from concord.metrics_core.results.text_format import PERCENT, group_values, join_names
from concord.reports.markdown import (
    UNDECIDED_ICON,
    answer_part,
    checks_part,
    gate_part,
    leaderboards_part,
    method_sentences,
    render_sections,
    replicates_part,
    warnings_part,
)
from concord.reports.text import numbers
from concord.reports.text.history import training_texts
from concord.reports.text.markdown import bullets, cell, folded, paragraphs, sentence, table, titled
from concord.reports.text.segments import entries, segment_sentences
from concord.reports.text.verdict_styles import VERDICTS, phrase

_WORST_FIRST = [*VERDICTS][::-1]
_MAX_NAMES = 3  # models on labels, of one verdict
_MAX_SEGMENTS = 3  # that are not folded
_WORSE = {verdict for verdict in VERDICTS if verdict.startswith("worse")}
_SIGNIFICANT = {verdict for verdict in VERDICTS if verdict.startswith(("better", "worse"))}
_HEADER = ("Metric", "Verdict", "Then → now", "Difference (interval)", "Users who differ")
_REPORT, _DECISION = "report/report.html", "comparison/decision.concord"
_ADDRESS_CHARACTERS = ":/?#@!$&'*+,;=%~-._"  # others are quoted in a link


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
    return render_sections(comment.comparison, _SECTIONS, comment)


def _decision(comment: Comment, max_rows: int) -> str:
    """Return the decision of the gate, or the first verdict if there is no gate."""
    if comment.no_decision:
        return paragraphs(
            f"## {UNDECIDED_ICON} Gate: no decision",
            f"**{cell(comment.comparison.title)}** cannot be decided on:",
            bullets(comment.no_decision, max_rows),
        )
    changes = comment.since and _first_changes(comment.comparison, comment.since)
    return answer_part(comment.comparison, comment.decision, changes or "")


def _report_link(comment: Comment, _: int) -> str:
    """Return the link to the report, if its address is known, and to the decision in its folder."""
    if comment.report is None:
        return ""
    address = quote(comment.report, safe=_ADDRESS_CHARACTERS)
    folder = address.removesuffix(_REPORT)
    decision = f", [the decision](<{folder}{_DECISION}>)" if folder != address else ""
    return f"[The whole report](<{address}>){decision}"


def _first_changes(comparison: Comparison, since: RevisionChanges) -> str:
    """Return `Since v1, 1 of 2 models changed. Worse: ease on nDCG@10.`; empty if unknown."""
    models = {each.model for each in since.changes}
    if not models:
        return ""
    changed = {each.model for each in since.changes if each.verdict != "identical"}
    names = group_values(
        (_verdict(comparison, each), f"{each.model} on {each.label}")
        for each in _worst_first(since.changes)
        if each.primary and each.verdict != "identical"
    )
    parts = [f"{word}: {numbers.join_first(rows, _MAX_NAMES)}" for word, rows in names.items()]
    count = f"{len(changed)} of {len(models)} models changed" if changed else "no model changed"
    details = "; ".join(parts)
    more = f" {details[0].upper()}{details[1:]}." if details else ""
    return f"Since {since.revision}, {count}.{more}"


def _worst_first(changes: Sequence[Change]) -> list[Change]:
    return sorted(changes, key=lambda each: _WORST_FIRST.index(each.verdict))


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
    return paragraphs(title, table(("Key", "Before", "After"), rows, max_rows))


def _warnings(comment: Comment, max_rows: int) -> str:
    """Return the prominent warnings; those that the revision has, too, are folded."""
    comparison, since = comment.comparison, comment.since
    known = since.warnings if since else ()
    same = [each for each in comparison.prominent if each in known and not each.is_suspicious]
    others = tuple(each for each in comparison.warnings if each not in same)
    title = f"Warnings as at {sentence(since.revision)} ({len(same):,})" if since else ""
    return paragraphs(
        warnings_part(
            replace(comparison, warnings=others), comment.decision, comment.stale, max_rows
        ),
        folded(
            title,
            warnings_part(
                replace(comparison, warnings=tuple(same)), comment.decision, None, max_rows
            ),
        ),
    )


def _changes(comment: Comment, max_rows: int) -> str:
    """Return the change of every model on the primary labels."""
    since = comment.since
    if since is None:
        return ""
    mismatches = [
        text for text in since.mismatches if not any(text in why for why in comment.no_decision)
    ]
    changes = [each for each in since.changes if each.primary]
    same = [each for each in changes if each.verdict == "identical"]
    different = [each for each in changes if each.verdict != "identical"]
    notes = [f"{note[:1].upper()}{note[1:]}." for note in since.notes]
    training = list(training_texts(since.training_params))
    inputs = ", ".join(setting.name for setting in (*since.conventions, *since.data))
    return paragraphs(
        f"### Since {cell(since.revision)}",
        "The numbers cannot be compared:" if mismatches else "",
        bullets(mismatches, max_rows),
        _change_table(comment.comparison, different, max_rows),
        *[*map(sentence, _unchanged(same, different))][:max_rows],
        bullets(notes, max_rows),
        "Training parameters that changed:" if training else "",
        bullets(training, max_rows),
        f"Changed: {sentence(inputs)} (below)." if inputs else "",
    )


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
    ordered = _worst_first(changes)
    rows = [(each.model, each.label, *_numbers(comparison, each)) for each in ordered]
    return table(("Model", *_HEADER), rows, max_rows)


def _numbers(comparison: Comparison, change: Change) -> tuple[str, ...]:
    digits = numbers.label_decimals(comparison, change.label)
    return (
        _verdict(comparison, change),
        f"{numbers.number(change.then, digits)} → {numbers.number(change.now, digits)}",
        numbers.difference_with_interval(change, digits),
        f"{change.n_nonzero:,} of {change.n_users:,}",
    )


def _verdict(comparison: Comparison, change: Change) -> str:
    return phrase(change.verdict, numbers.min_effect_text(comparison, change.label))


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
    shown = [
        each
        for each in ranked
        if _deviates((each.ci_low, each.ci_high), overall.get((each.model, each.label)))
    ]
    shown = shown[:_MAX_SEGMENTS]
    others = [each for each in ranked if each not in shown]
    first, rest = (_segment_table(comparison, each, max_rows) for each in (shown, others))
    return _worse_segments(first, rest, len(others))


def _worse_segments(shown: str, others: str, n_others: int) -> str:
    title = f"{'Other s' if shown else 'S'}egments that are worse ({n_others:,})"
    return paragraphs(titled("Segments that are worse", shown), folded(title, others))


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
    return table(("Model", "Segment", *_HEADER), rows, max_rows)


def _worse_than_baseline(comparison: Comparison, max_rows: int) -> str:
    """Return the segments that are reversed or lose more than all users, and folded the others."""
    overall = {(pair.a, pair.label): pair for pair in comparison.pairs if pair.vs_baseline}
    shown: list[str] = []
    others: list[str] = []
    for entry in entries(comparison):
        first = [
            each
            for each in entry.cells
            if each.is_reversed
            or _deviates((each.diff_low, each.diff_high), overall.get((each.model, each.label)))
        ]
        rest = [each for each in entry.cells if each not in first]
        shown += segment_sentences(comparison, entry, first)
        others += segment_sentences(comparison, entry, rest)
    others = [*shown[_MAX_SEGMENTS:], *others]
    visible = bullets(shown[:_MAX_SEGMENTS], max_rows)
    return _worse_segments(visible, bullets(others, max_rows), len(others))


def _deviates(
    interval: tuple[float | None, float | None], overall: Change | Difference | None
) -> bool:
    """True if a segment loses although all users together do not, or loses significantly more."""
    if overall is None or overall.verdict not in _WORSE:
        return True
    low, high = interval
    if low is None or high is None or overall.ci_low is None or overall.ci_high is None:
        return False
    return high < overall.ci_low if (overall.difference or 0) < 0 else low > overall.ci_high


def _loss(change: Change) -> float:
    """Return the negative loss in widths of its interval, so that metrics can be compared."""
    if change.difference is None or change.ci_low is None or change.ci_high is None:
        return 0.0
    return -abs(change.difference) / max(change.ci_high - change.ci_low, 1e-12)


def _other_changes(comment: Comment, max_rows: int) -> str:
    """Return the significant changes on labels that are not primary."""
    changes = [
        each
        for each in (comment.since.changes if comment.since else ())
        if not each.primary and each.verdict in _SIGNIFICANT
    ]
    title = f"Other metrics with a significant change ({len(changes):,})"
    return folded(title, _family_table(comment.comparison, changes, max_rows))


def _family_table(comparison: Comparison, changes: Sequence[Change], max_rows: int) -> str:
    """Return a row for the cutoffs of a metric on which a model has the same verdict."""
    families = group_values(
        ((each.model, _cutoff(each.label)[0], _verdict(comparison, each)), each)
        for each in _worst_first(changes)
    )
    rows = [
        (model, _cutoffs(family), word, _reach(comparison, family))
        for (model, _, word), family in families.items()
    ]
    return table(("Model", "Metric", "Verdict", "Difference"), rows, max_rows)


def _cutoffs(family: Sequence[Change]) -> str:
    """Return `nDCG@1, 5 and 20`."""
    first, *others = (each.label for each in family)
    return join_names([first, *(_cutoff(label)[1] for label in others)])


def _cutoff(label: str) -> tuple[str, str]:
    """Return `nDCG@` and its cutoff `10`, or the label and an empty text if it has none."""
    metric, at, cutoff = label.rpartition("@")
    return (metric + at, cutoff) if cutoff.isdecimal() else (label, "")


def _reach(comparison: Comparison, family: Sequence[Change]) -> str:
    """Return the difference with its interval, or the smallest and the greatest difference."""
    if len(family) == 1:
        digits = numbers.label_decimals(comparison, family[0].label)
        return numbers.difference_with_interval(family[0], digits)
    digits = max(numbers.label_decimals(comparison, each.label) for each in family)
    differences = sorted(each.difference for each in family if each.difference is not None)
    ends = (numbers.signed(end, digits) for end in (differences[0], differences[-1]))
    return " to ".join(dict.fromkeys(ends))


def _inputs(comment: Comment, max_rows: int) -> str:
    """Return the conventions and tables that changed."""
    since, sections = comment.since, []
    inputs = (("Conventions", since.conventions), ("Data", since.data)) if since else ()
    for title, settings in inputs:
        rows = [(each.name, each.then, each.now, ", ".join(each.models)) for each in settings]
        content = table(("What", "Before", "After", "Models"), rows, max_rows)
        sections.append(folded(f"{title} that changed ({len(rows):,})", content))
    return paragraphs(*sections)


def _footer(comment: Comment, _: int) -> str:
    sentences = method_sentences(comment.comparison)
    if comment.decision is None and not comment.no_decision:
        sentences.append("No `gate:` is declared, so nothing is decided.")
    source = [f"in {cell(comment.folder)}"] if comment.folder else []
    source += [f"for {cell(comment.commit)}"] if comment.commit else []
    if source:
        sentences.append(f"Evaluated {' '.join(source)}.")
    return f"<sub>{' '.join(sentences)}</sub>"


_SECTIONS: Mapping[str, Callable[[Comment, int], str]] = {
    "the marker": lambda comment, _: marker(comment.folder),
    "the decision": _decision,
    "the link to the report": _report_link,
    "the rules of the gate": _rules,
    "warnings": _warnings,
    "changes": _changes,
    "segments": _segments,
    "replicates": lambda comment, n: replicates_part(comment.comparison, n),
    "checks": lambda comment, n: checks_part(comment.comparison, n),
    "the leaderboard": lambda comment, n: leaderboards_part(comment.comparison, n),
    "what the gate checked": lambda comment, n: gate_part(comment.decision, n),
    "changes of other metrics": _other_changes,
    "changed conventions and data": _inputs,
    "how models were compared": _footer,
}
