"""A comparison as Markdown: the parts that the report and a comment share, and the report."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Segmentation
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.text_format import group_values, join_names
from concord.reports.text import gate_cells as gate
from concord.reports.text import numbers, panel, quality, replicates, segments, summary
from concord.reports.text.answer import answer_numbers
from concord.reports.text.behaviour import changed_lists, check_sentences
from concord.reports.text.comparison import leaderboard, legend
from concord.reports.text.display_words import display_words
from concord.reports.text.groups import explain_groups
from concord.reports.text.markdown import (
    bullets,
    cell,
    escape_markdown,
    fit_comment,
    folded,
    more,
    paragraphs,
    sentence,
    table,
    titled,
)
from concord.reports.text.tables import users_text
from concord.reports.text.verdict_styles import phrase

UNDECIDED_ICON = "⚪"
# Outcome of the gate; others are undecided.
_ICONS = {"pass": "✅", "worse": "❌", "suspicious": "🔎"}


def render_markdown(comparison: Comparison) -> str:
    """Return a comparison in Markdown; tables are cut so that it fits in a comment."""
    return render_sections(comparison, _SECTIONS, comparison)


def render_sections(
    comparison: Comparison, sections: Mapping[str, Callable[[Any, int], str]], content: Any
) -> str:
    """Return the sections of a content, with the comparison's words for user, item and request."""
    words = display_words(comparison)
    of_content = {name: partial(section, content) for name, section in sections.items()}
    return fit_comment(of_content, lambda text: words.show(text, "markdown", escape_markdown))


def answer_part(comparison: Comparison, decision: Decision | None, changes: str = "") -> str:
    """Return the decision of the gate and the answer; without a gate first the changes."""
    title = cell(comparison.title)
    if decision is None:
        result = sentence(summary.trusted_answer(comparison))
        lines = [f"**{sentence(changes)}**", result] if changes else [f"**{result}**"]
        return paragraphs(f"## {title}", *lines)
    icon = _ICONS.get(decision.outcome if decision.models else "", UNDECIDED_ICON)
    first, *others = map(sentence, (gate.first_line(decision), *decision.lines[1:]))
    head = f"## {icon} Gate: {gate.head(decision)}"
    rest = sentence(summary.trusted_answer(comparison, decision))
    return paragraphs(head, f"**{title}. {first}**", *others, rest)


def warnings_part(
    comparison: Comparison, decision: Decision | None, stale: str | None, max_rows: int
) -> str:
    """Return the prominent warnings but those of the gate, after one that inputs have changed."""
    texts = [f"{stale}."] if stale else []
    cautions, _ = summary.cautions(comparison, decision)
    texts += [_with_fix(each.sentence, each.fix) for each in cautions if each.is_warning]
    lines = "\n>\n".join(f"> {sentence(text)}" for text in texts[:max_rows])
    return f"> [!WARNING]\n{lines}" if lines else ""


def replicates_part(comparison: Comparison, max_rows: int) -> str:
    """Return whether the order would hold if the models were trained again."""
    texts = [f"{text} {evidence}".rstrip() for text, evidence in replicates.answers(comparison)]
    if not texts:
        return ""
    first = f"**Would it hold if trained again?** {sentence(texts[0])}"
    return paragraphs(first, bullets(texts[1:], max_rows))


def leaderboards_part(comparison: Comparison, max_rows: int) -> str:
    """Return the leaderboards of the primary metrics; all but the first are folded."""
    first, *others = comparison.primary
    tables = [
        folded(label, _leaderboard(comparison, label, max_rows)) for label in others[:max_rows]
    ]
    omitted = more(len(others) - max_rows, " primary metrics").strip()
    lists = sentence(changed_lists(comparison))
    return titled("Leaderboard", _leaderboard(comparison, first, max_rows), lists, *tables, omitted)


def checks_part(comparison: Comparison, max_rows: int) -> str:
    """Return what the checks of the owner gave."""
    return titled("Checks", bullets(check_sentences(comparison), max_rows))


