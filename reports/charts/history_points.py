"""The marks of a history: a point a model and revision, with its colour, its line and whether its verdict turned."""

from typing import Any

from concord.metrics_core.results.history import History, Revision, Standing
from concord.reports.charts.palette import SERIES, light
from concord.reports.charts.svg import told
from concord.reports.writing import history as written
from concord.reports.writing.numbers import interval, number
from concord.reports.writing.verdicts import VERDICTS

BREAKS = {"truth", "conventions"}  # what makes means of another kind
_NAMED_IN_A_CROWD = 3  # models, beside the baseline, where colours run out
_BESIDE = 0.07  # of the room of a revision, so that intervals of models do not cover each other
Rows = list[dict[str, Any]]


def points(history: History, label: str) -> Rows:
    """Those of a label; lines have another name behind each break."""
    colours = _colours(history, label)
    digits = written.digits(history, label)
    middle = (len(colours) - 1) / 2
    beside = {model: _BESIDE * (i - middle) for i, model in enumerate(colours)}
    before: dict[str, str | None] = {}
    part = 0
    rows: Rows = []
    for at, revision in enumerate(history.revisions):
        part += is_break(revision)
        for standing in revision.of(label):
            if standing.mean is None:
                continue
            known = standing.verdict
            was = before.get(standing.model, known)
            before[standing.model] = known
            rows.append(
                _point(revision, standing, digits)
                | {
                    "at": at + beside.get(standing.model, 0.0),
                    "last": at == len(history.revisions) - 1,
                    "line": f"{standing.model}\n{part}",
                    "marked": at == 0 or is_break(revision) or standing.model not in revision.same,
                    "turned": known is not None and was is not None and known != was,
                    "colour": colours.get(standing.model, light("line-strong")),
                    "named": standing.model in colours,
                }
            )
    return rows


def is_break(revision: Revision) -> bool:
    """Are its numbers of another kind than those before?"""
    return any(each.kind in BREAKS for each in revision.changed)


def _point(revision: Revision, at: Standing, digits: int) -> dict[str, Any]:
    mean = number(at.mean, digits)
    span = interval(at.ci_low, at.ci_high, digits)
    word = "" if at.verdict is None else f", {VERDICTS[at.verdict].word}"
    name = written.name(revision)
    return {
        "model": at.model,
        "mean": at.mean,
        "low": at.mean if at.ci_low is None else at.ci_low,
        "high": at.mean if at.ci_high is None else at.ci_high,
        "verdict": at.verdict or "",
        "spoken": f"{at.model}: {mean}{word}",
        "about": told(f"{name}, {at.model}: {mean}{f' ({span})' if span else ''}{word}", at.model),
        "whose": told("", at.model),
    }


def _colours(history: History, label: str) -> dict[str, str]:
    """The baseline in grey; the others in colours by their first appearance, or only the last best where colours run out."""
    last = history.revisions[-1]
    every = list(dict.fromkeys(x.model for r in history.revisions for x in r.standings))
    others = [model for model in every if model != last.baseline]
    if len(others) >= len(SERIES):
        best = [each.model for each in last.of(label) if each.model != last.baseline]
        others = [model for model in others if model in best[:_NAMED_IN_A_CROWD]]
    grey = {last.baseline: light(SERIES[0])} if last.baseline in every else {}
    known = {model: light(SERIES[i]) for i, model in enumerate(others, 1)}
    return {**{str(model): colour for model, colour in grey.items()}, **known}
