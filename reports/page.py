"""The report as one HTML page: no network, readable without scripts, the same bytes for the same comparison."""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from reports import numbers, palette, panel, quality, summary, tables
from reports.bump import bump_chart, has_chart
from reports.charts import difference_chart
from reports.curves import curve_chart, curve_names, labels_of
from reports.heatmap import pair_heatmap
from reports.results import Results
from reports.verdicts import VERDICTS

TEMPLATES = Path(__file__).parent / "templates"


def render_html(comparison: Mapping[str, Any]) -> str:
    """The page of a comparison.

    Parameters
    ----------
    comparison : the content of comparison.json
    """
    results = Results(comparison)
    script = _file("sort.js")
    page = environment(autoescape=True).get_template("report.html.j2")
    return page.render(
        results=results,
        comparison=comparison,
        style=Markup(palette.stylesheet() + "\n" + _file("style.css")),
        script=Markup(script),
        script_hash=_sha256(script),
        difference_chart=difference_chart,
        curve_chart=curve_chart,
        pair_heatmap=pair_heatmap,
        bump_chart=bump_chart,
        has_chart=has_chart,
        curve_names=curve_names(results),
        labels_of=labels_of,
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
        numbers=numbers,
        panel=panel,
        quality=quality,
        summary=summary,
        tables=tables,
        VERDICTS=VERDICTS,
    )
    jinja.filters["knob"] = knob
    return jinja


def knob(value: Any) -> str:
    """The value of a knob as params.yaml would have it."""
    return (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False).replace('"', "")
    )


def _file(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