def _leaderboard(comparison: Comparison, label: str, max_rows: int) -> str:
    board = leaderboard(comparison, label, max_rows, details=True)
    users = group_values((users_text(each), each.model) for each in comparison.scores_of(label))
    means = [f"{text} ({join_names(models)})" for text, models in users.items()]
    notes = [
        f"means are over {', '.join(users if len(users) == 1 else means)}",
        *legend(comparison, [label], details=True),
    ]
    omitted = more(len(comparison.models) - max_rows, " models").strip()
    text = sentence(" ".join(f"{note[:1].upper()}{note[1:]}." for note in notes))
    return paragraphs(table(board.header, board.rows, len(board.rows)), omitted, text)


def gate_part(decision: Decision | None, max_rows: int) -> str:
    """Return what the gate checked, folded."""
    if decision is None:
        return ""
    lines, unchanged = gate.lines(decision), gate.unchanged_models(decision)
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
    header = ("Model", "Metric", "Difference (interval)", "Allowed", "Decision")
    same = f"Pass, as nothing has changed: {', '.join(unchanged)}." if unchanged else ""
    note = sentence(gate.intervals_note(decision))
    content = paragraphs(table(header, rows, max_rows), sentence(same), note)
    return folded(f"What the gate checked ({len(lines):,})", content)


def method_sentences(comparison: Comparison) -> list[str]:
    """Return how differences were tested, and under which conventions."""
    conventions = comparison.conventions
    preset, fingerprint = cell(conventions.preset), cell(conventions.fingerprint)
    known = f"Conventions: preset {preset}, fingerprint {fingerprint}."
    return [summary.method_note(comparison), *([known] if comparison.has_lists else [])]


def _with_fix(text: str, fix: str) -> str:
    return f"{text} What to do: {fix}." if fix else text


def _cautions(comparison: Comparison, max_rows: int) -> str:
    visible, others = summary.cautions(comparison)
    rest = bullets([each.sentence for each in others], max_rows)
    return paragraphs(
        "Before you rely on it:",
        bullets([each.sentence for each in visible if not each.is_warning], max_rows),
        folded(f"{len(others)} more", rest),
    )


def _pairs_over_replicates(comparison: Comparison, max_rows: int) -> str:
    tables = []
    for label in comparison.primary:
        pairs = replicates.rows(comparison, label)
        margin = numbers.min_effect_text(comparison, label)
        rows = [
            (
                f"{row.pair.a} − {row.pair.b}",
                row.difference,
                f"{row.over_users}: {phrase(row.users.verdict, margin)}",
                f"{row.over_trainings}: {phrase(row.pair.verdict, margin)}",
                f"{row.pair.n_replicates_a} and {row.pair.n_replicates_b}",
                f"{row.pair.n_reversed} of {row.pair.n_pairs}",
            )
            for row in pairs
        ]
        over = replicates.covers(pairs[0]).capitalize() if pairs else ""
        header = (label, "Difference", "Users only", over, "Replicates", "Reversed")
        tables.append(table(header, rows, max_rows))
    return titled("Pairs over replicates", *tables)


def _segments(comparison: Comparison, max_rows: int) -> str:
    entries = segments.entries(comparison)
    sentences = [
        text
        for entry in entries
        for text in segments.segment_sentences(comparison, entry, entry.cells)
    ]
    parts, explained = [bullets(sentences, max_rows)], ""
    for entry in entries:
        for grid in segments.grids(comparison, entry)[:1]:
            explanation = explain_groups(entry)
            known = "" if explanation == explained else explanation
            parts += [
                sentence(f"{entry.question} {known}".rstrip()),
                _grid_table(comparison, entry, grid, max_rows),
            ]
            explained = explanation
    return titled("Which segments are better or worse?", *parts)


def _grid_table(
    comparison: Comparison, entry: Segmentation, grid: segments.Grid, max_rows: int
) -> str:
    has_baseline, lines = not segments.shows_shares(entry), grid.lines[:max_rows]
    margin = numbers.min_effect_text(comparison, grid.label)
    header = [grid.label, *(line.model for line in lines)]
    header += [comparison.baseline, "Users"] if has_baseline else []
    rows = [
        [
            group.name,
            *(_grid_cell(line.cells[number], margin) for line in lines),
            *([group.mean, numbers.count(group.n_users)] if has_baseline else []),
        ]
        for number, group in enumerate(grid.groups)
    ]
    omitted = more(len(grid.lines) + grid.n_more - len(lines), " models").strip()
    return paragraphs(table(header, rows, max_rows), omitted)


