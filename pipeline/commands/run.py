"""`concord run`: the stages of the evaluation in one process, without DVC."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concord.pipeline.params.model import Params
    from concord.pipeline.stages.run_state import StageSpec

HELP = "run the stages whose inputs have changed, without DVC"
LOCK = ".concord-run.lock"  # beside the folder of the comparison


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "stages",
        nargs="*",
        metavar="STAGE",
        help="only these and the stages that they need, such as report or evaluate@als",
    )
    parser.add_argument("--force", action="store_true", help="run unchanged stages too")


def run(arguments: argparse.Namespace) -> None:
    """Run the stages that have changed, and print the leaderboard."""
    from concord.metrics_core.errors import format_count, refuse
    from concord.pipeline.commands.leaderboard import after_repro
    from concord.pipeline.params.model import PARAMS
    from concord.pipeline.params.read import read_params
    from concord.pipeline.running.messages import LOG, print_unless_quiet
    from concord.pipeline.stages.run_state import select_stages, stage_specs

    before = read_params()
    results, own_metrics = before.results, before.parsed_conventions.own_metrics
    with _only_run(Path(results.comparison).parent):
        params = read_params()  # again: the file may have changed meanwhile
        if params.results != results:
            raise refuse(f"{PARAMS}: results", "has changed meanwhile", "run it again")
        if params.parsed_conventions.own_metrics != own_metrics:  # their modules are still the old
            raise refuse(str(params.own_metrics or PARAMS), "has changed meanwhile", "run it again")
        specs = select_stages(stage_specs(params.content), arguments.stages)
        changed = _run_stages(params, specs, force=arguments.force)
    LOG.info("ran %s of %s", len(changed) or "none", format_count(len(specs), "stage"))
    if {"report", "log"} & {*changed}:
        print_unless_quiet(after_repro)


def _run_stages(params: "Params", specs: Sequence["StageSpec"], *, force: bool) -> list[str]:
    """Run the stages that have changed, or all; return their names."""
    from concord.pipeline.commands.stage import import_main, run_main
    from concord.pipeline.running.messages import LOG
    from concord.pipeline.running.outputs import refuse_irregular, remove_background, remove_models
    from concord.pipeline.running.signals import without_garbage_collection
    from concord.pipeline.running.stage import run_timed
    from concord.pipeline.stages.run_state import STATE, RunState

    file, changed = Path(params.results.comparison).parent / STATE, []
    refuse_irregular([file], [Path(out) for spec in specs for out in spec.outs])
    remove_models(params)  # now, since a stage must not change what it depends on
    remove_background(params)
    state = RunState(file, params)
    for spec in specs:
        if state.is_current(spec) and not force:
            LOG.debug("%s: unchanged", spec.name)
            continue
        stage, *argument = spec.words
        with without_garbage_collection():
            main = import_main(stage)
        with state.record(spec):
            run_timed(" ".join(spec.words), partial(run_main, main, params, *argument))
        changed.append(spec.name)
    return changed


@contextmanager
def _only_run(folder: Path) -> Iterator[None]:
    """Wait until no other `concord run` works on these results."""
    from concord.pipeline.running.failures import refuse_unwritable
    from concord.pipeline.running.locks import open_locked
    from concord.pipeline.running.outputs import refuse_irregular

    refuse_irregular([folder / LOCK])
    refuse_unwritable(folder)
    with open_locked(folder / LOCK, waiting="waiting for another `concord run` in this folder"):
        yield
