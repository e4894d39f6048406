"""Evaluate the models of `compare` on one ground truth or on that of each fold."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.replicate_config import settings_by_list
from concord.metrics_core.data.argument_types import Data, ModelColumns, Truth
from concord.metrics_core.data.arguments import check_columns
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.evaluation.dataset import NO_PANELS, TableLoader, load_dataset
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.evaluation.panel import Panel
from concord.metrics_core.files import NO_FOLD


def evaluate_models(
    config: ComparisonConfig,
    lists: Mapping[str, Data],
    truths: Mapping[str, Truth],
    side_data: Mapping[str, Data | None],
    *,
    columns: ModelColumns | None,
    input: Mapping[str, Any] | None,
    panels: Mapping[str, Panel] = NO_PANELS,
    unit: Sequence[str] = (),
    words: Mapping[str, str] | None = None,
    names: Collection[str] | None = None,
) -> tuple[dict[str, ModelResult], EvaluationData]:
    """Evaluate each list on the ground truth of its fold; return the results by name, and the data.

    Parameters
    ----------
    config : ComparisonConfig
        Metrics, conventions and replicates.
    lists : dict
        Name -> recommendations of a model, or of one replicate.
    truths : dict
        Fold -> its ground truth; NO_FOLD -> that of all lists.
    side_data : dict
        Name of a table other than the truth -> its data; None if it is not given.
    columns : dict or None
        Table or model -> its column names; they hold for all replicates of a model.
    input : dict or None
        Policy -> how unusual values of tables are handled; by default as errors.
    panels : dict, optional
        Label -> its convention panel; by default none.
    unit : sequence of str, optional
        Columns that identify a request; empty if the unit is a user.
    words : dict, optional
        Words that texts show for user, item and request.
    names : collection of str, optional
        The lists to evaluate; by default all.

    Returns
    -------
    (dict of str to ModelResult, EvaluationData)
        Result of each evaluated list by its name, and the loaded data.
    """
    roles = {**dict.fromkeys(lists, "recs"), **{name: name for name in ("truth", *side_data)}}
    column_names = check_columns(settings_by_list(columns or {}, config.replicates), roles)
    policies = parse_policies(input or {})
    loader = TableLoader(config, policies, column_names, unit, words)
    dataset = load_dataset(loader, truths, side_data)
    folds = {} if NO_FOLD in truths else config.replicates
    fold_of = {
        name: fold for names_by_fold in folds.values() for fold, name in names_by_fold.items()
    }
    results = {}
    for name in lists if names is None else names:
        results[name] = dataset.evaluate(
            name,
            lists[name],
            panels=panels,
            confidence=config.confidence,
            fold=fold_of.get(name, NO_FOLD),
        )
    return results, dataset.data