def _grid_cell(each: segments.Cell, margin: str) -> str:
    number = "" if each.value is None and each.word else each.text
    is_reversed = ", reversed" if each.is_reversed else ""
    word = phrase(each.verdict, margin, is_reversed) if each.verdict else each.word
    return f"{numbers.with_details(number, each.detail)} {word}".strip()


def _panel(comparison: Comparison, max_rows: int) -> str:
    parts = []
    for entry in panel.entries(comparison):
        header = (
            f"{entry.metric} as defined by",
            "What it changes",
            "First two",
            "Pairs that flip",
            "Verdicts that change",
        )
        margin = numbers.min_effect_text(comparison, entry.metric)
        rows = [_definition_row(line, margin) for line in panel.lines(comparison, entry)]
        excluded = "; ".join(f"{each.preset} ({each.reason})" for each in entry.excluded)
        parts += [
            sentence(f"{entry.metric}: {entry.sentence}"),
            table(header, rows, max_rows),
            sentence(f"Left out: {excluded}.") if excluded else "",
        ]
    return titled("Would another definition change the answer?", *parts)


def _definition_row(line: panel.Line, margin: str) -> tuple[str, ...]:
    flips = [f"{above} above {below}" for above, below in line.flips]
    changes = [
        f"{each.model}: {phrase(each.before, margin) if each.before else numbers.MISSING} → "
        f"{phrase(each.after, margin)}"
        for each in line.verdict_changes
    ]
    return (
        ", ".join(line.names),
        line.changes or "nothing",
        line.top if line.top_two_hold else f"changed: {line.top}",
        _first(flips, line.more_flips),
        _first(changes, line.more_verdict_changes),
    )


def _first(texts: Sequence[str], n_more: int) -> str:
    return (", ".join(texts) or "none") + (f" and {n_more} more" if n_more else "")


def _quality(comparison: Comparison, max_rows: int) -> str:
    findings = [
        _with_fix(f"{each.names}: {each.sentence}", each.fix)
        + (f" Acknowledged: {each.acknowledged}." if each.acknowledged else "")
        for each in quality.findings(comparison)
    ]
    nothing = f"Nothing to report: {quality.no_defects(comparison)}."
    return titled("Data quality", bullets(findings, max_rows) or sentence(nothing))


def _conventions(comparison: Comparison, max_rows: int) -> str:
    if not comparison.has_lists:
        return ""
    rows = [*_convention_rows(comparison)]
    content = table(("Convention", "Value", "Meaning"), rows, max_rows)
    return folded("Conventions that change a metric of this report", content)


def _convention_rows(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    conventions = comparison.conventions
    for each in conventions.values:
        if each.changes:
            yield each.name, numbers.setting(each.value), each.meaning
    for metric, changed in conventions.overrides.items():
        for name, value in changed.items():
            yield f"{name} of {metric}", numbers.setting(value), "override"


_SECTIONS: Mapping[str, Callable[[Comparison, int], str]] = {
    "the decision": lambda comparison, _: answer_part(comparison, comparison.gate),
    "the differences": lambda comparison, _: sentence(answer_numbers(comparison)),
    "warnings": lambda comparison, n: warnings_part(comparison, comparison.gate, None, n),
    "cautions": _cautions,
    "replicates": replicates_part,
    "checks": checks_part,
    "the leaderboard": leaderboards_part,
    "pairs over replicates": _pairs_over_replicates,
    "what the gate checked": lambda comparison, max_rows: gate_part(comparison.gate, max_rows),
    "segments": _segments,
    "definitions": _panel,
    "data quality": _quality,
    "conventions": _conventions,
    "how models were compared": lambda comparison, _: " ".join(method_sentences(comparison)),
}
