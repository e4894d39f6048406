"""`concord leaderboard`: means, differences to the baseline and verdicts."""

import argparse
from pathlib import Path

HELP = "show means, differences to the baseline and verdicts"
METRICS = "show this metric instead of the primary metrics; may repeat"
MAX_LINES = 12  # after `dvc repro`


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--metric", action="append", default=[], metavar="LABEL", help=METRICS)


def run(arguments: argparse.Namespace) -> None:
    """Print the leaderboard of the primary or the named metrics."""
    from concord.metrics_core.results.text_format import join_names
    from concord.pipeline.dvc.current_results import load_comparison, stale_message
    from concord.pipeline.params.read import read_params
    from concord.pipeline.terminal.arguments import evaluated_label
    from concord.pipeline.terminal.leaderboard import print_leaderboard
    from concord.pipeline.terminal.table import console
    from concord.reports.text.display_words import display_words
    from concord.reports.text.missing_lists import warning_sentence

    params = read_params()
    comparison = load_comparison(params)
    labels = [evaluated_label(text, comparison.labels) for text in arguments.metric]
    terminal = console()
    if stale := stale_message(params):
        terminal.print(f"warning: {stale}\n")
    print_leaderboard(terminal, comparison, list(dict.fromkeys(labels)) or comparison.primary)
    show = display_words(comparison).show
    for warning in comparison.serious:
        sentence = show(warning_sentence(comparison, warning))
        names_them = len(warning.models) > 1 and join_names(warning.models) in sentence
        models = "" if names_them else f" ({warning.model_names})"
        terminal.print(f"\nWarning{models}: {sentence}")


def is_last_stage(stage: str) -> bool:
    """True if the stage is the last of dvc.yaml: `report` without MLflow, else `log`."""
    from concord.pipeline.params.yaml_files import load_yaml

    file = Path("dvc.yaml")
    text = file.read_text(encoding="utf-8") if file.is_file() else "{}"
    stages = load_yaml(text, str(file)).get("stages")
    return stage == next(reversed(stages or {"log": None}))


def after_repro() -> None:
    """Print the primary metrics at the end of `dvc repro`, as many as fit."""
    from concord.metrics_core.errors import format_count
    from concord.pipeline.dvc.current_results import load_comparison
    from concord.pipeline.params.read import read_params
    from concord.pipeline.terminal.leaderboard import COMMAND, print_leaderboard
    from concord.pipeline.terminal.table import console

    comparison = load_comparison(read_params())
    terminal = console()
    print_leaderboard(terminal, comparison, comparison.primary, MAX_LINES)
    if serious := len(comparison.serious):
        terminal.print(f"{format_count(serious, 'serious warning')}: `{COMMAND}`, or the report")
