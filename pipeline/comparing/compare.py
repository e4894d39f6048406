"""Stage `compare`: users' values and summaries of all models -> comparison.json and its tables."""

from pathlib import Path

from concord.metrics_core.comparing.compute import compared
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparison.exports import exports
from concord.metrics_core.comparison.stored import to_json
from concord.pipeline.comparing.evaluations import ground_of, read_evaluations
from concord.pipeline.comparing.formulas import without_formulas
from concord.pipeline.params.asked import asked_of
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.announce import say
from concord.pipeline.running.outputs import prepare, write_csv, write_parquet, write_text
from concord.pipeline.running.removed_models import remove_background, remove_models

NAMES_AS_THEY_ARE = {"curves"}  # `dvc plots` reads it


def main() -> str:
    params = read_params()
    prepare(params.results, params.results.comparison)
    return compare(params)


def compare(params: Params) -> str:
    """Writes comparison.json, and each of its tables as CSV and parquet; says what was compared."""
    asked = asked_of(params)
    models = read_evaluations(params, asked.labels)
    remove_models(params)
    remove_background(params)
    comparison = compared(Evidence(asked, models, ground_of(params)))
    folder = Path(params.results.comparison)
    write_text(folder / "comparison.json", to_json(comparison))
    for name, table in exports(comparison).items():
        shown = table if name in NAMES_AS_THEY_ARE else without_formulas(table)
        write_csv(folder / f"{name}.csv", shown)
        write_parquet(folder / f"{name}.parquet", table)
    say(comparison.verdicts[0])
    return f"{len(models)} models, {len(comparison.pairs):,} comparisons"
