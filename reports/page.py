"""Render HTML pages.

Pages need no network and no scripts. The same result gives the same bytes.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from concord.metrics_core.analyses.cases.result import Cases
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.history import History
from concord.reports.cases import text as error_analysis
from concord.reports.charts import bump, curves, differences, gains, svg, tradeoffs
from concord.reports.charts import history as history_charts
from concord.reports.charts import segments as segment_charts
from concord.reports.text import (
    behaviour,
    groups,
    numbers,
    panel,
    quality,
    references,
    replicates,
    segments,
    summary,
    tables,
)
from concord.reports.text import gate_cells as gate
from concord.reports.text import history as history_text
from concord.reports.text.answer import answer_numbers
from concord.reports.text.blocks import to_html
from concord.reports.text.comparison import means_table
from concord.reports.text.display_words import NO_WORDS, DisplayWords, display_words
from concord.reports.text.tables import fold_models, fold_note
from concord.reports.text.verdict_styles import VERDICTS, phrase

REPORTS = Path(__file__).parent
_GLOBALS = {
    "answer_numbers": answer_numbers,
    "behaviour": behaviour,
    "bump": bump,
    "curves": curves,
    "differences": differences,
    "error_analysis": error_analysis,
    "gains": gains,
    "gate": gate,
    "groups": groups,
    "means_table": lambda *names: Markup(to_html([means_table(*names)])),
    "numbers": numbers,
    "panel": panel,
    "phrase": phrase,
    "quality": quality,
    "references": references,
    "replicates": replicates,
    "segment_charts": segment_charts,
    "segments": segments,
    "summary": summary,
    "tables": tables,
    "tradeoffs": tradeoffs,
    "VERDICTS": VERDICTS,
}


def render_html(comparison: Comparison, cases: Cases | None = None) -> str:
    """Return the page of a comparison, with an error analysis if there is one."""
    folded = fold_models(comparison, (cases.a, cases.b) if cases else ())
    return render_page(
        "report.html.j2",
        words=display_words(comparison, cases),
        scripts=("sort.js", "interact.js", *(("error_analysis.js",) if cases else ())),
        styles=("style.css", *(("error_analysis.css",) if cases else ())),
        comparison=comparison,
        folded=folded,
        fold_note=fold_note(comparison, folded),
        cases=cases,
    )


def render_history(history: History) -> str:
    """Return the page of a history: chart and table of each primary metric, changes by revision."""
    return render_page("history.html.j2", history=history, text=history_text, charts=history_charts)


def render_notebook(comparison: Comparison) -> str:
    """Return a comparison as HTML for a notebook cell; without its styles, in light svg."""
    template = _environment().get_template("notebook.html.j2")
    style = Markup(svg.stylesheet(".concord"))
    html = template.render(comparison=comparison, style=style)
    return _show_in_html(html, display_words(comparison))


def _show_in_html(html: str, words: DisplayWords) -> str:
    return words.show(html, "html", lambda text: str(escape(text)))


def render_page(
    template: str,
    *,
    words: DisplayWords = NO_WORDS,
    scripts: Sequence[str] = ("sort.js", "interact.js"),
    styles: Sequence[str] = ("style.css",),
    **context: Any,
) -> str:
    """Return a page with inline scripts and styles."""
    script = "".join(map(_read, ("navigation.js", *scripts)))
    script = re.sub(r"(?<=\} )(?:users|items)\b", lambda counted: words.show(counted[0]), script)
    html = (
        _environment()
        .get_template(template)
        .render(
            style=Markup("\n".join([svg.stylesheet(), *map(_read, styles)])),
            script=Markup(script),
            script_hash=_sha256(script),
            **context,
        )
    )
    return _show_in_html(html, words)


def _environment() -> Environment:
    """Return the environment of all templates; an undefined name is an error."""
    jinja = Environment(
        loader=FileSystemLoader(sorted({path.parent for path in REPORTS.glob("*/*.j2")})),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.globals.update(_GLOBALS)
    jinja.filters |= {"setting": numbers.setting, "prose": prose}
    return jinja


def prose(text: str) -> Markup:
    """Return a sentence as HTML, with text between backticks as code."""
    return Markup(re.sub(r"`((?:[^`<>&]|&#3[49];)+)`", r"<code>\1</code>", str(escape(text))))


def _read(name: str) -> str:
    (path,) = REPORTS.glob(f"*/{name}")
    return path.read_text(encoding="utf-8")


def _sha256(script: str) -> str:
    """Return the hash of the script for the page's content security policy."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
