"""All commands; a stage of the pipeline imports only its own module."""

import argparse
from collections.abc import Mapping
from typing import Protocol

from concord.pipeline.commands import (
    audit,
    cases,
    check_metric,
    comment,
    compare,
    completion,
    diff,
    evaluate,
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
    replay,
    report,
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


FIRST: Mapping[str, Command] = {  # in the order of work
    "compare": compare,
    "evaluate": evaluate,
    "init": init,
    "validate": validate,
    "run": run,
    "gate": gate,
    "explain": explain,
    "report": report,
}
GROUPS: Mapping[str, Mapping[str, Command]] = {  # of the other commands
    "look": {
        "leaderboard": leaderboard,
        "cases": cases,
        "history": history,
        "diff": diff,
        "log": log,
    },
    "check": {
        "audit": audit,
        "verify": verify,
        "reconcile": reconcile,
        "check-metric": check_metric,
    },
    "plan and research": {"plan": plan, "study": study, "judge": judge, "ppi": ppi, "split": split},
    "lists": {"metrics": metrics, "presets": presets, "pin": pin},
    "for CI": {"comment": comment, "replay": replay, "stage": stage, "completion": completion},
}
COMMANDS: Mapping[str, Command] = {
    **FIRST,
    **{name: command for group in GROUPS.values() for name, command in group.items()},
}
