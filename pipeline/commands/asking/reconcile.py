"""`concord reconcile`: the definitions under which a model's lists give a number got elsewhere."""

from collections.abc import Sequence
from pathlib import Path

from concord.metrics_core.checking.locked import connect
from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.evaluate import mean_of
from concord.metrics_core.reconcile import MOST_GRADES, Found, given, search
from concord.metrics_core.scoring.panel import Definition
from concord.metrics_core.scoring.partition import Task
from concord.pipeline.evaluating.engines.partitions import partitions
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.terminal.arguments import PLACE, label_named, model_files, refused
from concord.pipeline.terminal.table import console, print_table, word

SHOWN = 12  # definitions that match


def reconcile_number(text: str, metric: str, model: str) -> int:
    """Prints the definitions that give the number, nearest first, and returns 0; else the nearest ones, and returns 1."""
    params = read_params()
    label = label_named(metric)
    _, truth = model_files(params, model)
    if label.metric.of_catalogue:
        what = f"{label} is one number over all users, which reconcile cannot search"
        raise refuse(PLACE, what, "name a metric that has a value for each user, such as nDCG@10")
    try:
        given(text)
    except ValueError as error:
        raise refused(error, "write it as it was printed, such as 0.330") from None

    def means(definitions: Sequence[Definition]) -> list[float]:
        return _means(params, model, definitions)

    found = search(text, label, params.pinned, means, grades=_grades(truth))
    matching = [each for each in found if each.matches]
    out = console()
    if matching:
        out.print(f"{len(matching)} definition(s) give {metric} = {text} on {model}:", style="bold")
    else:
        out.print(f"no definition tried gives {metric} = {text} on {model}; nearest:", style="bold")
    shown = matching[:SHOWN] or found
    print_table(("value", "presets", "differs from what is pinned"), [_row(each) for each in shown])
    if len(matching) > SHOWN:
        out.print(f"… {len(matching) - SHOWN} more")
    if not matching:
        out.print(
            "Other lists, another truth or another cutoff give another number too: "
            "compare `concord explain` of one user with the other side."
        )
    return int(not matching)


def _means(params: Params, model: str, definitions: Sequence[Definition]) -> list[float]:
    task = Task((), params.pinned, definitions=definitions)
    frames = [part.values for part in partitions(params, model, task)]
    return [mean_of(frames, definition) for definition in definitions]


def _grades(truth: Path) -> list[float]:
    query = "SELECT DISTINCT grade FROM read_parquet(?) WHERE grade > 0 ORDER BY grade"
    with connect(reads=[truth]) as connection:
        found = [row[0] for row in connection.execute(query, [str(truth)]).fetchall()]
    return found if len(found) <= MOST_GRADES else []


def _row(found: Found) -> tuple[str, str, str]:
    changes = "; ".join(f"{knob}: {word(value)}" for knob, value in found.changes.items())
    value = f"{found.mean:.6g}" + (" (cut off, not rounded)" if found.cut else "")
    return value, ", ".join(found.presets) or "none", changes or "nothing: as pinned"
