"""All commands; a stage of the pipeline imports only its own module."""

import argparse
from collections.abc import Mapping
from typing import Protocol

from concord.pipeline.commands import (
    audit,
    cases,
    check_metric,
    comment,
    completion,
    diff,
    explain,
    gate,
    history,
    init,
    judge,
    leaderboard,
    log,
    metrics,
    pin,
    plan,
    ppi,
    presets,
    reconcile,
    run,
    split,
    stage,
    study,
    validate,
    verify,
)


class Command(Protocol):
    """Module of a command."""

    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser, /) -> None: ...

    def run(self, arguments: argparse.Namespace, /) -> int | None: ...


COMMANDS: Mapping[str, Command] = {  # in the order of help
    "init": init,
    "validate": validate,
    "run": run,
    "split": split,
    "metrics": metrics,
    "check-metric": check_metric,
    "presets": presets,
    "pin": pin,
    "leaderboard": leaderboard,
    "explain": explain,
    "cases": cases,
    "reconcile": reconcile,
    "verify": verify,
    "audit": audit,
    "diff": diff,
    "history": history,
    "gate": gate,
    "comment": comment,
    "plan": plan,
    "ppi": ppi,
    "judge": judge,
    "study": study,
    "log": log,
    "stage": stage,
    "completion": completion,
}
