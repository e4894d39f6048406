"""Stage `load-truth`: the truth as it was left -> user, item, grade, sorted; and what was found in it."""

from pathlib import Path

from duckdb import DuckDBPyConnection

from concord.metrics_core.reading.loaded import keep_truth, order_counts
from concord.metrics_core.reading.quality import in_numbers
from concord.pipeline.loading.input_files import policies, truth_file
from concord.pipeline.loading.sorted_parquet import described, keeping
from concord.pipeline.loading.unchanged import unchanged
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
    table = truth_file(params)
    kept = Path(params.results.data) / "truth.parquet"
    with unchanged(table.path) as refuse_changed:
        describe = keep_truth(
            connection,
            table,
            policies(params),
            keeping(kept, refuse_changed),
            place=order_counts(params.pinned),
            watch=counted,
        )
        quality = described(describe, kept, refuse_changed)
    write_json(Path(params.results.quality) / "truth.json", quality)
    return in_numbers(quality)
