"""One comment in a pull request: the decision first, then what changed, then all models."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.gate import Decision
from concord.metrics_core.results.history import Change, RevisionChanges
from concord.reports.sections import gate
from concord.reports.sections.segments import entries
from concord.reports.sections.summary import how_sure
from concord.reports.text.verdicts import segment_sentences
from concord.reports.writing import numbers
from concord.reports.writing.markdown import (
    COMMENT_LIMIT,
    FEWEST_ROWS,
    bullets,
    cell,
    fitting,
    folded,
    sentence,
    table,
    with_interval,
)
from concord.reports.writing.verdicts import VERDICTS

_WORST_FIRST = [*VERDICTS][::-1]
_NAMED = 3  # models on labels, of one verdict
_QUIET = {"identical", "undecided", "equivalent", "too_few_users", "no_interval", "not_comparable"}
_HEADS = "Verdict;>Then → now;>Difference (interval);>Users who differ"


def in_short(since: RevisionChanges) -> str:
    """`Since v1: worse: ease on nDCG@10; identical: knn on nDCG@10.`, empty if nothing could be compared."""
    told = []
    for verdict in _WORST_FIRST:
        found = [each for each in since.changes if each.primary and each.verdict == verdict]
        places = [f"{each.model} on {each.label}" for each in found[:_NAMED]]
        if found[_NAMED:]:
            places.append(f"{len(found) - _NAMED} more")
        if places:
            told.append(f"{VERDICTS[verdict].word}: {', '.join(places)}")
    return f"Since {since.revision}: {'; '.join(told)}." if told else ""


def primary_changes(since: RevisionChanges, most: int) -> str:
    """Every model on the primary labels; who is as before stands in a sentence."""
    found = [change for change in since.changes if change.primary]
    rows = [_row(each) for each in _worst_first(found) if each.verdict != "identical"]
    told = [table(f"Model;Metric;{_HEADS}", rows, most)] if rows else []
    same = [each for each in found if each.verdict == "identical"]
    for label in dict.fromkeys(each.label for each in same):
        names = [each.model for each in same if each.label == label]
        told.append(sentence(f"{label}: the same for every user: {', '.join(names)}."))
    return "\n\n".join([*told[: most + 1]])


def other_changes(since: RevisionChanges, most: int) -> str:
    """Models on labels that are not primary, where they are shown to be another."""
    found = [each for each in since.changes if not each.primary and each.verdict not in _QUIET]
    if not found:
        return ""
    rows = [_row(each) for each in _worst_first(found)]
    title = f"Other metrics with a significant change ({len(rows):,})"
    return folded(title, table(f"Model;Metric;{_HEADS}", rows, most))


def worse_segments(since: RevisionChanges, most: int) -> str:
    """The groups in which a model is worse than it was, the worst difference of each label first."""
    if not since.segmented:
        return ""
    if not since.worse:
        return "No segment is shown to be worse than it was."
    rows = [
        (each.model, f"{each.segmentation} “{each.segment}”", each.label, *_numbers(each))
        for each in sorted(since.worse, key=_loss)
    ]
    return f"### Segments that are worse\n\n{table(f'Model;Segment;Metric;{_HEADS}', rows, most)}"


def changed_rules(since: RevisionChanges, most: int) -> str:
    """By what is decided, where it is another than it was: a request may widen its own gate."""
    if not since.rules:
        return ""
    rows = [(each.name, each.then, each.now) for each in since.rules]
    title = (
        f"**This changes what is asked of it**, in params.yaml since {sentence(since.revision)}:"
    )
    return f"{title}\n\n{table('Key;Before;After', rows, most)}"


def changed_inputs(since: RevisionChanges, most: int) -> str:
    """Conventions and tables that have another value than they had."""
    parts = []
    for title, settings in (("Conventions", since.conventions), ("Data", since.data)):
        rows = [(each.name, each.then, each.now, ", ".join(each.models)) for each in settings]
        if rows:
            listed = table("What;Before;After;Models", rows, most)
            parts.append(folded(f"{title} that changed ({len(rows):,})", listed))
    return "\n\n".join(parts)


def _row(change: Change) -> tuple[str, ...]:
    return (change.model, change.label, *_numbers(change))


def _numbers(found: Change) -> tuple[str, ...]:
    digits = numbers.decimals([found], [found.then, found.now])
    return (
        VERDICTS[found.verdict].word,
        f"{numbers.number(found.then, digits)} → {numbers.number(found.now, digits)}",
        with_interval(
            numbers.signed(found.difference, digits),
            numbers.signed_interval(found.ci_low, found.ci_high, digits),
        ),
        f"{found.n_nonzero:,} of {found.n_users:,}",
    )


def _worst_first(found: Sequence[Change]) -> list[Change]:
    return sorted(found, key=lambda each: _WORST_FIRST.index(each.verdict))


def _loss(found: Change) -> float:
    """Against the width of its interval, since metrics have different units; most negative first."""
    if found.difference is None or found.ci_low is None or found.ci_high is None:
        return 0.0
    return -abs(found.difference) / max(found.ci_high - found.ci_low, 1e-12)


_LEFT_OUT = "Left out, since a comment is too short for it: {}. The report has all of it."
_ROOM = 1000  # characters for that
_KEY = re.compile(r"\\`(\w[\w.: \\-]*)\\`", re.ASCII)  # `gate.new_models: baseline`, escaped


@dataclass(frozen=True)
class Comment:
    """What a comment tells.

    folder      : of the project in its repository; empty at its root
    decision    : of the gate; None without a gate, and where it cannot decide
    no_decision : why the gate cannot decide, one a reason
    since       : against another revision; None where none was named
    commit      : the evaluated commit, as its last line names it; None where none was named
    stale       : what has changed since the results were made; None where nothing has
    """

    folder: str
    comparison: Comparison
    decision: Decision | None
    no_decision: tuple[str, ...] = ()
    since: RevisionChanges | None = None
    commit: str | None = None
    stale: str | None = None


Section = tuple[str, Callable[[Comment, int], str]]


def marker(folder: str) -> str:
    """The first line, by which the comment of a project is found again; it is not shown."""
    return f"<!-- concord: {quote(folder) or '.'} -->"


def render_comment(comment: Comment) -> str:
    """The comment in Markdown, cut in words until it is as short as a comment may be."""
    text = fitting(lambda rows: _joined(comment, [text for _, text in _told(comment, rows)]))
    return text if len(text) <= COMMENT_LIMIT else _shortened(comment, _told(comment, FEWEST_ROWS))


def _told(comment: Comment, rows: int) -> list[tuple[str, str]]:
    told = [(name, section(comment, rows)) for name, section in _SECTIONS]
    return [(name, text) for name, text in told if text]


def _joined(comment: Comment, sections: Sequence[str]) -> str:
    return "\n\n".join([marker(comment.folder), *sections]) + "\n"


def _shortened(comment: Comment, sections: Sequence[tuple[str, str]]) -> str:
    """The sections that fit, in their order, and the names of the others."""
    room = COMMENT_LIMIT - _ROOM - len(marker(comment.folder))
    kept, lost = [], []
    for name, text in sections:
        if len(text) + 2 <= room:
            room -= len(text) + 2
            kept.append(text)
        else:
            lost.append(name)
    return _joined(comment, [*kept, _LEFT_OUT.format(", ".join(lost))])


def _decision(comment: Comment, most: int) -> str:
    """The decision as a heading, and in words; without a gate what the first verdict says."""
    title = cell(comment.comparison.title)
    if comment.no_decision:
        why = bullets(comment.no_decision, most)
        return f"## Gate: no decision\n\n**{title}** cannot be decided on:\n\n{why}"
    if comment.decision is None:
        said = comment.since and in_short(comment.since)
        verdict = said or next(iter(comment.comparison.verdicts), "Nothing was compared.")
        return f"## {title}\n\n**{sentence(verdict)}**"
    lines = [gate.first(comment.decision), *comment.decision.lines[1:]]
    first, *rest = (_keys_as_code(sentence(line)) for line in lines)
    return "\n\n".join([f"## Gate: {gate.head(comment.decision)}", f"**{title}. {first}**", *rest])


def _keys_as_code(escaped: str) -> str:
    """With the keys that a decision names set as code; all else stays escaped."""
    return _KEY.sub(lambda key: "`" + key[1].replace("\\", "") + "`", escaped)


def _beware(comment: Comment, most: int) -> str:
    said = [f"{comment.stale}."] if comment.stale else []
    said += [warned.sentence for warned in comment.comparison.serious]
    told = [f"> **Read this first:** {sentence(each)}" for each in said]
    return "\n\n".join(told[:most])


def _rules(comment: Comment, most: int) -> str:
    return "" if comment.since is None else changed_rules(comment.since, most)


def _since(comment: Comment, most: int) -> str:
    if comment.since is None:
        return ""
    since = comment.since
    parts = [f"### Since {cell(since.revision)}"]
    if since.mismatches:
        parts.append(f"The numbers are no comparison:\n\n{bullets(since.mismatches, most)}")
    parts += [primary_changes(since, most), bullets([_capital(note) for note in since.notes], most)]
    if names := [setting.name for setting in (*since.conventions, *since.data)]:
        parts.append(f"Changed: {sentence(', '.join(names))} (below).")
    return "\n\n".join(filter(None, parts))


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _segments(comment: Comment, most: int) -> str:
    """Where models are worse: than they were, or, without a revision, than the baseline."""
    if comment.since is not None:
        return worse_segments(comment.since, most)
    worse = [
        sentence
        for entry in entries(comment.comparison)
        for sentence in segment_sentences(comment.comparison, entry, entry.cells)
    ]
    return f"### For whom it is worse\n\n{bullets(worse, most)}" if worse else ""


def _leaderboard(comment: Comment, most: int) -> str:
    comparison = comment.comparison
    first, *others = comparison.primary
    text = f"### Leaderboard\n\n{_board(comparison, first, most)}"
    for label in others[:most]:
        arrow = _arrow(comparison, label)
        text += "\n\n" + folded(f"{label} {arrow}", _board(comparison, label, most))
    return f"{text}\n\n… and {len(others) - most} more primary metrics." if others[most:] else text


def _trainings(comment: Comment, _: int) -> str:
    said = next(iter(comment.comparison.replicate_answers), "")
    return f"**Would it hold if trained again?** {sentence(said)}" if said else ""


def _board(comparison: Comparison, label: str, most: int) -> str:
    """The best models on a label, and the baseline whatever its place."""
    ranked = [*comparison.leaders(label), *comparison.others(label)]
    shown = ranked[:most]
    if comparison.baseline not in shown:
        shown[-1] = comparison.baseline
    digits = numbers.digits_of(comparison, label), numbers.difference_digits_of(comparison, label)
    rows = [_board_row(comparison, label, model, *digits) for model in shown]
    heads = (
        f"Model;>{label} {_arrow(comparison, label)};"
        f">Against {comparison.baseline.replace(';', ',')};Verdict"
    )
    left = len(ranked) - len(shown)
    return table(heads, rows, most) + (f"\n\n… and {left:,} more models." if left else "")


def _board_row(
    comparison: Comparison, label: str, model: str, digits: int, fine: int
) -> tuple[str, ...]:
    score = comparison.score(model, label)
    mean = with_interval(
        numbers.number(score.mean, digits), numbers.interval(score.ci_low, score.ci_high, digits)
    )
    pair = comparison.difference(model, comparison.baseline, label)
    if pair is None:
        return (model, mean, "", "baseline" if model == comparison.baseline else "not compared")
    difference = with_interval(
        numbers.signed(pair.difference, fine),
        numbers.signed_interval(pair.ci_low, pair.ci_high, fine),
    )
    return (model, mean, difference, VERDICTS[pair.verdict].word)


def _arrow(comparison: Comparison, label: str) -> str:
    return "↑" if comparison.metric(label).higher_is_better else "↓"


def _checked(comment: Comment, most: int) -> str:
    if comment.decision is None:
        return ""
    rows = [
        (
            line.model,
            line.what,
            with_interval(line.difference, line.interval),
            line.allowed,
            f"{line.said}: {line.why}",
        )
        for line in gate.lines_of(comment.decision)
    ]
    heads = "Model;Metric;>Difference (interval);>Allowed;Decision"
    return folded(f"What the gate checked ({len(rows):,})", table(heads, rows, most))


def _others(comment: Comment, most: int) -> str:
    return "" if comment.since is None else other_changes(comment.since, most)


def _inputs(comment: Comment, most: int) -> str:
    return "" if comment.since is None else changed_inputs(comment.since, most)


def _footer(comment: Comment, _: int) -> str:
    pinned = comment.comparison.conventions
    said = [
        how_sure(comment.comparison),
        f"Conventions: preset {cell(pinned.preset)}, fingerprint {cell(pinned.fingerprint)}.",
    ]
    if comment.decision is None and not comment.no_decision:
        said.append("No `gate:` is declared, so nothing is decided.")
    where = [f"in {cell(comment.folder)}"] if comment.folder else []
    where += [f"for {cell(comment.commit)}"] if comment.commit else []
    if where:
        said.append(f"Evaluated {' '.join(where)}.")
    return f"<sub>{' '.join(said)}</sub>"


_SECTIONS: tuple[Section, ...] = (
    ("the decision", _decision),
    ("what is asked", _rules),
    ("warnings", _beware),
    ("changes", _since),
    ("segments", _segments),
    ("new trainings", _trainings),
    ("the leaderboard", _leaderboard),
    ("what the gate checked", _checked),
    ("changes of other metrics", _others),
    ("changed conventions and data", _inputs),
    ("how it was compared", _footer),
)
