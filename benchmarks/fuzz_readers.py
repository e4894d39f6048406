"""Fuzzer: read random input, which must give an InputError or the right rows.

    python -m benchmarks.fuzz_readers --minutes 60 --kind bytes

A case is reproduced by its number: `--first N --cases 1`. Kinds of cases (`fuzz_cases.KINDS`):

- `bytes`: valid files with changed bytes;
- `types`: columns of all Arrow types in every role;
- `folders`, `streams`, `shapes`: layouts of files;
- `held`: Python objects, through `concord.evaluate`;
- `own_metrics`: custom metrics that write, exit, raise or return odd values;
- `history`, `results`: histories of git and damaged results, through the commands that read them.

Rows are compared with those that the case states, or with a plain reading of the same bytes
(`benchmarks/plain_reading.py`). Cases run in a separate process, so that crashes and hangs are
reported, too.
"""

import argparse
import json
import os
import random
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks import (  # noqa: F401 - they register their kinds
    damaged_results,
    held_data,
    odd_files,
    odd_history,
    odd_metrics,
    odd_types,
)
from benchmarks.fuzz_cases import KINDS, Case
from benchmarks.plain_reading import compare
from concord.metrics_core.data.workers import THREADS_VARIABLE as THREADS
from concord.metrics_core.errors import InputError
from concord.pipeline.params.model import BackgroundFile
from concord.pipeline.running.connections import isolated_connection
from concord.pipeline.stages.load import load, load_background, load_truth
from tests.pipeline.stages.load_project import params_of

BATCH = 400  # cases per process
TIMEOUT = 300  # seconds per case; the first of `results` makes a project
EXPECTED_OUTCOMES = {"refused", "right", "unchecked"}


def main() -> None:
    """Run cases for some minutes and print the outcomes."""
    arguments = _parse_arguments()
    if arguments.worker:
        _run_cases(arguments.first, arguments.cases, arguments.kind)
        return
    ends = time.monotonic() + 60 * arguments.minutes
    counts: Counter[str] = Counter()
    first = arguments.first
    while time.monotonic() < ends if arguments.minutes else first == arguments.first:
        for outcome, case, message in outcomes(first, arguments.cases, arguments.kind):
            counts[outcome] += 1
            if outcome not in EXPECTED_OUTCOMES:
                print(f"case {case}: {outcome}: {message}", flush=True)
        first += arguments.cases
    print(
        f"{sum(counts.values()):,} inputs: "
        + ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(counts.items()))
    )


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=BATCH)
    parser.add_argument("--kind", choices=sorted(KINDS), default="bytes")
    parser.add_argument("--worker", action="store_true")
    return parser.parse_args()


def outcomes(first: int, cases: int, kind: str = "bytes") -> Iterator[tuple[str, int, str]]:
    """Yield outcome, number and message of each case.

    After a crash or a hang, a new process continues with the next case.
    """
    last = first + cases
    while first < last:
        command = [
            sys.executable,
            "-m",
            "benchmarks.fuzz_readers",
            "--worker",
            f"--kind={kind}",
            f"--first={first}",
            f"--cases={last - first}",
        ]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            lines = process.stdout
            while True:
                if not select.select([lines], [], [], TIMEOUT)[0]:
                    process.kill()
                    yield "hang", first, f"more than {TIMEOUT} s"
                    first += 1
                    break
                line = lines.readline()
                if not line:
                    if first < last:
                        yield "crash", first, f"exit code {process.wait()}"
                        first += 1
                    break
                outcome, case, message = json.loads(line)
                yield outcome, case, message
                first = case + 1


def _run_cases(first: int, cases: int, kind: str) -> None:
    os.environ[THREADS] = "1"
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + cases):
            case_folder = Path(folder, str(number))
            case_folder.mkdir()
            os.chdir(case_folder)
            outcome, message = _run(KINDS[kind](random.Random(number)))
            print(json.dumps([outcome, number, message]), flush=True)
            shutil.rmtree(case_folder)


def _run(case: Case) -> tuple[str, str]:
    rows = None
    try:
        if case.read:
            rows = case.read()
        else:
            _load(case)
    except InputError as error:
        message = str(error)
        if not case.allowed:
            return "refused in vain", message
        return (
            ("refused", "")
            if message.count("fix:") and "\x00" not in message
            else ("no words", message)
        )
    except Exception as error:
        return "traceback", f"{case.table} {case.path}: {type(error).__name__}: {error}"[:300]
    if case.allowed == "only refused":
        return "accepted", f"{case.table} {case.path}"
    return compare(case, rows)


def _load(case: Case) -> None:
    params = params_of(case.path)
    with isolated_connection() as connection:
        if case.table == "lists":
            load(connection, params, "m")
        elif case.table == "truth":
            load_truth(connection, params)
        else:
            file = BackgroundFile.model_validate({"path": case.path})
            params = params.model_copy(update={"background": {case.table: file}})
            load_background(connection, params, case.table)


if __name__ == "__main__":
    main()
