"""`concord leaderboard`: means, differences to the baseline and verdicts."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concord.metrics_core.results.comparison import Comparison
    from concord.reports.text.blocks import Block

HELP = "show means, differences to the baseline and verdicts"
METRICS = "show this metric instead of the primary metrics; may repeat"
COMMAND = "concord leaderboard"
MAX_LINES, MIN_MODELS, MAX_LABELS = 12, 2, 2  # after `dvc repro`


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--metric", action="append", default=[], metavar="LABEL", help=METRICS)


def run(arguments: argparse.Namespace) -> None:
    """Print the leaderboard of the primary or the named metrics, and the prominent warnings."""
    from concord.pipeline.dvc.current_results import load_comparison, stale_message
    from concord.pipeline.params.read import read_params
    from concord.pipeline.terminal import evaluated_label, print_blocks
    from concord.reports.text.behaviour import changed_lists
    from concord.reports.text.comparison import leaderboards, warning_lines
    from concord.reports.text.display_words import display_words

    params = read_params()
    comparison = load_comparison(params)
    labels = [evaluated_label(text, comparison.labels) for text in arguments.metric]
    if stale := stale_message(params):
        print_blocks([f"warning: {stale}", ""])
    print_blocks(leaderboards(comparison, list(dict.fromkeys(labels)) or comparison.primary))
    show = display_words(comparison).show
    for line in (*filter(None, [changed_lists(comparison)]), *warning_lines(comparison)):
        print_blocks(["", show(line)])


def is_last_stage(stage: str) -> bool:
    """True if the stage is the last of dvc.yaml: `report` without MLflow, else `log`."""
    from concord.pipeline.params.yaml_files import load_yaml

    file = Path("dvc.yaml")
    text = file.read_text(encoding="utf-8") if file.is_file() else "{}"
    stages = load_yaml(text, str(file)).get("stages")
    return stage == next(reversed(stages or {"log": None}))


def after_repro() -> None:
    """Print the answer at the end of `dvc repro`: verdicts, primary metrics, where to read on."""
    from concord.pipeline.dvc.current_results import load_comparison
    from concord.pipeline.params.read import read_params
    from concord.pipeline.running.messages import print_text
    from concord.pipeline.running.outputs import logged_view
    from concord.pipeline.terminal import link, print_blocks

    params = read_params()
    comparison = load_comparison(params)
    print_blocks([comparison.headline, *short_leaderboard(comparison)])
    print(f"report: {link(Path(params.results.report) / 'report.html')}")
    if view := logged_view(params.results):
        print_text(f"MLflow: {view}")


def short_leaderboard(comparison: "Comparison") -> "list[Block]":
    """Return the best models by the first primary metrics, and the number of the others."""
    from concord.metrics_core.errors import format_count
    from concord.pipeline.terminal import terminal_lines
    from concord.reports.text.comparison import leaderboard, primary_table

    labels, n_models = comparison.primary[:MAX_LABELS], len(comparison.models)
    if comparison.replicates:  # whose verdicts have a row of their own
        labels = labels[:1]

    def table(n_models: int) -> "Block":
        if len(labels) == 1:
            return leaderboard(comparison, labels[0], n_models)
        return primary_table(comparison, labels, n_models)

    blocks: list[Block] = [table(n_models)]
    if len(terminal_lines(blocks)) > MAX_LINES:  # models first
        comparison = replace(comparison, references=None)
        blocks = [table(n_models)]
    while len(terminal_lines(blocks)) > MAX_LINES and n_models > MIN_MODELS:
        n_models = min(n_models, MAX_LINES) - 1
        blocks = [table(n_models)]
    counts = {
        "models": len(comparison.models) - n_models,
        "primary metrics": len(comparison.primary) - len(labels),
    }
    if omitted := [f"{n} more {noun}" for noun, n in counts.items() if n]:
        blocks.append(f"… {' and '.join(omitted)}: `{COMMAND}`")
    if n_warnings := len(comparison.prominent):
        blocks.append(f"{format_count(n_warnings, 'warning')}: `{COMMAND}`, or the report")
    return blocks
