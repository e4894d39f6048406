"""What each command of the command line does with its arguments; it imports what it needs when it is called."""

import argparse


def call_init(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.init import init, upgrade

    if chosen.upgrade and (chosen.truth is not None or chosen.model):
        from concord.metrics_core.errors import refuse
        from concord.pipeline.terminal.arguments import PLACE

        what = "--upgrade keeps the tables that params.yaml names, so --truth and --model ask for nothing"
        raise refuse(PLACE, what, "leave them out, and change params.yaml")
    if chosen.upgrade:
        upgrade(chosen.dir, dry_run=chosen.dry_run)
    else:
        how = {"dry_run": chosen.dry_run, "force": chosen.force}
        init(chosen.dir, chosen.truth, chosen.model, **how)


def call_validate(_: argparse.Namespace) -> None:
    from concord.pipeline.commands.validate import validate

    validate()


def call_metrics(_: argparse.Namespace) -> None:
    from concord.pipeline.commands.metrics import list_metrics

    list_metrics()


def call_check_metric(chosen: argparse.Namespace) -> int:
    from concord.pipeline.commands.check_metric import check_metric

    return check_metric(chosen.own)


def call_presets(chosen: argparse.Namespace) -> None:
    from concord.metrics_core.errors import refuse
    from concord.pipeline.commands.presets import diff_presets, list_presets, show_preset

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


def call_leaderboard(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.leaderboard import leaderboard

    leaderboard(chosen.metric)


def call_pin(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.pin import pin

    pin(chosen.preset)


def call_explain(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.explain import explain

    explain(chosen.user, chosen.metric, chosen.model, chosen.versus, markdown=chosen.markdown)


def call_cases(chosen: argparse.Namespace) -> None:
    from concord.metrics_core.analyses.error_analysis import ExampleSelection
    from concord.pipeline.commands.cases import print_cases

    models = (chosen.model, chosen.other)
    selection = ExampleSelection(models, chosen.worst, chosen.segment, chosen.item)
    print_cases(selection, chosen.metric, chosen.html, force=chosen.force)


def call_reconcile(chosen: argparse.Namespace) -> int:
    from concord.pipeline.commands.reconcile import reconcile_number

    return reconcile_number(chosen.value, chosen.metric, chosen.model)


def call_diff(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.diff import diff

    how = {"anyway": chosen.anyway, "as_json": chosen.json}
    diff(chosen.revision, chosen.model, chosen.metric, **how)


def call_history(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.history import tell_history

    tell_history(chosen.revision, chosen.csv, chosen.html, force=chosen.force)


def call_calibrate(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.calibrate import calibrate

    calibrate(chosen.file, chosen.csv, force=chosen.force)


def call_audit(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.audit import audit

    audit(chosen.csv, as_json=chosen.json, force=chosen.force)


def call_plan(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.plan import Stated, plan

    stated = Stated(chosen.sd, chosen.users, chosen.tests, chosen.sd_seeds, chosen.seeds)
    plan(chosen.metric, stated, effect=chosen.effect, power=chosen.power, segments=chosen.segments, picture=chosen.plot, force=chosen.force)  # fmt: skip


def call_gate(chosen: argparse.Namespace) -> int:
    from concord.pipeline.commands.gate import gate

    return gate(chosen.revision, as_json=chosen.json)


def call_comment(chosen: argparse.Namespace) -> int:
    from concord.pipeline.commands.comment import comment

    return comment(chosen.revision, chosen.undecided, output=chosen.output, commit=chosen.commit, force=chosen.force)  # fmt: skip


def call_completion(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.completion import print_script

    print_script(chosen.parser, chosen.shell)


def call_log(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.log import log_again, tell_what_is_logged

    if chosen.again:
        log_again()
    else:
        tell_what_is_logged()


def call_study(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.study import run_study

    run_study(chosen.file)


def call_split(chosen: argparse.Namespace) -> None:
    from concord.pipeline.commands.split import split

    split(chosen)
