"""`concord report`: where the report is, as addresses that a terminal opens."""

import argparse

HELP = "print where the report is; --open shows it in a browser"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--methods", action="store_true", help="print what was done, for a paper: 120 words"
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def run(arguments: argparse.Namespace) -> None:
    """Print the addresses of the report and of MLflow's view; render a missing page first."""
    import webbrowser
    from pathlib import Path

    from concord.pipeline.dvc.current_results import load_comparison, warn_if_stale
    from concord.pipeline.params.read import read_params
    from concord.pipeline.running.messages import LOG, print_text
    from concord.pipeline.running.outputs import logged_view

    params = read_params()
    comparison = load_comparison(params)
    warn_if_stale(params)
    if arguments.methods:
        print_text(comparison.methods)
        return
    page = Path(params.results.report) / "report.html"
    if not page.exists():
        from concord.pipeline.stages.report import write_report

        write_report(params)
    for file in filter(Path.exists, (page, page.with_suffix(".md"))):
        print_text(f"{file}  {file.resolve().as_uri()}")
    if view := logged_view(params.results):
        print_text(f"MLflow: {view}")
    if arguments.open and not webbrowser.open(page.resolve().as_uri()):
        LOG.warning("warning: no browser can be started: open the address of %s", page)
