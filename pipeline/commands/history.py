"""`concord history`: what the comparison said at each revision, and what changed in between."""

from concord.pipeline.dvc.history import history
from concord.pipeline.params.read import examined
from concord.pipeline.terminal.arguments import refuse_folder, write_named, write_named_table
from concord.pipeline.terminal.table import console, print_history


def tell_history(revision: str | None, csv: str | None, html: str | None, *, force: bool) -> None:
    """Prints the history; writes it as CSV or as a page, where one is asked for.

    Raises
    ------
    InputError : this is no project, it has no history, or a file may not be written
    """
    examined()  # refuses where there is no project, and loads own metrics, which old comparisons may name
    refuse_folder("--csv", csv)
    refuse_folder("--html", html)
    found = history(revision)
    if csv is not None:
        write_named_table("--csv", csv, found.table, force=force)
    if html is not None:
        from concord.reports.history_page import render_history

        write_named("--html", html, render_history(found), force=force)
    print_history(found)
    for path in filter(None, (csv, html)):
        console().print(f"wrote {path}")
