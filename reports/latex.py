"""The leaderboard as a LaTeX table; letters name models that are significantly worse."""

import re
from collections.abc import Mapping, Sequence
from string import ascii_lowercase

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.text_format import join_names
from concord.reports.text import numbers, references, tables
from concord.reports.text.display_words import display_words
from concord.reports.text.summary import difference_interval, mean_description
from concord.reports.text.tables import MANY_MODELS

_LEADING = " the leading mean"
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    numbers.MINUS: r"$-$",
    numbers.MISSING: "--",
    "\N{NO-BREAK SPACE}": "~",
}


def render_latex(comparison: Comparison, metrics: Sequence[str] | None = None) -> str:
    """Return a booktabs table of models by metric, with a caption that explains it.

    Parameters
    ----------
    metrics : sequence of str, optional
        Labels of the columns; by default the primary ones, which fit in a column of a page.
    """
    texts = [metrics] if isinstance(metrics, str) else metrics
    labels = [comparison.metric(text).label for text in texts or comparison.primary]
    marks = {label: tables.marks(comparison, label) for label in labels}
    letters = {} if {*labels}.isdisjoint(comparison.primary) else _letters(comparison)
    name_letters = {} if _has_many_models(comparison) else letters
    rows = [
        _row(
            [
                _name(model, name_letters),
                *(
                    _cell(comparison, model, label, letters, is_bold=model in marks[label])
                    for label in labels
                ),
            ]
        )
        for model in comparison.ranked
    ]
    if names := references.names(comparison, labels):
        means = [references.texts(comparison, label) for label in labels]
        rows.append("\\midrule")
        rows += [_row([f"\\textit{{{name}}}", *(x.get(name, "") for x in means)]) for name in names]
    n_others = len(comparison.labels) - len(labels)
    more = f"{format_count(n_others, 'other metric')}: to_latex(metrics=comparison.labels)"
    others = f"; {more}" if n_others else ""
    lines = [
        f"% \\usepackage{{booktabs}}{others}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{_caption(comparison, labels)}}}",
        "\\label{tab:concord}",
        f"\\begin{{tabular}}{{l{'r' * len(labels)}}}",
        "\\toprule",
        _row(["Model", *(_head(comparison, label) for label in labels)]),
        "\\midrule",
        *rows,
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]
    return display_words(comparison).show("\n".join(lines) + "\n", escape=escaped)


def escaped(text: str) -> str:
    """Return the text without commands, comments and separators of cells."""
    plain = re.sub(r"[\x00-\x1f\x7f]+", " ", text)
    return "".join(_SPECIAL.get(character, character) for character in plain)


def _has_many_models(comparison: Comparison) -> bool:
    """True if only the baseline has a mark, a dagger."""
    return len(comparison.ranked) >= MANY_MODELS


def _letters(comparison: Comparison) -> dict[str, str]:
    """Return model -> letter, in the order of the table; with many models, a dagger."""
    if _has_many_models(comparison):
        return {comparison.baseline: r"\dagger"}
    return dict(zip(comparison.ranked, ascii_lowercase, strict=False))


def _head(comparison: Comparison, label: str) -> str:
    arrow = r"$\uparrow$" if comparison.metric(label).higher_is_better else r"$\downarrow$"
    return f"{escaped(label)} {arrow}"


def _name(model: str, letters: Mapping[str, str]) -> str:
    letter = letters.get(model)
    return f"{escaped(model)}$^{{{letter}}}$" if letter else escaped(model)


def _cell(
    comparison: Comparison, model: str, label: str, letters: Mapping[str, str], *, is_bold: bool
) -> str:
    row = comparison.score(model, label)
    text = escaped(numbers.number(row.mean, comparison.decimals[label]))
    mean = f"\\textbf{{{text}}}" if is_bold else text
    if label not in comparison.primary:
        return mean
    beaten = [letters[other] for other in letters if tables.beats(comparison, model, other, label)]
    return f"{mean}$^{{{''.join(beaten)}}}$" if beaten else mean


def _caption(comparison: Comparison, labels: Sequence[str]) -> str:
    conventions = comparison.conventions
    rows = comparison.primary_pairs
    counts = sorted({row.n_users for row in rows})
    means = mean_description(comparison)
    means = means[:1].lower() + means[1:].removesuffix(",")
    sentences = [f"{comparison.title}: {means}."]
    if meanings := tables.legend(comparison, labels).values():
        texts = [meaning.partition(":")[0] for meaning in meanings]
        if len(texts) > 1:  # equivalent to, or not significantly different from, the same mean
            texts = [*(text.removesuffix(_LEADING) for text in texts[:-1]), texts[-1]]
        sentences.append(f"Bold means are {' or '.join(texts)}.")
    if shown := [label for label in comparison.primary if rows and label in labels]:
        users = f"{'' if len(counts) == 1 else 'up to '}{numbers.count(counts[-1])} users"
        meaning = (
            "A dagger marks a mean that is significantly better than that of "
            f"{comparison.baseline}, the baseline"
            if _has_many_models(comparison)
            else "A mean has the letters of the models that it is significantly better than"
        )
        of = "" if {*labels} <= {*comparison.primary} else f" on {join_names(shown)}"
        sentences.append(
            f"{meaning}{of} ({_tests(comparison)}, {difference_interval(comparison, shown[0])}s, "
            f"{users})."
        )
    if explained := references.meanings(comparison, labels):
        sentences.append(f"References, in italics: {explained}.")
    if comparison.has_lists:
        sentences.append(f"Conventions: {conventions.preset}, {conventions.fingerprint}.")
    return escaped(" ".join(sentences))


def _tests(comparison: Comparison) -> str:
    names = {"t": "paired t", "sign_flips": "sign flips"}
    used = {pair.test for pair in comparison.primary_pairs if pair.p is not None}
    return " and ".join(name for test, name in names.items() if test in used) or "no test"


def _row(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
