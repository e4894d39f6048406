"""Break files at random and read them: an InputError or a right answer, whatever bytes come.

    python -m benchmarks.fuzz_readers --minutes 60

A case is a number: what is wrong can be seen again with `--first N --cases 1`. Each answer is compared with a plain
reading of the same bytes (`benchmarks/plain_reading.py`). Crashes and hangs are told too: cases run in a process of
their own.
"""

import argparse
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.broken_files import FILES, broken
from benchmarks.plain_reading import differs
from metrics_core.problems import InputError
from pipeline.load import load
from pipeline.load_background import load_background
from pipeline.load_truth import load_truth
from pipeline.loading.workspace import workspace
from pipeline.params import BackgroundFile, Params
from pipeline.threads import VARIABLE as THREADS
from tests.pipeline.load_project import params_of

BATCH = 400  # cases a process
PATIENCE = 30  # seconds a case may take


def main() -> None:
    """Run cases for some minutes and print what was found."""
    asked = _asked()
    if asked.worker:
        _work(asked.first, asked.cases)
        return
    ends = time.monotonic() + 60 * asked.minutes
    counts: Counter[str] = Counter()
    first = asked.first
    while time.monotonic() < ends if asked.minutes else first == asked.first:
        for kind, case, said in outcomes(first, asked.cases):
            counts[kind] += 1
            if kind not in {"refused", "right", "unchecked"}:
                print(f"case {case}: {kind}: {said}", flush=True)
        first += asked.cases
    print(
        f"{sum(counts.values()):,} inputs: "
        + ", ".join(f"{n:,} {kind}" for kind, n in sorted(counts.items()))
    )


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=BATCH)
    parser.add_argument("--worker", action="store_true")
    return parser.parse_args()


def outcomes(first: int, cases: int) -> Iterator[tuple[str, int, str]]:
    """What came of each case; after a crash or a hang another process goes on with the next one."""
    last = first + cases
    while first < last:
        command = [
            sys.executable,
            "-m",
            "benchmarks.fuzz_readers",
            "--worker",
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
                kind, case, said = json.loads(line)
                yield kind, case, said
                first = case + 1


def _work(first: int, cases: int) -> None:
    os.environ[THREADS] = "1"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for case in range(first, first + cases):
            kind, said = _tried(case)
            print(json.dumps([kind, case, said]), flush=True)


def _tried(case: int) -> tuple[str, str]:
    chance = random.Random(case)
    what, name = chance.choice(FILES)
    Path(name).write_bytes(broken(chance, what, name))
    params = _params(what, name)
    try:
        with workspace() as connection:
            if what == "lists":
                load(connection, params, "m")
            elif what == "truth":
                load_truth(connection, params)
            else:
                load_background(connection, params, what)
    except InputError as error:
        said = str(error)
        return ("refused", "") if said.count("fix:") and "\x00" not in said else ("no words", said)
    except Exception as error:  # what the fuzzer looks for
        return "traceback", f"{what} {name}: {type(error).__name__}: {error}"[:300]
    return differs(what, Path(name))


def _params(what: str, name: str) -> Params:
    params = params_of(name)
    if what in {"lists", "truth"}:
        return params
    file = BackgroundFile.model_validate({"path": name})
    return params.model_copy(update={"background": {what: file}})


if __name__ == "__main__":
    main()
