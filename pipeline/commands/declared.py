"""What each command of the command line takes, in groups by what they are for."""

import argparse
from collections.abc import Callable
from typing import Any

from concord.pipeline.commands import called
from concord.pipeline.terminal.parser import PROGRAM, Parser, Version

Command = Callable[[argparse.Namespace], str | int | None]
STAGE = "stage"
SHELLS = ("bash", "zsh", "fish")
DECIDING = ("gate", "comment")  # commands that end with the decision of the gate
STAGES = ("load-truth", "load-background", "load", "evaluate", "compare", "report", "log")
OF_ONE = ("load-background", "load", "evaluate")  # stages that are run for one table or model
_REVISION = "a commit, branch or tag, such as HEAD~1; else the baseline"
_INSTEAD = "this instead of the primary metrics; may repeat"


def parser_of(stage: Command) -> argparse.ArgumentParser:
    """The parser of all commands; `stage` runs a stage of the pipeline."""
    parser = Parser(
        prog=PROGRAM,
        description="Recommender evaluation that is pinned, reproducible and explainable. "
        "The pipeline itself runs by `dvc repro`.",
    )
    _add_how(parser, default=[])
    parser.add_argument("--version", action=Version, nargs=0, help="which Concord this is")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_beginning(commands)
    _add_splitting(commands)
    _add_definitions(commands)
    _add_results(commands)
    _add_revisions(commands)
    _add_deciding(commands)
    _add_planning(commands)
    _add_studying(commands)
    _add_running(commands, stage)
    said = "a script that completes commands and files"
    completion = _add(commands, "completion", called.call_completion, said)
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    completion.set_defaults(parser=parser)
    return parser


def _add_beginning(commands: Any) -> None:
    init = _add(commands, "init", called.call_init, "write an evaluation into your DVC repository")
    init.add_argument(
        "--dir", default="evaluation", metavar="DIR", help="the folder to write (evaluation)"
    )
    init.add_argument("--truth", metavar="PATH", help="the held-out data, where no name tells it")
    init.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="NAME=PATH",
        help="lists of a model, in place of those that are found; may repeat",
    )
    init.add_argument(
        "--dry-run", action="store_true", help="show what would be written, write nothing"
    )
    how = init.add_mutually_exclusive_group()
    how.add_argument(
        "--force", action="store_true", help="write again; what was there is kept beside"
    )
    how.add_argument(
        "--upgrade", action="store_true", help="carry the project to the Concord that is installed"
    )
    said = "check params.yaml and every input file, without evaluating"
    _add(commands, "validate", called.call_validate, said)


def _add_splitting(commands: Any) -> None:
    said = "train and truth of interactions, by time, user or item"
    split = _add(commands, "split", called.call_split, said)
    split.add_argument("interactions", metavar="INTERACTIONS", help="user, item, time, and a grade if there is one: any format that is read")  # fmt: skip
    split.add_argument("--how", dest="how_to", required=True, metavar="METHOD", help="leave-last-out, global-time, users or cold-items")  # fmt: skip
    split.add_argument("--into", required=True, metavar="DIR", help="the folder to write")
    split.add_argument("--last", type=int, metavar="N", help="leave-last-out, users: so many last interactions of a user are the truth (1)")  # fmt: skip
    split.add_argument("--at", metavar="TIME", help="global-time: the truth begins here, such as 2026-05-30, or a number in the unit of the times")  # fmt: skip
    split.add_argument("--share", type=float, metavar="X", help="of the interactions (global-time, in place of --at) or of the newest items; else the chance of each user or item to be held out, so that the share is met nearly")  # fmt: skip
    split.add_argument("--gap", metavar="SPAN", help="global-time: left out before the truth, such as 12h or 7d, or a number in the unit of the times")  # fmt: skip
    split.add_argument("--newest", action="store_true", default=None, help="cold-items: the items that came last, in place of a hash")  # fmt: skip
    split.add_argument("--seed", type=int, metavar="N", help="users, cold-items: another one chooses others (0)")  # fmt: skip
    split.add_argument("--repeats", default="keep", metavar="keep | first", help="does an item count again for a user who took it before?")  # fmt: skip
    split.add_argument("--column", action="append", default=[], metavar="OURS=THEIRS", help="what the table calls user, item, time or grade; `grade=` for none; may repeat")  # fmt: skip
    split.add_argument("--force", action="store_true", help="write over a split that is there")


