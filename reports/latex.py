"""The leaderboard as a LaTeX table for a paper: intervals decide the digits, letters say what is significantly better."""

import re
from collections.abc import Mapping
from string import ascii_lowercase

from concord.metrics_core.results.comparison import Comparison
from concord.reports.text import numbers
from concord.reports.text.summary import confidence, how_adjusted, means_over
from concord.reports.text.tables import MANY_MODELS, main_labels

_MAX_COLUMNS = 8
_BETTER = {"better", "better_below_threshold"}
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


def render_latex(comparison: Comparison) -> str:
    """Return a table in the style of booktabs: models by metric, the best in bold, with a caption that says how it was made."""
    labels = main_labels(comparison)[:_MAX_COLUMNS]
    letters = _letters(comparison)
    of_names = {} if _has_many_models(comparison) else letters
    lines = [
        "% \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{_caption(comparison)}}}",
        "\\label{tab:concord}",
        f"\\begin{{tabular}}{{l{'r' * len(labels)}}}",
        "\\toprule",
        _row(["Model", *(_head(comparison, label) for label in labels)]),
        "\\midrule",
        *(
            _row([_name(model, of_names), *(_cell(comparison, model, x, letters) for x in labels)])
            for model in comparison.ranked
        ),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return the text so that no command, comment or cell of a table can come of it."""
    plain = re.sub(r"[\x00-\x1f\x7f]+", " ", text)
    return "".join(_SPECIAL.get(letter, letter) for letter in plain)


def _has_many_models(comparison: Comparison) -> bool:
    """Return True if a dagger for the baseline replaces the letters of all models."""
    return len(comparison.ranked) >= MANY_MODELS


def _letters(comparison: Comparison) -> dict[str, str]:
    """Return for each model the letter at means that beat it, in the order of the table, or a dagger for the baseline."""
    if _has_many_models(comparison):
        return {comparison.baseline: r"\dagger"}
    return dict(zip(comparison.ranked, ascii_lowercase, strict=False))


def _head(comparison: Comparison, label: str) -> str:
    arrow = r"$\uparrow$" if comparison.metric(label).higher_is_better else r"$\downarrow$"
    return f"{escaped(label)} {arrow}"


def _name(model: str, letters: Mapping[str, str]) -> str:
    letter = letters.get(model)
    return f"{escaped(model)}$^{{{letter}}}$" if letter else escaped(model)


def _cell(comparison: Comparison, model: str, label: str, letters: Mapping[str, str]) -> str:
    row = comparison.score(model, label)
    text = escaped(numbers.number(row.mean, numbers.mean_digits(comparison, label)))
    mean = f"\\textbf{{{text}}}" if row.best else text
    beaten = [letters[other] for other in letters if _beats(comparison, model, other, label)]
    return f"{mean}$^{{{''.join(beaten)}}}$" if beaten else mean


def _beats(comparison: Comparison, model: str, other: str, label: str) -> bool:
    if model == other or label not in comparison.primary:
        return False
    row = comparison.difference(model, other, label)
    return row is not None and row.verdict in _BETTER


def _caption(comparison: Comparison) -> str:
    conventions = comparison.conventions
    rows = comparison.primary_pairs
    users = sorted({row.n_users for row in rows})
    over = means_over(comparison)
    sentences = [
        f"{comparison.title}: {over[:1].lower()}{over[1:].removesuffix(',')}, the best in bold."
    ]
    if rows:
        meaning = (
            "A dagger marks a mean that is significantly better than that of "
            f"{comparison.baseline}, the baseline,"
            if _has_many_models(comparison)
            else "Letters at a mean name the models that it is significantly better than,"
        )
        sentences += [
            f"{meaning} on {', '.join(comparison.primary)} ({_tests(comparison)}, "
            f"{how_adjusted(comparison)}, {confidence(comparison)} confidence, "
            f"{numbers.count(users[0]) if len(users) == 1 else 'up to ' + numbers.count(users[-1])} "
            "users).",
        ]
    if comparison.has_lists:
        sentences.append(f"Conventions: {conventions.preset}, {conventions.fingerprint}.")
    return escaped(" ".join(sentences))


def _tests(comparison: Comparison) -> str:
    names = {"t": "paired t", "sign_flips": "sign flips"}
    used = {pair.test for pair in comparison.primary_pairs if pair.p is not None}
    return " and ".join(name for test, name in names.items() if test in used) or "no test"


def _row(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
