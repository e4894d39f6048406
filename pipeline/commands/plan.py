"""`concord plan`: how many users and seeds it takes, from the results on disk or from stated numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from concord.metrics_core.analyses.plan import number_problems, plan_comparison, power_curves
from concord.metrics_core.analyses.plan import plan as plan_numbers
from concord.metrics_core.comparison.config import Effect
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.results.plan import Plan, VarianceComponents
from concord.pipeline.commands.leaderboard import comparison_of
from concord.pipeline.commands.stale import warn_if_stale
from concord.pipeline.dvc.gate import gated
from concord.pipeline.params.read import read_params
from concord.pipeline.running.messages import LOG
from concord.pipeline.terminal.arguments import PLACE, as_options, evaluated_label, write_named
from concord.pipeline.terminal.table import print_result


@dataclass(frozen=True)
class Stated:
    """What is said in place of results; None: nothing."""

    sd: float | None
    users: int | None
    tests: int | None
    sd_seeds: float | None
    seeds: int | None


NOTHING = Stated(None, None, None, None, None)
_NUMBERS = ("effect", "power", "sd", "users", "seeds", "tests", "segments")
OPTIONS = {"metrics": "--metric", **{name: f"--{name}" for name in _NUMBERS}}


def plan(
    metrics: Sequence[str],
    stated: Stated,
    *,
    effect: str | None,
    power: float,
    segments: bool,
    picture: str | None,
    force: bool,
) -> None:
    """Prints the plan; with `picture` it draws the curves into that file.

    Raises
    ------
    InputError : numbers that cannot be, results that are not there, a metric that was not evaluated
    """
    refuse_other_pictures(picture)
    wanted = None if effect is None else effect_of(effect)
    try:
        if stated == NOTHING:
            found = _of_results(metrics, wanted, power, segments=segments)
        else:
            found = _of_numbers(metrics, stated, wanted, power, segments=segments)
    except InputError as error:
        raise as_options(error, OPTIONS) from None
    print_result(found)
    if picture is not None:
        _draw(found, picture, force=force)


def refuse_other_pictures(picture: str | None) -> None:
    """A picture is an SVG, in a folder that is there."""
    if picture is None:
        return
    if Path(picture).suffix != ".svg":
        raise refuse(f"{PLACE}: --plot", f"{picture!r} is no SVG", "name a file such as plan.svg")
    if not Path(picture).parent.is_dir():
        what = f"there is no folder {str(Path(picture).parent)!r}"
        raise refuse(f"{PLACE}: --plot", what, "make it, or name another file")


def _draw(found: Plan, file: str, *, force: bool) -> None:
    """The curves of the first label; the others are named."""
    from concord.reports.charts.power import plan_picture

    label = found.differences[0].label
    picture = plan_picture(found, label, power_curves(found, label))
    write_named("--plot", file, picture, force=force)
    if label is not None and len(found.labels) > 1:
        LOG.info("%s shows %s; `--metric` names another", file, label)


def effect_of(text: str) -> Effect:
    """`0.005` as a number, `2%` as it is."""
    if text.endswith("%"):
        return text
    try:
        return float(text)
    except ValueError:
        fix = "write a number such as 0.005, or a share of the baseline such as 2%"
        raise refuse(f"{PLACE}: --effect", f"{text!r} is no difference", fix) from None


def _of_results(
    metrics: Sequence[str], effect: Effect | None, power: float, *, segments: bool
) -> Plan:
    if found := list(number_problems(effect=effect, power=power, confidence=None)):
        raise refuse(*found[0])
    params = read_params()
    comparison = comparison_of(params)
    labels = [evaluated_label(text, comparison.labels) for text in metrics]
    warn_if_stale(params)
    if (
        params.gate and params.gate.config is not None and comparison.challengers
    ):  # that of now, whatever it was at `dvc repro`
        comparison = replace(comparison, gate=gated(params).decision)
    named = list(dict.fromkeys(labels)) or None
    return plan_comparison(comparison, named, effect=effect, power=power, segments=segments)


def _of_numbers(
    metrics: Sequence[str], stated: Stated, effect: Effect | None, power: float, *, segments: bool
) -> Plan:
    """The plan of stated numbers, for which no results are read."""
    _refuse_halves(stated)
    sd = stated.sd
    spread = (
        sd if sd is None or stated.sd_seeds is None else VarianceComponents(sd, stated.sd_seeds)
    )
    return plan_numbers(
        metrics=[*metrics] or None,
        sd=spread,
        users=stated.users,
        seeds=stated.seeds,
        tests=1 if stated.tests is None else stated.tests,
        effect=effect,
        power=power,
        segments=segments,
    )


def _refuse_halves(stated: Stated) -> None:
    """Numbers that say something together only."""
    for one, other in ((("sd", stated.sd), ("users", stated.users)), (("sd-seeds", stated.sd_seeds), ("seeds", stated.seeds))):  # fmt: skip
        given = [name for name, value in (one, other) if value is not None]
        needed = one[0] == "sd"  # whatever else is stated
        if len(given) == 1 or (needed and not given):
            lacking = next(name for name, value in (one, other) if value is None)
            fix = f"add --{lacking}" + (
                ", or leave out what is stated, to plan from the results" if needed else ""
            )
            raise refuse(PLACE, f"--{lacking} is missing", fix)
