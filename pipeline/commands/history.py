"""`concord history [REV]`: results at each revision, and changes between them."""

import argparse

from concord.pipeline.commands.parser import FilePath, add_force

HELP = "show the results at each revision and what changed"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("revision", nargs="?", help="show only what came after this revision")
    parser.add_argument("--csv", type=FilePath, metavar="FILE", help="write all models as a table")
    parser.add_argument("--html", type=FilePath, metavar="FILE", help="write a page with charts")
    add_force(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the history; write it to `--csv` and `--html`."""
    from concord.pipeline.dvc.history import history
    from concord.pipeline.params.read import check_params
    from concord.pipeline.running.messages import print_text
    from concord.pipeline.terminal import (
        print_result,
        refuse_folder,
        write_output,
        write_output_table,
    )

    check_params()  # raises outside a project; loads own metrics, for labels of old comparisons
    refuse_folder("--csv", arguments.csv)
    refuse_folder("--html", arguments.html)
    result = history(arguments.revision)
    if arguments.csv is not None:
        write_output_table("--csv", arguments.csv, result.to_frame(), force=arguments.force)
    if arguments.html is not None:
        from concord.reports.page import render_history

        write_output("--html", arguments.html, render_history(result), force=arguments.force)
    print_result(result)
    for path in filter(None, (arguments.csv, arguments.html)):
        print_text(f"wrote {path}")
