"""The changes of each model since a git revision, user by user."""

from collections.abc import Sequence
from dataclasses import dataclass

from concord.metrics_core.comparison.replicated_models import with_replicates
from concord.metrics_core.errors import raise_problems
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.history import Change
from concord.pipeline.dvc.changes import changes, find_mismatch, one_sided_notes, version_warnings
from concord.pipeline.dvc.revision import load_revision
from concord.pipeline.params.model import Params
from concord.pipeline.stages.evaluations import read_evaluations
from concord.pipeline.terminal.arguments import evaluated_label, refuse_unknown_model


@dataclass(frozen=True)
class RevisionDiff:
    """All changes, those of the requested metrics, and notes on what was not compared."""

    changes: list[Change]
    requested: list[Change]
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
    config = params.comparison_config
    for model in models:
        refuse_unknown_model(params.compared_models, model)
    evaluated = [str(label) for label in config.labels]
    requested = [evaluated_label(text, evaluated) for text in metrics]
    lists, config = read_evaluations(params, config, requested or config.primary)
    evaluations = with_replicates(lists, config)
    labels = requested or config.primary
    compared = list(models) or list(evaluations)
    with load_revision(revision, params, config, compared) as before:
        mismatch = find_mismatch(config, evaluations, before)
        if not anyway:
            raise_problems(mismatch.refusals(labels))
        notes = [problem.what for problem in mismatch.truth]
        notes += mismatch.differences() if anyway else mismatch.notes()
        notes += version_warnings(evaluations, before)
        notes += one_sided_notes(config, compared, before, every_model=not models)
        comparable = config if anyway else config.without(mismatch.labels)
        every_change = changes(comparable, evaluations, before)
    compared_labels = {each.label for each in every_change}
    if others := [x for x in labels if x not in compared_labels and parse(x).metric.of_catalogue]:
        note = "no value per user, only one number over all users; `concord gate` compares it"
        notes.append(f"{note}: {', '.join(others)}")
    return RevisionDiff(
        every_change, [each for each in every_change if each.label in labels], notes
    )
