"""A comparison as text: verdicts, warnings, and the leaderboard of each primary metric."""

from collections.abc import Iterator, Mapping, Sequence

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.text_format import join_names
from concord.reports.text import numbers, references, tables
from concord.reports.text.behaviour import check_sentences
from concord.reports.text.blocks import Block, TextTable
from concord.reports.text.groups import warning_sentence
from concord.reports.text.summary import (
    confidence,
    difference_interval,
    headline,
    notes,
    share_note,
)
from concord.reports.text.verdict_styles import VERDICTS, phrase

Row = tuple[str, ...]


def describe(comparison: Comparison) -> Iterator[Block]:
    """Yield the answer, and where to read on in Python."""
    yield from answer_blocks(comparison)
    yield from notes(comparison)


def answer_blocks(comparison: Comparison, *, fixes: bool = True) -> Iterator[Block]:
    """Yield prominent warnings, what was compared, the verdicts and the leaderboards."""
    yield from warning_lines(comparison, fixes=fixes)
    models, metrics = format_count(len(comparison.models), "model"), ", ".join(comparison.primary)
    conventions = numbers.conventions_name(comparison.conventions)
    settings = f", conventions {conventions}" if comparison.has_lists else ""
    yield f"{models} on {metrics}; the baseline is {comparison.baseline}{settings}"
    yield headline(comparison)
    yield from comparison.verdicts[1:]
    yield from leaderboards(comparison, comparison.primary)


def warning_lines(comparison: Comparison, *, fixes: bool = True) -> Iterator[str]:
    """Yield `Warning (als): … What to do: …` for each prominent warning, suspicious first."""
    for warning in sorted(comparison.prominent, key=lambda each: not each.is_suspicious):
        sentence = warning_sentence(comparison, warning)
        names_them = warning.models and join_names(warning.models) in sentence
        models = "" if names_them else f" ({warning.model_names})"
        fix = f" What to do: {warning.fix}." if fixes and warning.fix else ""
        yield f"Warning{models}: {sentence}{fix}"


def leaderboards(comparison: Comparison, labels: Sequence[str]) -> Iterator[Block]:
    """Yield the leaderboard of each metric, the meaning of its marks, and checks of lists."""
    for number, label in enumerate(labels):
        yield from [""] if number else []
        yield leaderboard(comparison, label)
    for lines in ([*legend(comparison, labels)], check_sentences(comparison)):
        yield from ["", *lines] if lines else []


def leaderboard(
    comparison: Comparison, label: str, n_models: int | None = None, *, details: bool = False
) -> TextTable:
    """Return means, differences to the baseline and verdicts on a metric, the best model first.

    References are below the models, with means only.

    Parameters
    ----------
    n_models : int, optional
        Number of models; the baseline is always one of them.
    details : bool
        Adds relative differences and adjusted p-values.
    """
    interval = f"{confidence(comparison)} interval"
    more = ("relative", "p, adjusted") if details else ()
    joint = difference_interval(comparison, label)
    if joint != interval:
        joint = joint.removesuffix(" interval")
    header = (_directed(comparison, label), "mean", interval, "difference", joint, *more, "verdict")
    models = [*comparison.leaders(label), *comparison.others(label)][:n_models]
    if comparison.baseline not in models:
        models[-1] = comparison.baseline
    marks = tables.marks(comparison, label)
    rows: list[Row] = []
    for model in models:
        score, digits = comparison.score(model, label), comparison.decimals[label]
        mean = _mean(comparison, model, label, marks)
        span = numbers.interval(score.ci_low, score.ci_high, digits)
        rows += [(model, mean, span, *_difference(comparison, model, label, details=details))]
        rows += _over_replicates(comparison, model, label, more)
    empty = ("",) * (len(header) - 3)
    means = references.texts(comparison, label)
    rows += [(name, mean, *empty, references.WORD) for name, mean in means.items()]
    return TextTable(header, rows)


def means_table(comparison: Comparison, labels: Sequence[str]) -> TextTable:
    """Return the means of all models, then of the references, on several metrics."""
    marks = {label: tables.marks(comparison, label) for label in labels}
    known = {label: references.texts(comparison, label) for label in labels}
    rows = [
        (model, *(_mean(comparison, model, label, marks[label]) for label in labels))
        for model in comparison.ranked
    ]
    rows += [
        (f"{name} ({references.WORD})", *(known[label].get(name, "") for label in labels))
        for name in references.names(comparison, labels)
    ]
    return TextTable(("model", *(_directed(comparison, label) for label in labels)), rows)


