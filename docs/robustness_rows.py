"""Bad inputs and faults that Concord handles, by number, and the tests for them.

`python -m docs.robustness_rows` collects the tests and prints what they show as JSON.
"""

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

TestedRows = dict[str, list[tuple[int, str, str]]]  # bad_input, fault -> row, test, behaviour

_NAMES_ROW = re.compile(r"mark\.(bad_input|fault)\b")

BAD_INPUTS = {
    1: "missing file",
    2: "empty file",
    3: "file of lists without rows",
    4: "truncated parquet",
    5: "CSV with the ending `.parquet`",
    6: "missing column",
    7: "repeated column name",
    8: "another separator",
    9: "too few or too many values in a row",
    10: "decimal comma",
    11: "bytes that are not UTF-8",
    12: "byte order mark, Windows line ends",
    13: "NUL in an id",
    14: "repeated item in a list",
    15: "repeated rank in a list",
    16: "gap between ranks",
    17: "ranks from 0",
    18: "ranks and scores that disagree",
    19: "neither rank nor score",
    20: "NaN as score",
    21: "infinite scores",
    22: "missing score or grade",
    23: "text as score",
    24: "ties across the cutoff",
    25: "missing id",
    26: "blank id",
    27: "spaces around an id",
    28: "integer ids in one table, text in another",
    29: "leading zeros of an id",
    30: "ids as floats",
    31: "integers beyond 64 bits",
    32: "ids that differ in Unicode form",
    33: "ids that differ in capitals",
    34: "lists shorter than k",
    35: "lists longer than k",
    36: "users without ground truth",
    37: "users without a list",
    38: "items that the catalogue lacks",
    39: "training items in the lists",
    40: "one file for two models",
    41: "model names that differ only in capitals, or are devices on Windows (`aux`)",
    42: "parts with different columns or types",
    43: "columns of lists, boolean ids",
    44: "wildcards in a file name",
    45: "empty ground truth",
    46: "users without a relevant item",
    47: "item judged twice",
    48: "negative grades",
    49: "grades with fractions",
    50: "grades too high for an exponential gain",
    51: "ground truth contained in the training set",
    52: "unknown key in params.yaml",
    53: "invalid cutoff",
    54: "repeated key in params.yaml",
    55: "YAML 1.1 words such as `no`",
    56: "value out of its range",
    57: "repeated id in catalogue or users",
    58: "empty cells in catalogue or users",
    59: "invalid item features",
    60: "nested folders, partitions, Delta, Hudi and Iceberg tables",
    61: "truncated Arrow streams, concatenated streams or parquet files",
    63: "scores beyond 2^53",
    64: "very large grades, true and false",
    65: "ids such as `1.0`",
    68: "unusual column types",
    69: "pipe, socket or device",
    70: "very long line",
    71: "two possible ground truths in a repository",
    72: "several lists per user, one per session",
    73: "metric without a value under the conventions",
    74: "input that a stage makes or that DVC keeps elsewhere",
}
FAULTS = {
    1: "a stage is killed",
    2: "`dvc repro` is killed",
    3: "a write fails",
    4: "Ctrl-C, SIGTERM",
    5: "two `dvc repro` at the same time",
    6: "three processes create one MLflow database",
    7: "the MLflow database is locked",
    8: "the MLflow server is down",
    9: "the MLflow server is slow",
    10: "it answers 500, 503 or 429",
    11: "it denies access or shows a login page",
    12: "the connection is lost, or `log` is interrupted",
    13: "the disk is full",
    14: "the disk is full where DuckDB spills",
    15: "memory is full",
    16: "a folder is not writable",
    17: "parquet with a flipped byte",
    18: "an input changes while it is read",
    19: "another hash seed",
    20: "other numbers of threads",
    21: "another locale, encoding or time zone",
    22: "a wrong clock",
    23: "a stage does not write an output",
    24: "NaN in results",
    25: "a custom metric writes to its arrays, exits, raises or returns invalid values",
    26: "MLflow lacks the training run of a model",
    31: "an option names a device or another program's file as output",
    32: "an object store redirects to another server",
    40: "unusual subjects, tags, signatures and settings in git",
    41: "missing or damaged git object",
    42: "merge conflict markers in dvc.lock",
    43: "a model renamed since the revision",
    44: "a damaged result",
    45: "a damaged or replaced result of another revision",
}


class _Collector:
    def __init__(self) -> None:
        self.tested: TestedRows = {"bad_input": [], "fault": []}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for kind, rows in self.tested.items():
                for marker in item.iter_markers(kind):
                    row, behaviour = marker.args
                    rows.append((row, item.nodeid, behaviour))


def collected() -> TestedRows:
    """Return the tested rows, collected in another process."""
    done = subprocess.run(
        [sys.executable, "-m", "docs.robustness_rows"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    tested: TestedRows = json.loads(done.stdout)
    return tested


def _files_with_rows() -> list[str]:
    """Return the test files that name a row; collecting all takes 30 seconds."""
    files = sorted((Path(__file__).parents[1] / "tests").rglob("test_*.py"))
    return [str(file) for file in files if _NAMES_ROW.search(file.read_text(encoding="utf-8"))]


def main() -> None:
    """Collect the tests and print their rows as JSON."""
    collector = _Collector()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = pytest.main(
            ["--collect-only", "-q", "-p", "no:cacheprovider", *_files_with_rows()],
            plugins=[collector],
        )
    if code:
        sys.exit(output.getvalue())
    print(json.dumps(collector.tested))


if __name__ == "__main__":
    main()
