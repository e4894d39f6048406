"""Stage `compare`: write comparison.json and its tables."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from concord.metrics_core.comparison.compute import build_comparison, build_value_comparison
from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.inputs import ComparisonInput
from concord.metrics_core.comparison.replicates import with_replicates
from concord.metrics_core.decision.write_decision import write_decision
from concord.metrics_core.evaluation.accumulator import build_panels
from concord.metrics_core.results.exported_tables import export_tables
from concord.metrics_core.results.stored import CASES, DECISION, cases_to_json, to_json
from concord.pipeline.params.model import Params
from concord.pipeline.running.messages import Progress
from concord.pipeline.running.outputs import (
    atomic_write,
    escape_formulas,
    prepare_folders,
    remove_background,
    remove_models,
    write_csv,
    write_parquet,
    write_text,
)
from concord.pipeline.stages.evaluation_data import evaluation_data
from concord.pipeline.stages.evaluations import (
    cases_for_report,
    read_evaluations,
    stored_references,
)

UNESCAPED = {"curves"}  # `dvc plots` reads it


def main(params: Params) -> str:
    """Write comparison.json, and each of its tables as CSV and parquet; return counts as text."""
    prepare_folders(params.results, params.results.comparison)
    config = params.comparison_config
    gate_labels = config.gate.labels if config.gate else ()
    lists, config = read_evaluations(params, config, [*config.primary, *gate_labels])
    models = with_replicates(lists, config)
    remove_models(params)
    remove_background(params)
    with Progress("compare", "labels", _labels_read(config)) as progress:
        on_label_read = partial(progress.advance, 1)
        inputs = ComparisonInput(
            config, models, evaluation_data(params), on_label_read, stored_references(params)
        )
        if params.has_values:
            comparison = build_value_comparison(inputs, params.metrics)
        else:
            comparison = build_comparison(inputs)
    if params.comparison.cases == []:
        checks = tuple(replace(each, examples=()) for each in comparison.checks)
        comparison = replace(comparison, checks=checks)
    folder = Path(params.results.comparison)
    write_text(folder / "comparison.json", to_json(comparison))
    with atomic_write(folder / DECISION) as temporary:
        write_decision(temporary, comparison, inputs)
    cases = cases_for_report(params, config, comparison)
    if cases is None:
        (folder / CASES).unlink(missing_ok=True)
    else:
        write_text(folder / CASES, cases_to_json(cases))
    for name, table in export_tables(comparison).items():
        escaped = table if name in UNESCAPED else escape_formulas(table)
        write_csv(folder / f"{name}.csv", escaped)
        write_parquet(folder / f"{name}.parquet", table)
    return f"{len(models)} models, {len(comparison.pairs):,} comparisons"


def _labels_read(config: ComparisonConfig) -> int:
    """Return the approximate number of reads: all labels once, primary labels again."""
    per_user = [label for label in config.labels if not label.metric.is_aggregate]
    panels = build_panels(config.labels, config.primary, config.conventions) if config.panel else {}
    repeated = len(config.primary) * (1 + len(config.segments))
    return len(per_user) + repeated + sum(len(panel.definitions) for panel in panels.values())
