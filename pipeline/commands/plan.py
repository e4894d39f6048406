"""`concord plan`: the number of users and seeds that a comparison needs."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from concord.pipeline.commands.leaderboard import METRICS
from concord.pipeline.commands.parser import COMMAND_LINE, parse_effect

if TYPE_CHECKING:
    from concord.metrics_core.analyses.plan.result import Plan
    from concord.metrics_core.comparison.min_effect import Effect

HELP = "compute how many users and seeds a comparison needs"
NUMBERS = {  # used instead of results
    "sd": (float, "standard deviation of users' differences"),
    "users": (int, "number of users"),
    "tests": (int, "number of tests that p-values are adjusted for"),
    "sd-seeds": (
        float,
        "standard deviation, over replicates, of the difference between two models",
    ),
    "seeds": (int, "replicates of each model"),
}
_OPTIONS = ("effect", "power", "sd", "users", "seeds", "tests")
OPTIONS = {"metrics": "--metric", **{name: f"--{name}" for name in _OPTIONS}}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--metric", action="append", default=[], metavar="LABEL", help=METRICS)
    add(
        "--effect",
        type=parse_effect,
        metavar="X",
        help="true difference to detect, such as 0.005 or 2%% of the baseline "
        "(default: min_effect)",
    )
    add(
        "--power",
        type=float,
        default=0.8,
        metavar="P",
        help="probability of detecting the effect (default: 0.8)",
    )
    numbers = parser.add_argument_group("without results")
    for name, (kind, text) in NUMBERS.items():
        metavar = "X" if kind is float else "N"
        numbers.add_argument(f"--{name}", type=kind, metavar=metavar, help=text)


def run(arguments: argparse.Namespace) -> None:
    """Print the plan."""
    from concord.pipeline.terminal import option_names, print_result

    has_numbers = any(getattr(arguments, name.replace("-", "_")) is not None for name in NUMBERS)
    make_plan = _plan_numbers if has_numbers else _plan_results
    with option_names(OPTIONS):
        plan = make_plan(arguments, arguments.effect)
    print_result(plan)


def _plan_results(arguments: argparse.Namespace, effect: "Effect | None") -> "Plan":
    """Return the plan of the comparison and the gate of params.yaml."""
    from concord.metrics_core.analyses.plan.plan import plan
    from concord.pipeline.dvc.current_results import load_comparison, warn_if_stale
    from concord.pipeline.dvc.gate import decide_gate
    from concord.pipeline.params.read import read_params
    from concord.pipeline.terminal import evaluated_label

    params = read_params()
    comparison = load_comparison(params)
    labels = [evaluated_label(text, comparison.labels) for text in arguments.metric]
    warn_if_stale(params)
    if params.gate and comparison.compared_models:
        comparison = replace(comparison, gate=decide_gate(params, comparison).decision)
    unique = list(dict.fromkeys(labels)) or None
    return plan(comparison, metrics=unique, effect=effect, power=arguments.power)


def _plan_numbers(arguments: argparse.Namespace, effect: "Effect | None") -> "Plan":
    """Plan from the numbers of the command line, without results."""
    from concord.metrics_core.analyses.plan.plan import plan
    from concord.metrics_core.stats.power import VarianceComponents

    _check_numbers(arguments)
    sd = arguments.sd
    if arguments.sd_seeds is not None:
        sd = VarianceComponents(sd, arguments.sd_seeds)
    return plan(
        metrics=[*arguments.metric] or None,
        sd=sd,
        users=arguments.users,
        seeds=arguments.seeds,
        tests=1 if arguments.tests is None else arguments.tests,
        effect=effect,
        power=arguments.power,
    )


def _check_numbers(arguments: argparse.Namespace) -> None:
    """Raise InputError for half of a pair of numbers, or without --sd and --users."""
    from concord.metrics_core.errors import refuse

    for pair, is_needed in ((("sd", "users"), True), (("sd_seeds", "seeds"), False)):
        missing = [name for name in pair if getattr(arguments, name) is None]
        if missing and (is_needed or len(missing) == 1):
            option = f"--{missing[0].replace('_', '-')}"
            fix = f"add {option}"
            if is_needed:
                fix += ", or remove the other numbers to plan from the results"
            raise refuse(COMMAND_LINE, f"{option} is missing", fix)
