"""`concord diff REV`: did my change help? Each model against its former self, user by user."""

import json
from collections.abc import Iterator, Sequence

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.errors import InputError
from concord.metrics_core.metrics.catalogue import parse
from concord.metrics_core.results.history import Change
from concord.pipeline.commands.stale import warn_if_stale
from concord.pipeline.dvc.changes import changes, one_sided, unlike, version_warnings
from concord.pipeline.dvc.revision import former
from concord.pipeline.params.config import compared_models, config_from_params
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.stages.evaluations import read_evaluations
from concord.pipeline.terminal.arguments import evaluated_label, refuse_unknown_model
from concord.pipeline.terminal.table import console, print_table
from concord.reports.writing import numbers
from concord.reports.writing.verdicts import VERDICTS


def diff(
    revision: str,
    models: Sequence[str],
    metrics: Sequence[str],
    *,
    anyway: bool = False,
    as_json: bool = False,
) -> None:
    """Prints the changes of the primary metrics, or of those that are named; as JSON all of them."""
    params = read_params()
    config = config_from_params(params)
    wanted = _labels(params, config, models, metrics)
    lists, config = read_evaluations(params, config, wanted or config.primary)
    evaluations = with_replicates(lists, config)
    named = list(models) or list(evaluations)
    with former(revision, params, config, named) as before:
        differing = unlike(config, evaluations, before)
        if not anyway and (refused := differing.refusals(wanted or config.primary)):
            raise InputError(refused)
        notes = [problem.what for problem in differing.truth]
        notes += differing.differences() if anyway else differing.notes()
        notes += version_warnings(evaluations, before)
        notes += one_sided(config, named, before, every_model=not models)
        alike = config if anyway else config.without(differing.labels)
        found = changes(alike, evaluations, before)
    notes += _over_all_users(wanted or config.primary, found)
    warn_if_stale(params)
    if as_json:
        print(
            json.dumps(
                {"revision": revision, "notes": notes, "changes": [*map(vars, found)]}, indent=2
            )
        )
        return
    shown = [each for each in found if (each.label in wanted if wanted else each.primary)]
    _print(revision, shown, notes)


def _labels(
    params: Params, config: ComparisonConfig, models: Sequence[str], metrics: Sequence[str]
) -> list[str]:
    """The labels that are named, if they and the models are known."""
    for model in models:
        refuse_unknown_model(compared_models(params), model)
    evaluated = [str(label) for label in config.labels]
    return [evaluated_label(text, evaluated) for text in metrics]


def _over_all_users(labels: Sequence[str], found: Sequence[Change]) -> Iterator[str]:
    """What to do with the labels that have no value per user, of those that are to be shown."""
    shown = {each.label for each in found}
    if others := [x for x in labels if x not in shown and parse(x).metric.of_catalogue]:
        what = "no value per user, only one number over all users; `concord gate` compares it"
        yield f"{what}: {', '.join(others)}"


def _print(revision: str, rows: Sequence[Change], notes: Sequence[str]) -> None:
    for note in notes:
        console().print(f"note: {note}")
    if not rows:
        what = "no value per user of what was asked for stands in both"
        console().print(f"nothing to compare with {revision}: {what}")
        return
    for label in dict.fromkeys(row.label for row in rows):
        of_label = [row for row in rows if row.label == label]
        same = [row.model for row in of_label if row.verdict == "identical"]
        for row in of_label:
            if row.verdict != "identical":
                console().print(_sentence(revision, row))
        if same:
            console().print(f"{label}: the same for every user: {', '.join(same)}")
    changed = [_cells(row) for row in rows if row.verdict != "identical"]
    if changed:
        console().print()
        header = ("metric", "model", "then", "now", "difference", "p, adjusted", "users who differ")
        print_table(header, changed)


def _sentence(revision: str, row: Change) -> str:
    """`nDCG@10: ease, against v1.0: better, +0.012 (+0.008 to +0.016, +4.1 %)`"""
    digits = _digits(row)
    word = VERDICTS[row.verdict].word
    if row.difference is None:
        return f"{row.label}: {row.model} against {revision}: no user has a value in both"
    inside = [
        numbers.signed_interval(row.ci_low, row.ci_high, digits),
        numbers.relative(row.relative) if row.relative is not None else "",
    ]
    known = ", ".join(text for text in inside if text)
    size = numbers.signed(row.difference, digits)
    told = f"{size} ({known})" if known else size
    return f"{row.label}: {row.model}, against {revision}: {word}, {told}"


def _cells(row: Change) -> tuple[str, ...]:
    digits = _digits(row)
    return (
        row.label,
        row.model,
        numbers.number(row.then, digits),
        numbers.number(row.now, digits),
        numbers.signed(row.difference, digits),
        numbers.p_value(row.p_adjusted),
        f"{row.n_nonzero:,} of {row.n_users:,}",
    )


def _digits(row: Change) -> int:
    return numbers.decimals([row], [row.then, row.now])
