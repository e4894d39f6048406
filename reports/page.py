"""The report as one HTML page: no network, readable without scripts, the same bytes for the same comparison."""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from altair.utils.schemapi import debug_mode
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.error_analysis import Cases
from concord.reports.charts import distributions, tradeoffs
from concord.reports.charts import svg as palette
from concord.reports.charts.bump import bump_chart, has_chart
from concord.reports.charts.curves import curve_chart, curve_ks, curve_labels, curve_stems
from concord.reports.charts.differences import difference_chart
from concord.reports.charts.heatmap import pair_heatmap
from concord.reports.charts.trainings import training_chart
from concord.reports.sections import (
    costs,
    folding,
    gate,
    panel,
    quality,
    segments,
    summary,
    tables,
    trainings,
    warnings,
)
from concord.reports.sections import tables as wins
from concord.reports.text import error_analysis
from concord.reports.text.verdicts import segment_sentences
from concord.reports.writing import numbers
from concord.reports.writing.verdicts import VERDICTS, verdicts_seen

TEMPLATES = Path(__file__).parent / "templates"


def render_html(comparison: Comparison, cases: Cases | None = None) -> str:
    """Return the page of a comparison, with an error analysis if one is given."""
    shown = folding.folded(comparison, (cases.a, cases.b) if cases else ())
    return render_page(
        "report.html.j2",
        scripts=("sort.js", "interact.js", *(("error_analysis.js",) if cases else ())),
        styles=("style.css", *(("error_analysis.css",) if cases else ())),
        comparison=comparison,
        folded=shown,
        fold_note=folding.fold_note(comparison, shown),
        cases=cases,
        text=error_analysis,
        difference_chart=difference_chart,
        training_chart=training_chart,
        distribution_chart=distributions.distribution_chart,
        tradeoff_chart=tradeoffs.tradeoff_chart,
        curve_chart=curve_chart,
        pair_heatmap=pair_heatmap,
        bump_chart=bump_chart,
        has_chart=has_chart,
        curve_stems=curve_stems(comparison),
        curve_ks=curve_ks(comparison),
        curve_labels=curve_labels,
    )


def render_cases(cases: Cases) -> str:
    """Return the page of an error analysis: example users in a table and side by side, items, and a filter."""
    return render_page(
        "error_analysis_page.html.j2",
        scripts=("sort.js", "error_analysis.js"),
        styles=("style.css", "error_analysis.css"),
        cases=cases,
        text=error_analysis,
    )


def render_page(
    template: str,
    *,
    scripts: Sequence[str] = ("sort.js", "interact.js"),
    styles: Sequence[str] = ("style.css",),
    **context: Any,
) -> str:
    """Return a page with its scripts and styles inside."""
    script = "".join(map(file_of, scripts))
    # The tests check every part of a chart against the schema: it takes half of the time.
    with debug_mode(False):
        return (
            environment(autoescape=True)
            .get_template(template)
            .render(
                style=Markup("\n".join([palette.stylesheet(), *map(file_of, styles)])),
                script=Markup(script),
                script_hash=sha256_of(script),
                **context,
            )
        )


def environment(*, autoescape: bool) -> Environment:
    """What both templates can call; a name that is missing is an error."""
    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    jinja.globals.update(
        costs=costs,
        distributions=distributions,
        gate=gate,
        numbers=numbers,
        panel=panel,
        quality=quality,
        segment_sentences=segment_sentences,
        segments=segments,
        summary=summary,
        tables=tables,
        tradeoffs=tradeoffs,
        trainings=trainings,
        warnings=warnings,
        wins=wins,
        VERDICTS=VERDICTS,
        verdicts_seen=verdicts_seen,
    )
    jinja.filters["knob"] = knob
    jinja.filters["prose"] = prose
    return jinja


def knob(value: Any) -> str:
    """The value of a knob as params.yaml would have it."""
    return (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False).replace('"', "")
    )


def prose(text: str) -> Markup:
    """A sentence in which `code` stands between backticks, escaped."""
    return Markup(re.sub(r"`([^`<>&]+)`", r"<code>\1</code>", str(escape(text))))


def file_of(name: str) -> str:
    """A file that stands beside the templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def sha256_of(script: str) -> str:
    """By which the page's policy knows its script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
