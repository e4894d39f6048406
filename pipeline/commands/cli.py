"""The command `concord`. Each command imports what it needs when it runs, so that help answers at once."""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from concord.pipeline.terminal.parser import PROGRAM, Parser, Version

Command = Callable[[argparse.Namespace], str | int | None]
STAGE = "stage"
COMPLETION = "completion"
SHELLS = ("bash", "zsh", "fish")
GATE = "gate"
ERRORS = 2  # where 0, 1 and 3 are decisions of a gate
STAGES = ("load-truth", "load-background", "load", "evaluate", "compare", "report", "log")
OF_ONE = ("load-background", "load", "evaluate")  # stages that are run for one table or model


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the command line names."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == [STAGE]:  # before imports that take a second
        from concord.pipeline.running.lifetime import begin

        begin()
    from concord.pipeline.running.announce import flush

    parser = _parser()
    try:
        chosen = parser.parse_args(given)
    except SystemExit:
        flush()
        raise
    if "command" not in chosen or chosen.name == COMPLETION:  # the latter at every Tab: at once
        chosen.command(chosen) if "command" in chosen else parser.print_help()
        flush()
        return
    if chosen.name == GATE or getattr(chosen, "post", False):
        _decide(chosen)
    from concord.pipeline.running.lifetime import refuse_few_addresses

    refuse_few_addresses()
    from concord.metrics_core.checking.extras import extra_named
    from concord.metrics_core.checking.problems import InputError

    try:
        with extra_named():
            from concord.pipeline.running.stage import leave, run
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    if chosen.name == STAGE:
        given_to = [] if chosen.argument is None else [chosen.argument]
        sys.argv = [chosen.stage, *given_to, *chosen.how]
        run(lambda: _stage(chosen), lambda: _after(chosen.stage))
    sys.argv = [f"concord {chosen.name}", *chosen.how]
    leave(lambda: chosen.command(chosen))


