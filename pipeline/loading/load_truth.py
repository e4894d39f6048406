"""Stage `load-truth`: the truth as it was left -> user, item, grade, sorted; and what was found in it.

Where folds have truths of their own, `truth.parquet` is a folder that holds a file a fold.
"""

from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.loaded_tables import keep_truth, order_counts
from concord.metrics_core.data.quality import in_numbers, of_folds
from concord.metrics_core.files import WHOLE
from concord.pipeline.loading.input_files import policies, truth_files
from concord.pipeline.loading.sorted_parquet import keeping
from concord.pipeline.params.model import Params
from concord.pipeline.params.read import read_params
from concord.pipeline.running.connections import workspace
from concord.pipeline.running.outputs import prepare, write_json
from concord.pipeline.running.progress import counted


def main() -> str:
    params = read_params()
    prepare(params.results, params.results.data, params.results.quality)
    with workspace() as connection:
        return load_truth(connection, params)


def load_truth(connection: DuckDBPyConnection, params: Params) -> str:
    """Write the truth and its quality file, on refusal neither; says what was read."""
    kept = Path(params.results.data) / "truth.parquet"
    found = {
        fold: _load(connection, params, table, kept if fold == WHOLE else kept / f"{fold}.parquet")
        for fold, table in truth_files(params).items()
    }
    quality = found[WHOLE] if WHOLE in found else of_folds(found)
    write_json(Path(params.results.quality) / "truth.json", quality)
    return in_numbers(quality)


def _load(
    connection: DuckDBPyConnection, params: Params, table: InputTable, kept: Path
) -> dict[str, Any]:
    place = order_counts(params.pinned)
    with keeping(kept, table.path) as keep:
        kept_truth = keep_truth(
            connection, table, policies(params), keep, place=place, watch=counted
        )
        return kept_truth.describe()
