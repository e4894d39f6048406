"""Stage `report`: the comparison -> one HTML page and its Markdown twin."""

import json
from pathlib import Path
from typing import Any

from metrics_core.checking.problems import refuse
from pipeline.params.model import Params
from pipeline.params.read import read_params
from pipeline.running.announce import say
from pipeline.running.disk import in_bytes
from pipeline.running.outputs import prepare, write_text
from pipeline.running.stage import run
from reports.latex import render_latex
from reports.markdown import render_markdown
from reports.page import render_html
from reports.plots_page import plots_page

SCHEMA = 3  # of comparison.json


def main() -> str:
    params = read_params()
    prepare(params.results, params.results.report)
    return report(params)


def report(params: Params) -> str:
    """Writes the page, its Markdown twin, a LaTeX table and the page that `dvc plots` fills; says how long it is."""
    comparison = read_comparison(Path(params.results.comparison) / "comparison.json")
    folder = Path(params.results.report)
    write_text(folder / "report.html", render_html(comparison))
    write_text(folder / "report.md", render_markdown(comparison))
    write_text(folder / "table.tex", render_latex(comparison))
    write_text(folder / "plots.html", plots_page())  # .dvc/config names it
    say(f"report: {folder / 'report.html'}")
    return f"a page of {in_bytes((folder / 'report.html').stat().st_size)}"


def read_comparison(path: Path) -> dict[str, Any]:
    """What the stage `compare` has written, refused if it is not of this version of Concord."""
    again = "run `dvc repro compare`"
    try:
        comparison: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise refuse(str(path), "there is no such file", again) from None
    except ValueError as error:
        raise refuse(str(path), f"is not valid JSON: {error}", again) from None
    found = comparison.get("schema") if isinstance(comparison, dict) else None
    if found != SCHEMA:
        raise refuse(str(path), f"has schema {found}, and this version reads {SCHEMA}", again)
    return comparison


if __name__ == "__main__":
    run(main)
