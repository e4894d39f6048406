"""`concord leaderboard`: means, differences to the baseline and verdicts, from the results on disk."""

from collections.abc import Sequence
from pathlib import Path

from concord.metrics_core.errors import in_words, refuse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.commands.stale import told_stale
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.params.yaml_files import load_yaml
from concord.pipeline.terminal.arguments import evaluated_label
from concord.pipeline.terminal.leaderboard import COMMAND, print_leaderboard
from concord.pipeline.terminal.table import console

AFTER_REPRO = 12  # lines


def leaderboard(metrics: Sequence[str]) -> None:
    """Prints the primary metrics, or those that are named.

    Raises
    ------
    InputError : there are no results yet, or a metric was not evaluated
    """
    params = read_params()
    comparison = comparison_of(params)
    labels = [evaluated_label(text, comparison.labels) for text in metrics]
    out = console()
    if stale := told_stale(params):
        out.print(f"beware, {stale}\n")
    print_leaderboard(out, comparison, list(dict.fromkeys(labels)) or comparison.primary)
    for each in comparison.serious:
        out.print(f"\nbeware, {each.whose}: {each.sentence}")


def ends_with(stage: str) -> bool:
    """Is it the last stage of dvc.yaml? `report` is, where there is no MLflow."""
    file = Path("dvc.yaml")
    stages = (
        load_yaml(file.read_text(encoding="utf-8"), str(file)).get("stages", {})
        if file.is_file()
        else {}
    )
    return stage == next(reversed(stages or {"log": None}))


def after_repro() -> None:
    """The last lines of `dvc repro`: the primary metrics, in short."""
    comparison = comparison_of(read_params())
    out = console()
    print_leaderboard(out, comparison, comparison.primary, AFTER_REPRO)
    if serious := len(comparison.serious):
        out.print(f"beware, {in_words(serious, 'serious warning')}: `{COMMAND}`, or the report")


def comparison_of(params: Params) -> Comparison:
    """The comparison that `dvc repro` left; raises an InputError if there is none."""
    file = Path(params.results.comparison) / "comparison.json"
    if not file.exists():
        raise refuse(str(file), "is not there yet", "run `dvc repro` first")
    return read_comparison(file)