def primary_table(comparison: Comparison, labels: Sequence[str], n_models: int) -> TextTable:
    """Return means, differences and verdicts on several metrics, a row per model."""
    models = comparison.ranked[:n_models]
    if comparison.baseline not in models:
        models[-1] = comparison.baseline
    header, columns = ["model"], [[*models]]
    for label in labels:
        header += [_directed(comparison, label), "difference"]
        marks = tables.marks(comparison, label)
        columns.append([_mean(comparison, model, label, marks) for model in models])
        columns.append([_difference_word(comparison, model, label) for model in models])
    return TextTable(header, [*zip(*columns, strict=True)])


def _difference_word(comparison: Comparison, model: str, label: str) -> str:
    """Return `+0.066 better`, or the word of a model without a difference."""
    pair = comparison.difference(model, comparison.baseline, label)
    if pair is None:
        return _without_difference(comparison, model)
    difference = numbers.signed(pair.difference, comparison.decimals[label])
    return f"{difference} {VERDICTS[pair.verdict].word}"


def _without_difference(comparison: Comparison, model: str) -> str:
    return "baseline" if model == comparison.baseline else "not compared"


def _directed(comparison: Comparison, label: str) -> str:
    return f"{label} {'↑' if comparison.metric(label).higher_is_better else '↓'}"


def _mean(comparison: Comparison, model: str, label: str, marks: Mapping[str, str]) -> str:
    mean = numbers.number(comparison.score(model, label).mean, comparison.decimals[label])
    return f"{mean} {marks.get(model, '')}".rstrip()


def _difference(comparison: Comparison, model: str, label: str, *, details: bool) -> Row:
    pair = comparison.difference(model, comparison.baseline, label)
    if pair is None:
        return ("", "", *(("", "") if details else ()), _without_difference(comparison, model))
    digits = comparison.decimals[label]
    p_values = (numbers.relative(pair.relative), numbers.p_value(pair.p_adjusted))
    word = phrase(pair.verdict, numbers.min_effect_text(comparison, label))
    note = numbers.undecided_note(pair, digits)
    return (
        numbers.signed(pair.difference, digits),
        numbers.signed_interval(pair.ci_low, pair.ci_high, digits),
        *(p_values if details else ()),
        "; ".join(filter(None, (word, note if details else ""))),
    )


def _over_replicates(
    comparison: Comparison, model: str, label: str, more: Sequence[str]
) -> Iterator[Row]:
    """Yield the row with intervals and verdict over replicates, if the model has any."""
    if comparison.replicates is None:
        return
    digits, score = comparison.decimals[label], comparison.replicates.score(model, label)
    pair = comparison.retrained(model, comparison.baseline, label)
    mean = difference = word = ""
    if score is not None:
        too_few = f"too few: {len(score.means)}"
        mean = numbers.interval(score.ci_low, score.ci_high, digits) or too_few
    if pair is not None:
        difference = numbers.signed_interval(pair.ci_low, pair.ci_high, digits)
        word = phrase(pair.verdict, numbers.min_effect_text(comparison, label))
    if score is not None or pair is not None:
        yield ("  replicates", "", mean, "", difference, *("" for _ in more), word)


def legend(
    comparison: Comparison, labels: Sequence[str], *, details: bool = False
) -> Iterator[str]:
    """Yield the meaning of marks and words; without details, users and what they can show, too."""
    for mark, meaning in tables.legend(comparison, labels).items():
        yield f"{mark}: {meaning}"
    repeats = comparison.references is not None and comparison.references.repeats
    if (details or repeats) and (meanings := references.meanings(comparison, labels)):
        yield f"{references.WORD}: {meanings}"
    if any(difference_interval(comparison, label).startswith("joint") for label in labels):
        level = confidence(comparison)
        tried = f", for {comparison.tried} models tried" if comparison.tried else ""
        yield f"joint: together, these intervals hold with {level} confidence{tried}"
    yield from filter(None, [share_note(comparison).strip(" .")])
    for label in () if details else labels:
        users = tables.common_users(comparison, label)
        if users and tables.has_undefined(comparison, [label]):
            yield f"means of {label} are over {users}"
    shown = [
        f"{pair.a} {note.removeprefix('can show ')} of {label}"
        for label in labels
        for pair in comparison.against_baseline(label)
        if (note := numbers.undecided_note(pair, comparison.decimals[label])).startswith("can show")
    ]
    cases = f"in 80{numbers.PERCENT} of cases"
    if shown and details:
        yield f"can show: the smallest true difference that these users show {cases}"
    elif shown:
        yield f"true differences that these users can show, {cases}: {', '.join(shown)}"