def _add_definitions(commands: Any) -> None:
    _add(commands, "metrics", called.call_metrics, "the metrics, their formulas and sources")
    said = "has a metric of your own the right properties?"
    check = _add(commands, "check-metric", called.call_check_metric, said)
    check.add_argument("own", metavar="METRIC", help="such as ./my_metrics.py:revenue")
    said = "the named conventions, the values of one, or `diff A B`"
    presets = _add(commands, "presets", called.call_presets, said)
    presets.add_argument("names", nargs="*", metavar="NAME | diff A B", help="such as ir_measures")
    pin = _add(commands, "pin", called.call_pin, "write a preset's values into params.yaml")
    pin.add_argument("preset", help="a preset, such as ir_measures")


def _add_results(commands: Any) -> None:
    said = "means, differences to the baseline and verdicts"
    board = _add(commands, "leaderboard", called.call_leaderboard, said)
    board.add_argument("--metric", action="append", default=[], metavar="LABEL", help=_INSTEAD)
    explain = _add(commands, "explain", called.call_explain, "how one user's number came about")
    explain.add_argument("user", help="a user's id")
    explain.add_argument("metric", help="a label, such as nDCG@10")
    explain.add_argument("--model", required=True, help="a model of params.yaml")
    explain.add_argument(
        "--versus",
        metavar="PRESET",
        help="beside it, as this preset defines it, on the scale of the data",
    )
    explain.add_argument("--markdown", action="store_true", help="as Markdown")
    said = "the users and items for which two models differ most"
    cases = _add(commands, "cases", called.call_cases, said)
    cases.add_argument("model", metavar="MODEL", help="a model of params.yaml")
    cases.add_argument("--versus", required=True, dest="other", metavar="OTHER", help="the model to compare it with")  # fmt: skip
    cases.add_argument("--worst", type=int, default=20, metavar="N", help="number of users, those first for whom MODEL is furthest behind OTHER (20)")  # fmt: skip
    cases.add_argument("--metric", metavar="LABEL", help="sort users by this instead of the first primary metric")  # fmt: skip
    cases.add_argument("--segment", metavar="NAME=GROUP", help="only users of this group, such as channel=app")  # fmt: skip
    cases.add_argument("--item", metavar="ID", help="only users with this item in the ground truth or in a list")  # fmt: skip
    cases.add_argument("--html", metavar="FILE", help="a page that can be filtered")
    _add_force(cases)
    said = "which definition gives this number?"
    reconcile = _add(commands, "reconcile", called.call_reconcile, said)
    reconcile.add_argument("value", help="a number got elsewhere, as printed, such as 0.330")
    reconcile.add_argument("--metric", required=True, help="a label, such as nDCG@10")
    reconcile.add_argument("--model", required=True, help="a model of params.yaml")
    said = "does the split leak, and does the order turn?"
    audit = _add(commands, "audit", called.call_audit, said)
    audit.add_argument("--csv", metavar="FILE", help="means with and without affected users, as a table")  # fmt: skip
    audit.add_argument("--json", action="store_true", help="all that was found, as JSON")
    _add_force(audit)


def _add_revisions(commands: Any) -> None:
    said = "did my change help? the results against a git revision"
    diff = _add(commands, "diff", called.call_diff, said)
    diff.add_argument("revision", help="a commit, branch or tag, such as HEAD or HEAD~1")
    diff.add_argument("--model", action="append", default=[], help="only this model; may repeat")
    diff.add_argument("--metric", action="append", default=[], help="this label; may repeat")
    diff.add_argument("--anyway", action="store_true", help="though conventions or truth differ")
    diff.add_argument("--json", action="store_true", help="every label, as JSON")
    said = "the results at each revision, and what changed"
    history = _add(commands, "history", called.call_history, said)
    history.add_argument("revision", nargs="?", help="only what came after this revision")
    history.add_argument("--csv", metavar="FILE", help="every model, as a table")
    history.add_argument("--html", metavar="FILE", help="a page with pictures")
    _add_force(history)


