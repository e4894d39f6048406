"""Results that are damaged, looked for after an error that no command or stage expects."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from concord.metrics_core.errors import InputError, Problem
from concord.metrics_core.files import load_json
from concord.pipeline.params.model import Results
from concord.pipeline.running.outputs import MAKE_AGAIN


def unreadable_results(results: Results) -> list[Problem]:
    """Return a problem for each result that is no valid JSON or parquet."""
    folders = {*vars(results).values()} - {results.report, results.mlflow}
    files = [path for folder in sorted(folders) for path in sorted(Path(folder).rglob("*"))]
    return [problem for path in files if not _holds_files(path) and (problem := _unreadable(path))]


def _holds_files(path: Path) -> bool:
    """True if it is a folder of results, such as the ground truth of folds; one in place of a file is empty."""
    return path.is_dir() and any(path.iterdir())


def _unreadable(path: Path) -> Problem | None:
    try:
        if path.suffix == ".json":
            load_json(path, MAKE_AGAIN)
        elif path.suffix == ".parquet":
            file = pq.ParquetFile(path)
            for group in range(file.num_row_groups):
                file.read_row_group(group).validate(full=True)
    except InputError as error:
        return error.problems[0]
    except (pa.ArrowException, OSError) as error:
        what = f"is damaged, no valid parquet: {' '.join(str(error).split())}"
        return Problem(str(path), what, MAKE_AGAIN)
    return None
