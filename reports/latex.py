"""The leaderboard as a LaTeX table for a paper: intervals decide the digits, letters say what is significantly better."""

import re
from collections.abc import Iterator, Mapping

from concord.metrics_core.results.comparison import Comparison
from concord.reports.text import numbers
from concord.reports.text.summary import confidence, how_adjusted, means_over
from concord.reports.text.tables import main_labels

_MOST_COLUMNS = 8
_MANY_MODELS = 12  # from here on a dagger for the baseline stands for letters of every model
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
    """A table in the style of booktabs: models by metric, the best in bold, with a caption that says how it was made."""
    labels = main_labels(comparison)[:_MOST_COLUMNS]
    marks = _marks(comparison)
    of_names = {} if _many(comparison) else marks
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
            _row([_name(model, of_names), *(_cell(comparison, model, x, marks) for x in labels)])
            for model in comparison.ranked
        ),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """The text as nothing but text: no command, no comment, no cell of a table can come of it."""
    plain = re.sub(r"[\x00-\x1f\x7f]+", " ", text)
    return "".join(_SPECIAL.get(letter, letter) for letter in plain)


def _many(comparison: Comparison) -> bool:
    return len(comparison.ranked) >= _MANY_MODELS


def _marks(comparison: Comparison) -> dict[str, str]:
    """Model -> what stands at a mean that beats it: letters in the order of the table, or a dagger for the baseline."""
    if _many(comparison):
        return {comparison.baseline: r"\dagger"}
    return dict(zip(comparison.ranked, _names(), strict=False))


def _names() -> Iterator[str]:
    yield from "abcdefghijklmnopqrstuvwxyz"


def _head(comparison: Comparison, label: str) -> str:
    arrow = r"$\uparrow$" if comparison.metric(label).higher_is_better else r"$\downarrow$"
    return f"{escaped(label)} {arrow}"


def _name(model: str, marks: Mapping[str, str]) -> str:
    mark = marks.get(model)
    return f"{escaped(model)}$^{{{mark}}}$" if mark else escaped(model)


def _cell(comparison: Comparison, model: str, label: str, marks: Mapping[str, str]) -> str:
    row = comparison.score(model, label)
    text = escaped(numbers.number(row.mean, numbers.mean_digits(comparison, label)))
    told = f"\\textbf{{{text}}}" if row.best else text
    beaten = [mark for other, mark in marks.items() if _beats(comparison, model, other, label)]
    return f"{told}$^{{{''.join(beaten)}}}$" if beaten else told


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
    told = [
        f"{comparison.title}: {over[:1].lower()}{over[1:].removesuffix(',')}, the best in bold."
    ]
    if rows:
        what = (
            f"A dagger marks a mean that is significantly better than that of {comparison.baseline}, the baseline,"
            if _many(comparison)
            else "Letters at a mean name the models that it is significantly better than,"
        )
        told += [
            f"{what} on {', '.join(comparison.primary)}"
            f" ({_tests(comparison)}, {how_adjusted(comparison)}, {confidence(comparison)} confidence,"
            f" {numbers.count(users[0]) if len(users) == 1 else 'up to ' + numbers.count(users[-1])} users).",
        ]
    if comparison.has_lists:
        told.append(f"Conventions: {conventions.preset}, {conventions.fingerprint}.")
    return escaped(" ".join(told))


def _tests(comparison: Comparison) -> str:
    names = {"t": "paired t", "sign_flips": "sign flips"}
    used = {pair.test for pair in comparison.primary_pairs if pair.p is not None}
    return " and ".join(name for test, name in names.items() if test in used) or "no test"


def _row(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