def _decide(chosen: argparse.Namespace) -> NoReturn:
    """Leaves with the gate's decision; what goes wrong, even before it begins, does not look like one."""
    try:
        from concord.metrics_core.checking.extras import extra_named
        from concord.pipeline.running.lifetime import refuse_few_addresses

        refuse_few_addresses()
        with extra_named():
            from concord.pipeline.running.stage import leave
        sys.argv = [f"concord {chosen.name}", *chosen.how]
        leave(lambda: chosen.command(chosen), errors=ERRORS)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            sys.exit(ERRORS)
        raise
    except Exception as error:
        kind = type(error).__name__
        print(error if kind == "InputError" else f"{kind}: {error}", file=sys.stderr)
        sys.exit(ERRORS)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=PROGRAM,
        description="Recommender evaluation that is pinned, reproducible and explainable. "
        "The pipeline itself runs by `dvc repro`.",
    )
    _add_how(parser, default=[])
    parser.add_argument("--version", action=Version, nargs=0, help="which Concord this is")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    init = _add(commands, "init", _init, "write an evaluation into your DVC repository")
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
    _add(
        commands,
        "validate",
        _validate,
        "check params.yaml and every input file, without evaluating",
    )
    _add(commands, "metrics", _metrics, "the metrics, their formulas and sources")
    presets = _add(
        commands, "presets", _presets, "the named conventions, the knobs of one, or `diff A B`"
    )
    presets.add_argument("names", nargs="*", metavar="NAME | diff A B", help="such as ir_measures")
    board = _add(
        commands, "leaderboard", _leaderboard, "means, differences to the baseline and verdicts"
    )
    board.add_argument("--metric", action="append", default=[], metavar="LABEL", help="this instead of the primary metrics; may repeat")  # fmt: skip
    pin = _add(commands, "pin", _pin, "write a preset's values into params.yaml")
    pin.add_argument("preset", help="a preset, such as ir_measures")
    explain = _add(commands, "explain", _explain, "how one user's number came about")
    explain.add_argument("user", help="a user's id")
    explain.add_argument("metric", help="a label, such as nDCG@10")
    explain.add_argument("--model", required=True, help="a model of params.yaml")
    explain.add_argument(
        "--versus",
        metavar="PRESET",
        help="beside it, as this preset defines it, on the scale of the data",
    )
    explain.add_argument("--markdown", action="store_true", help="as Markdown")
    reconcile = _add(commands, "reconcile", _reconcile, "which definition gives this number?")
    reconcile.add_argument("value", help="a number got elsewhere, as printed, such as 0.330")
    reconcile.add_argument("--metric", required=True, help="a label, such as nDCG@10")
    reconcile.add_argument("--model", required=True, help="a model of params.yaml")
    _add(commands, "mend", _mend, "put aside files of DVC that a kill cut off")
    diff = _add(commands, "diff", _diff, "did my change help? the results against a git revision")
    diff.add_argument("revision", help="a commit, branch or tag, such as HEAD or HEAD~1")
    diff.add_argument("--model", action="append", default=[], help="only this model; may repeat")
    diff.add_argument("--metric", action="append", default=[], help="this label; may repeat")
    diff.add_argument("--anyway", action="store_true", help="though conventions or truth differ")
    diff.add_argument("--json", action="store_true", help="every label, as JSON")
    _add_deciding(commands)
    log = _add(commands, "log", _log, "were the last results logged to MLflow?")
    log.add_argument("--again", action="store_true", help="log what MLflow lacks, nothing twice")
    study = _add(
        commands,
        "study",
        _study,
        "who wins over several evaluated projects?",
    )
    study.add_argument("file", nargs="?", default="study.yaml", help="what is studied (study.yaml)")
    stage = _add(commands, STAGE, _stage, "one stage, as `dvc repro` runs it")
    stage.add_argument("stage", choices=STAGES, metavar="NAME", help=", ".join(STAGES))
    stage.add_argument("argument", nargs="?", metavar="MODEL", help=f"for {', '.join(OF_ONE)}")
    completion = _add(commands, COMPLETION, _completion, "a script that completes commands, models, metrics and presets")  # fmt: skip
    completion.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    completion.add_argument("line", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def _add_deciding(commands: "argparse._SubParsersAction[Parser]") -> None:
    gate = _add(commands, GATE, _gate, "may these models go out? 0 pass, 1 worse, 3 undecided")
    said = "a commit, branch or tag, such as HEAD~1; else the baseline"
    gate.add_argument("revision", nargs="?", help=said)
    gate.add_argument("--json", action="store_true", help="all that was decided, as JSON")
    comment = _add(commands, "comment", _comment, "what a pull request should be told, as Markdown")
    comment.add_argument("revision", nargs="?", help=said)
    comment.add_argument(
        "--post",
        action="store_true",
        help="in CI: write it there, against the base of the request, and leave with the exit code of the gate",
    )
    comment.add_argument(
        "--undecided",
        choices=("pass", "fail"),
        metavar="pass | fail",
        help="may guardrails stay undecided? in place of `gate.undecided`",
    )


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


def _add(commands: "argparse._SubParsersAction[Parser]", name: str, command: Command, said: str) -> argparse.ArgumentParser:  # fmt: skip
    parser = commands.add_parser(name, help=said, description=said)
    parser.set_defaults(command=command, name=name)
    _add_how(parser, default=argparse.SUPPRESS)
    return parser


def _init(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.init import init, upgrade

    if chosen.upgrade and (chosen.truth is not None or chosen.model):
        from concord.metrics_core.checking.problems import refuse
        from concord.pipeline.terminal.arguments import PLACE

        what = "--upgrade keeps the tables that params.yaml names, so --truth and --model ask for nothing"
        raise refuse(PLACE, what, "leave them out, and change params.yaml")
    if chosen.upgrade:
        upgrade(chosen.dir, dry_run=chosen.dry_run)
    else:
        how = {"dry_run": chosen.dry_run, "force": chosen.force}
        init(chosen.dir, chosen.truth, chosen.model, **how)


def _validate(_: argparse.Namespace) -> None:
    from concord.pipeline.commands.validate import validate

    validate()


def _metrics(_: argparse.Namespace) -> None:
    from concord.pipeline.commands.asking.metrics import list_metrics

    list_metrics()


def _presets(chosen: argparse.Namespace) -> None:
    from concord.metrics_core.checking.problems import refuse
    from concord.pipeline.commands.asking.presets import diff_presets, list_presets, show_preset

    match chosen.names:
        case []:
            list_presets()
        case ["diff", one, other]:
            diff_presets(one, other)
        case [name]:
            show_preset(name)
        case _:
            what = f"`presets {' '.join(chosen.names)}` is not understood"
            fix = "use `concord presets`, `concord presets NAME` or `concord presets diff A B`"
            raise refuse("command line", what, fix)


def _leaderboard(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.asking.leaderboard import leaderboard

    leaderboard(chosen.metric)


def _after(stage: str) -> None:
    if stage not in STAGES[-2:]:
        return
    from concord.pipeline.commands.asking.leaderboard import after_repro, ends_with

    if ends_with(stage):
        after_repro()


def _completion(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.completion import complete, script

    if chosen.line:
        complete(_parser(), chosen.shell, chosen.line)
    else:
        script(chosen.shell)


def _pin(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.pin import pin

    pin(chosen.preset)


def _explain(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.asking.explain import explain

    explain(chosen.user, chosen.metric, chosen.model, chosen.versus, markdown=chosen.markdown)


def _reconcile(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.asking.reconcile import reconcile_number

    reconcile_number(chosen.value, chosen.metric, chosen.model)


def _mend(_: argparse.Namespace) -> None:
    from concord.pipeline.commands.mend import mend

    mend()


def _diff(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.asking.diff import diff

    how = {"anyway": chosen.anyway, "as_json": chosen.json}
    diff(chosen.revision, chosen.model, chosen.metric, **how)


def _gate(chosen: argparse.Namespace) -> int:
    from concord.pipeline.commands.gate import gate

    return gate(chosen.revision, as_json=chosen.json)


def _comment(chosen: argparse.Namespace) -> int | None:
    from concord.pipeline.commands.comment import comment, comment_and_decide

    if chosen.post:
        return comment_and_decide(chosen.revision, chosen.undecided)
    comment(chosen.revision, chosen.undecided)
    return None


def _log(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.log import log_again, tell_what_is_logged

    if chosen.again:
        log_again()
    else:
        tell_what_is_logged()


def _study(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.study import study

    study(chosen.file)


def _stage(chosen: argparse.Namespace) -> str:
    from concord.metrics_core.checking.problems import refuse
    from concord.pipeline.commands.stage import stage
    from concord.pipeline.running.lifetime import importing

    if chosen.argument is not None and chosen.stage not in OF_ONE:
        what = f"stage {chosen.stage} takes no {chosen.argument!r}"
        raise refuse("command line", what, f"run `{PROGRAM} {STAGE} {chosen.stage}`")
    with importing():
        work = stage(chosen.stage)
    return work()
