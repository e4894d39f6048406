"""The leaderboard as a LaTeX table for a paper: intervals decide the digits, letters say what is significantly better."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from reports.sections.summary import confidence, how_adjusted
from reports.writing import numbers
from reports.writing.results import Results

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


def render_latex(comparison: Mapping[str, Any]) -> str:
    """A table in the style of booktabs: models by metric, the best in bold, with a caption that says how it was made.

    Parameters
    ----------
    comparison : the content of comparison.json
    """
    results = Results(comparison)
    labels = results.main_labels[:_MOST_COLUMNS]
    marks = _marks(results)
    of_names = {} if _many(results) else marks
    lines = [
        "% \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{_caption(results)}}}",
        "\\label{tab:concord}",
        f"\\begin{{tabular}}{{l{'r' * len(labels)}}}",
        "\\toprule",
        _row(["Model", *(_head(results, label) for label in labels)]),
        "\\midrule",
        *(
            _row([_name(model, of_names), *(_cell(results, model, x, marks) for x in labels)])
            for model in results.models
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


def _many(results: Results) -> bool:
    return len(results.models) >= _MANY_MODELS


def _marks(results: Results) -> dict[str, str]:
    """Model -> what stands at a mean that beats it: letters in the order of the table, or a dagger for the baseline."""
    if _many(results):
        return {results.baseline: r"\dagger"}
    return dict(zip(results.models, _names(), strict=False))


def _names() -> Iterator[str]:
    yield from "abcdefghijklmnopqrstuvwxyz"


def _head(results: Results, label: str) -> str:
    arrow = r"$\uparrow$" if results.metrics[label]["higher_is_better"] else r"$\downarrow$"
    return f"{escaped(label)} {arrow}"


def _name(model: str, marks: Mapping[str, str]) -> str:
    mark = marks.get(model)
    return f"{escaped(model)}$^{{{mark}}}$" if mark else escaped(model)


def _cell(results: Results, model: str, label: str, marks: Mapping[str, str]) -> str:
    row = results.score(model, label)
    text = escaped(numbers.number(row["mean"], results.digits(label)))
    told = f"\\textbf{{{text}}}" if row["best"] else text
    beaten = [mark for other, mark in marks.items() if _beats(results, model, other, label)]
    return f"{told}$^{{{''.join(beaten)}}}$" if beaten else told


def _beats(results: Results, model: str, other: str, label: str) -> bool:
    if model == other or label not in results.primary:
        return False
    row = results.difference(model, other, label)
    return row is not None and row["verdict"] in _BETTER


def _caption(results: Results) -> str:
    conventions = results.comparison["conventions"]
    rows = [row for row in results.comparison["differences"] if row["primary"]]
    users = sorted({row["n_users"] for row in rows})
    told = [f"{results.comparison['title']}: means over users, the best in bold."]
    if rows:
        what = (
            f"A dagger marks a mean that is significantly better than that of {results.baseline}, the baseline,"
            if _many(results)
            else "Letters at a mean name the models that it is significantly better than,"
        )
        told += [
            f"{what} on {', '.join(results.primary)}"
            f" (paired t, {how_adjusted(results)}, {confidence(results)} confidence,"
            f" {numbers.count(users[0]) if len(users) == 1 else 'up to ' + numbers.count(users[-1])} users).",
        ]
    told.append(f"Conventions: {conventions['preset']}, {conventions['fingerprint']}.")
    return escaped(" ".join(told))


def _row(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
