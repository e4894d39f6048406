"""Bad inputs and faults that Concord handles, by number, and the tests for them.

`python -m docs.robustness_rows` collects the tests and prints what they show as JSON.
"""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

TestedRows = dict[str, list[tuple[int, str, str]]]  # bad_input, fault -> row, test, behaviour

BAD_INPUTS = {
    1: "a file that is not there",
    2: "a file of no bytes",
    3: "a file of lists without rows",
    4: "parquet that was cut",
    5: "CSV under the name of parquet",
    6: "a column that is missing",
    7: "a column name twice",
    8: "another separator",
    9: "rows with too few or too many values",
    10: "a decimal comma",
    11: "bytes that are not UTF-8",
    12: "byte order mark, Windows line ends",
    13: "NUL in an id",
    14: "an item twice in a list",
    15: "a rank twice in a list",
    16: "a gap between ranks",
    17: "ranks from 0",
    18: "ranks and scores that disagree",
    19: "neither rank nor score",
    20: "NaN as score",
    21: "infinite scores",
    22: "a missing score or grade",
    23: "words as scores",
    24: "ties across the cutoff",
    25: "a missing id",
    26: "a blank id",
    27: "spaces around an id",
    28: "integers here, text there",
    29: "leading zeros of an id",
    30: "ids as floats",
    31: "integers beyond 64 bits",
    32: "one id in two Unicode forms",
    33: "ids that differ in capitals",
    34: "lists shorter than k",
    35: "lists longer than k",
    36: "users whom the truth does not know",
    37: "users without a list",
    38: "items that the catalogue lacks",
    39: "items of the train in the lists",
    40: "one file under two names",
    41: "model names that become one",
    42: "parts of different tables",
    43: "columns of lists or truth values",
    44: "wildcards in a file name",
    45: "an empty truth",
    46: "users without a relevant item",
    47: "an item judged twice",
    48: "negative grades",
    49: "grades with fractions",
    50: "grades too high for an exponential gain",
    51: "truth inside the train",
    52: "an unknown key in params.yaml",
    53: "a cutoff that is none",
    54: "a key twice in params.yaml",
    55: "words of YAML 1.1",
    56: "a value out of its range",
    57: "an id twice in catalogue or users",
    58: "what is empty in catalogue or users",
    59: "features that are none",
    60: "parts in folders of folders, partitions, tables of lakes",
    61: "Arrow streams that were cut, files in one another's tail",
    63: "scores beyond 2^53",
    64: "grades near the largest float, true and false",
    65: "whole numbers as `1.0` among ids",
    68: "columns of odd types",
    69: "a pipe, a socket, a device",
    70: "a line without end",
    71: "two ground truths in a repository",
    72: "several lists of a user, one a session",
    73: "a metric that the conventions rule out",
    74: "an input that a stage will make, or that DVC keeps elsewhere",
}
FAULTS = {
    1: "a stage is killed",
    2: "`dvc repro` is killed",
    3: "any write fails",
    4: "Ctrl-C, SIGTERM",
    5: "two `dvc repro` at once",
    6: "three processes create one MLflow database",
    7: "the MLflow database is locked",
    8: "the MLflow server is down",
    9: "it is slow",
    10: "it answers 500 or 429",
    11: "it refuses, or shows a login page",
    12: "it drops the connection in a batch",
    13: "the disk is full",
    14: "the disk is full where DuckDB spills",
    15: "memory ends",
    16: "a folder cannot be written to",
    17: "parquet with a flipped byte",
    18: "an input changes while it is read",
    19: "another hash seed",
    20: "other numbers of threads",
    21: "another locale, encoding or time zone",
    22: "the clock jumps",
    23: "a stage forgets an output",
    24: "NaN among the metrics",
    25: "an own metric writes to its lists, exits, raises or returns odd values",
    26: "MLflow does not hold the run that trained a model",
    40: "odd words, tags, signatures and settings in git",
    41: "an object of git that is missing or damaged",
    42: "merge conflict markers in dvc.lock",
    43: "a model by another name since the revision",
    44: "a result is damaged",
    45: "a result of another revision is damaged or replaced",
    31: "an option names a device or a foreign file to write",
    32: "an object store redirects to another server",
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


def main() -> None:
    """Collect the tests and print their rows as JSON."""
    collector = _Collector()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        root = Path(__file__).parents[1]
        code = pytest.main(
            ["--collect-only", "-q", "-p", "no:cacheprovider", str(root / "tests")],
            plugins=[collector],
        )
    if code:
        sys.exit(output.getvalue())
    print(json.dumps(collector.tested))


if __name__ == "__main__":
    main()
