"""`concord cases`: the users and items behind the difference of two models, from the results on disk."""

from dataclasses import replace

from concord.metrics_core.cases.found import Question
from concord.metrics_core.checking.problems import InputError, refuse
from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.metrics.catalogue import parse
from concord.pipeline.commands.asking.stale import warn_if_stale
from concord.pipeline.comparing.cases import cases_between
from concord.pipeline.params.asked import asked_of
from concord.pipeline.params.read import read_params
from concord.pipeline.terminal.arguments import PLACE, evaluated_label
from concord.pipeline.terminal.cases import print_cases
from concord.pipeline.terminal.named_files import refuse_folder, write_named
from concord.pipeline.terminal.table import console

OPTIONS = {"model": "MODEL", **{name: f"--{name}" for name in ("versus", "segment", "item")}}


def tell_cases(question: Question, metric: str | None, html: str | None, *, force: bool) -> None:
    """Prints the cases; writes them as a page, where one is asked for.

    Raises
    ------
    InputError : models, a metric, a segment or an item that are not there; results that are missing; a file that may not be written
    """
    if question.worst < 1:
        raise refuse(f"{PLACE}: --worst", f"is {question.worst}", "write a whole number from 1 on")
    refuse_folder("--html", html)
    params = read_params()
    asked = asked_of(params)
    asked = replace(asked, primary=_labels(asked, metric))
    try:
        found = cases_between(params, asked, question)
    except InputError as error:
        raise InputError(
            replace(each, where=f"{PLACE}: {OPTIONS[each.where]}") if each.where in OPTIONS else each
            for each in error.problems
        ) from None  # fmt: skip
    warn_if_stale(params)
    if html is not None:
        from concord.reports.cases_page import render_cases

        write_named("--html", html, render_cases(found), force=force)
    print_cases(found)
    if html is not None:
        console().print(f"wrote {html}")


def _labels(asked: Asked, metric: str | None) -> list[str]:
    """The primary metrics, after the one that users are to be sorted by."""
    if metric is None:
        return asked.primary
    label = evaluated_label(metric, list(map(str, asked.labels)))
    if parse(label).metric.of_catalogue:
        what = f"{label} is one number over all users"
        raise refuse(f"{PLACE}: --metric", what, "name a metric that has a value for each user")
    return list(dict.fromkeys([label, *asked.primary]))
