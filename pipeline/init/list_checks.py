"""What lists show before they are evaluated: ids, hits, equal scores and copies."""

from dataclasses import replace

from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.top_lists import compare_lists
from concord.metrics_core.evaluation.accumulator import build_task
from concord.metrics_core.evaluation.evaluate_block import Part
from concord.metrics_core.evaluation.evaluate_model import evaluate_model
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.evaluation.warnings.lists import constant_score_warnings
from concord.metrics_core.evaluation.warnings.sanity import list_sanity_warnings
from concord.metrics_core.files import load_json
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.pipeline.params.model import Params
from concord.pipeline.params.paths import ModelFiles
from concord.pipeline.stages.evaluate import check_model_ids, choose_executor, model_data
from concord.pipeline.stages.evaluation_data import evaluation_data
from concord.pipeline.stages.reference import compute


class _NoValues:
    """Forget the values per user: only counts are read."""

    def write(self, part: Part) -> None: ...

    def close(self) -> None: ...


def list_warnings(params: Params) -> list[DataWarning]:
    """Return the warnings on valid files that need no metric; lists of replicates are models."""
    config, data = params.comparison_config.of_lists, evaluation_data(params)
    references = compute(params)
    labels = {each.k: each for each in config.labels}  # one of each cutoff, whose hits are counted
    task = build_task([*labels.values()], params.resolved_conventions, {})
    models = {model: _count(params, model, task) for model in params.models}
    replicates = config.replicates.get(config.baseline, {1: config.baseline})
    config = replace(config, baseline=next(iter(replicates.values())))
    overlap = data.train_overlap(of_requests=config.of_requests)
    _, notices = compare_lists(ComparisonInput(config, models, data))
    return [
        *list_sanity_warnings(config, models, data, references, overlap),
        *constant_score_warnings(config, models),
        *notices,
    ]


def _count(params: Params, model: str, task: Task) -> ModelResult:
    """Return the counts of a model's lists, without values."""
    data, files = model_data(params, model), ModelFiles.of_model(params.results, model)
    counted = evaluate_model(files.lists, data, task, choose_executor(params), _NoValues())
    summary = {**counted.counts_content(), "id_match": check_model_ids(params, model, data)}
    quality = load_json(files.quality, "")
    return ModelResult(files.lists, files.lists, files.lists, summary, quality)
