"""Stage `report`: render the comparison as HTML, Markdown, LaTeX and metrics of DVC."""

from pathlib import Path

from concord.metrics_core.results.stored import CASES, read_cases, read_comparison
from concord.pipeline.params.model import Params
from concord.pipeline.running.failures import format_bytes
from concord.pipeline.running.outputs import prepare_folders, rerun_fix, write_json, write_text
from concord.reports.text.tables import primary_metrics


def main(params: Params) -> str:
    """Write the report; return its path and size as text."""
    page = write_report(params)
    return f"{page}, {format_bytes(page.stat().st_size)}"


def write_report(params: Params) -> Path:
    """Write the report in all formats, and DVC's metrics; return the path of the page."""
    from concord.reports.latex import render_latex
    from concord.reports.markdown import render_markdown
    from concord.reports.page import render_html

    prepare_folders(params.results, params.results.report)
    file = Path(params.results.comparison) / "comparison.json"
    comparison = read_comparison(file, rerun_fix())
    cases = Path(params.results.comparison) / CASES
    folder = Path(params.results.report)
    write_text(
        folder / "report.html",
        render_html(comparison, read_cases(cases, rerun_fix()) if cases.exists() else None),
    )
    write_text(folder / "report.md", render_markdown(comparison))
    write_text(folder / "table.tex", render_latex(comparison))
    write_json(folder / "primary.json", primary_metrics(comparison))
    return folder / "report.html"
