"""`concord history`: what the comparison said at each revision, and what changed in between."""

from pathlib import Path

from concord.metrics_core.checking.problems import refuse
from concord.pipeline.comparing.formulas import without_formulas
from concord.pipeline.history.history import history
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.yaml_lines import read_yaml
from concord.pipeline.running.outputs import write_csv, write_text
from concord.pipeline.terminal.arguments import PLACE
from concord.pipeline.terminal.history import print_history
from concord.pipeline.terminal.table import console


def tell_history(revision: str | None, csv: str | None, html: str | None) -> None:
    """Prints the history; writes it as CSV or as a page, where one is asked for.

    Raises
    ------
    InputError : this is no project, it has no history, or a file to write is a folder
    """
    read_yaml(PARAMS)  # refuses where there is no project
    for path in filter(None, (csv, html)):
        if Path(path).is_dir():
            raise refuse(PLACE, f"{path!r} is a folder", "name a file to write")
    found = history(revision)
    if csv is not None:
        write_csv(Path(csv), without_formulas(found.table))
    if html is not None:
        from concord.reports.history_page import render_history

        write_text(Path(html), render_history(found))
    print_history(found)
    for path in filter(None, (csv, html)):
        console().print(f"wrote {path}")
