"""The changes of each model since a git revision, user by user."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.errors import InputError
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.history import Change
from concord.pipeline.dvc.changes import changes, find_mismatch, one_sided_notes, version_warnings
from concord.pipeline.dvc.revision import load_revision
from concord.pipeline.params.config import compared_models, config_from_params
from concord.pipeline.params.model import Params
from concord.pipeline.stages.evaluations import read_evaluations
from concord.pipeline.terminal.arguments import evaluated_label, refuse_unknown_model


@dataclass(frozen=True)
class RevisionDiff:
    """All changes, those of the requested metrics, and notes on what was not compared."""

    changes: list[Change]
    shown: list[Change]
    notes: list[str]


def diff(
    params: Params,
    revision: str,
    models: Sequence[str],
    metrics: Sequence[str],
    *,
    anyway: bool = False,
) -> RevisionDiff:
    """Compare the evaluations here with those of a revision.

    Raises
    ------
    InputError
        A model or metric is unknown, or conventions or ground truth differ and `anyway` is not set.
    """
    config = config_from_params(params)
    for model in models:
        refuse_unknown_model(compared_models(params), model)
    evaluated = [str(label) for label in config.labels]
    requested = [evaluated_label(text, evaluated) for text in metrics]
    lists, config = read_evaluations(params, config, requested or config.primary)
    evaluations = with_replicates(lists, config)
    labels = requested or config.primary
    named = list(models) or list(evaluations)
    with load_revision(revision, params, config, named) as before:
        differing = find_mismatch(config, evaluations, before)
        if not anyway and (refused := differing.refusals(labels)):
            raise InputError(refused)
        notes = [problem.what for problem in differing.truth]
        notes += differing.differences() if anyway else differing.notes()
        notes += version_warnings(evaluations, before)
        notes += one_sided_notes(config, named, before, every_model=not models)
        alike = config if anyway else config.without(differing.labels)
        found = changes(alike, evaluations, before)
    notes += _without_user_values(labels, found)
    shown = [each for each in found if (each.label in requested if requested else each.primary)]
    return RevisionDiff(found, shown, notes)


def _without_user_values(labels: Sequence[str], found: Sequence[Change]) -> Iterator[str]:
    """Yield a note on the requested metrics that have no value per user."""
    shown = {each.label for each in found}
    if others := [x for x in labels if x not in shown and parse(x).metric.of_catalogue]:
        what = "no value per user, only one number over all users; `concord gate` compares it"
        yield f"{what}: {', '.join(others)}"