def _add_deciding(commands: Any) -> None:
    gate = _add(
        commands, "gate", called.call_gate, "may these models go out? 0 pass, 1 worse, 3 undecided"
    )
    gate.add_argument("revision", nargs="?", help=_REVISION)
    gate.add_argument("--json", action="store_true", help="all that was decided, as JSON")
    said = "the comment of a pull request, as Markdown"
    comment = _add(commands, "comment", called.call_comment, said)
    comment.add_argument("revision", nargs="?", help=_REVISION)
    comment.add_argument("--output", metavar="FILE", help="write it to this file, and print the decision")  # fmt: skip
    comment.add_argument("--commit", metavar="SHA", help="the evaluated commit, which the last line names")  # fmt: skip
    comment.add_argument(
        "--undecided",
        choices=("pass", "fail"),
        metavar="pass | fail",
        help="may guardrails stay undecided? in place of `gate.undecided`",
    )
    _add_force(comment)


def _add_studying(commands: Any) -> None:
    """Beyond one run: several projects, and what was found online."""
    study = _add(commands, "study", called.call_study, "who wins over several evaluated projects?")
    study.add_argument(
        "file", nargs="?", default="study.yaml", metavar="FILE", help="what is studied (study.yaml)"
    )
    said = "which offline metric agreed with past A/B experiments?"
    calibrate = _add(commands, "calibrate", called.call_calibrate, said)
    calibrate.add_argument("file", metavar="FILE", help="CSV: experiment, control, treatment, and the lifts of online metrics")  # fmt: skip
    calibrate.add_argument("--csv", metavar="FILE", help="write every row of the table to this file")  # fmt: skip
    _add_force(calibrate)


def _add_planning(commands: Any) -> None:
    plan = _add(commands, "plan", called.call_plan, "how many users and seeds does it take?")
    plan.add_argument("--metric", action="append", default=[], metavar="LABEL", help=_INSTEAD)
    plan.add_argument("--effect", metavar="X", help="the true difference to find, such as 0.005 or 2%% of the baseline; else min_effect")  # fmt: skip
    plan.add_argument("--power", type=float, default=0.8, metavar="P", help="how probably it is to be found (0.8)")  # fmt: skip
    plan.add_argument("--segments", action="store_true", help="each segment too")
    plan.add_argument("--plot", metavar="FILE.svg", help="power and smallest difference by users, as a picture")  # fmt: skip
    _add_force(plan)
    stated = plan.add_argument_group("without results")
    for name, kind, said in (
        ("sd", float, "standard deviation of users' differences"),
        ("users", int, "how many there are"),
        ("tests", int, "comparisons that are corrected for"),
        ("sd-seeds", float, "standard deviation of the difference between trainings"),
        ("seeds", int, "trainings of each model"),
    ):
        stated.add_argument(f"--{name}", type=kind, metavar="X" if kind is float else "N", help=said)  # fmt: skip


def _add_running(commands: Any, run_stage: Command) -> None:
    log = _add(commands, "log", called.call_log, "were the last results logged to MLflow?")
    log.add_argument("--again", action="store_true", help="log what MLflow lacks, nothing twice")
    stage = _add(commands, STAGE, run_stage, "one stage, as `dvc repro` runs it")
    stage.add_argument("stage", choices=STAGES, metavar="NAME", help=", ".join(STAGES))
    stage.add_argument("argument", nargs="?", metavar="MODEL", help=f"for {', '.join(OF_ONE)}")


def _add_force(parser: argparse.ArgumentParser) -> None:
    said = "overwrite a file that Concord did not write"
    parser.add_argument("--force", action="store_true", help=said)


def _add_how(parser: argparse.ArgumentParser, default: Any) -> None:
    how = parser.add_argument_group("how much is said")
    for flags, said in {
        ("-q", "--quiet"): "errors only",
        ("-v", "--verbose"): "every step",
        ("--log-json",): "a JSON object a line, on stderr",
        ("--debug",): "show the traceback of an error",
    }.items():
        how.add_argument(
            *flags, dest="how", action="append_const", const=flags[-1], default=default, help=said
        )


def _add(commands: Any, name: str, command: Command, said: str) -> argparse.ArgumentParser:  # fmt: skip
    parser = commands.add_parser(name, help=said, description=said)
    parser.set_defaults(command=command, name=name)
    _add_how(parser, default=argparse.SUPPRESS)
    return parser
