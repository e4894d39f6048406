"""Read what chance has made: an InputError or a right answer, whatever comes.

    python -m benchmarks.fuzz_readers --minutes 60 --kind bytes

A case is a number: what is wrong can be seen again with `--first N --cases 1`. Kinds of cases (`fuzz_cases.KINDS`):
`bytes` of sound files are changed, `types` are those of Arrow in every role, `folders`, `streams` and
`shapes`; `held` is what people hold in Python, through `concord.evaluate`; `own_metrics` write, exit, raise and return
odd values; `history` are histories of git, and `results` results of a project, through the commands that read them.
Each answer is compared with what the case says it holds, or with a plain reading of the same bytes
(`benchmarks/plain_reading.py`). Crashes and hangs are told too: cases run in a process of their own.
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

from benchmarks import damaged_results, held_data, odd_files, odd_history, odd_metrics, odd_types  # noqa: F401 - they add their kinds
from benchmarks.fuzz_cases import KINDS, Case
from benchmarks.plain_reading import differs
from concord.metrics_core.errors import InputError
from concord.pipeline.params.model import BackgroundFile
from concord.pipeline.running.connections import THREADS_VARIABLE as THREADS
from concord.pipeline.running.connections import isolated_connection
from concord.pipeline.stages.load import load, load_background, load_truth
from tests.pipeline.stages.load_project import params_of

BATCH = 400  # cases a process
PATIENCE = 300  # seconds a case may take; the first of `results` makes a project
FINE = {"refused", "right", "unchecked"}


def main() -> None:
    """Run cases for some minutes and print what was found."""
    asked = _asked()
    if asked.worker:
        _work(asked.first, asked.cases, asked.kind)
        return
    ends = time.monotonic() + 60 * asked.minutes
    counts: Counter[str] = Counter()
    first = asked.first
    while time.monotonic() < ends if asked.minutes else first == asked.first:
        for outcome, case, said in outcomes(first, asked.cases, asked.kind):
            counts[outcome] += 1
            if outcome not in FINE:
                print(f"case {case}: {outcome}: {said}", flush=True)
        first += asked.cases
    print(
        f"{sum(counts.values()):,} inputs: "
        + ", ".join(f"{n:,} {outcome}" for outcome, n in sorted(counts.items()))
    )


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=BATCH)
    parser.add_argument("--kind", choices=sorted(KINDS), default="bytes")
    parser.add_argument("--worker", action="store_true")
    return parser.parse_args()


def outcomes(first: int, cases: int, kind: str = "bytes") -> Iterator[tuple[str, int, str]]:
    """What came of each case; after a crash or a hang another process goes on with the next one."""
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
                if not select.select([lines], [], [], PATIENCE)[0]:
                    process.kill()
                    yield "hang", first, f"more than {PATIENCE} s"
                    first += 1
                    break
                line = lines.readline()
                if not line:
                    if first < last:
                        yield "crash", first, f"exit code {process.wait()}"
                        first += 1
                    break
                outcome, case, said = json.loads(line)
                yield outcome, case, said
                first = case + 1


def _work(first: int, cases: int, kind: str) -> None:
    os.environ[THREADS] = "1"
    with tempfile.TemporaryDirectory() as folder:
        for number in range(first, first + cases):
            own = Path(folder, str(number))
            own.mkdir()
            os.chdir(own)
            outcome, said = _tried(KINDS[kind](random.Random(number)))
            print(json.dumps([outcome, number, said]), flush=True)
            shutil.rmtree(own)


def _tried(case: Case) -> tuple[str, str]:
    found = None
    try:
        if case.read:
            found = case.read()
        else:
            _load(case)
    except InputError as error:
        said = str(error)
        if not case.may:
            return "refused in vain", said
        return ("refused", "") if said.count("fix:") and "\x00" not in said else ("no words", said)
    except Exception as error:  # what the fuzzer looks for
        return "traceback", f"{case.what} {case.path}: {type(error).__name__}: {error}"[:300]
    if case.may == "only refused":
        return "accepted", f"{case.what} {case.path}"
    return differs(case, found)


def _load(case: Case) -> None:
    params = params_of(case.path)
    with isolated_connection() as connection:
        if case.what == "lists":
            load(connection, params, "m")
        elif case.what == "truth":
            load_truth(connection, params)
        else:
            file = BackgroundFile.model_validate({"path": case.path})
            known = params.model_copy(update={"background": {case.what: file}})
            load_background(connection, known, case.what)


if __name__ == "__main__":
    main()
