"""Cost of a command in a separate process: wall and CPU seconds, peak memory."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from benchmarks.workload import Files

FOLDER = Path(__file__).parent
Name = TypeVar("Name")
QUIET = {"DVC_NO_ANALYTICS": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}


@dataclass(frozen=True)
class Measured:
    """Cost of a process with its children; `peak` is that of the largest one, in MB."""

    seconds: float
    cpu: float
    peak: float
    value: float = float("nan")


def command(cwd: Path, *words: str, **environment: str) -> Measured:
    """Return the cost of a command, including its start and imports."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, **QUIET, "PATH": programs, **environment}
    # A small wrapper: the peak of a process includes that of the process that started it.
    wrapper = [sys.executable, __file__, *words]
    print(f"  {' '.join([Path(words[0]).name, *words[1:]])} …", file=sys.stderr, flush=True)
    done = subprocess.run(wrapper, check=True, stdout=subprocess.PIPE, text=True, cwd=cwd, env=env)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def _measure(words: Sequence[str]) -> dict[str, float]:
    """Run a command and return its cost; print its messages if it fails."""
    start = time.perf_counter()
    done = subprocess.run(words, check=False, capture_output=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        print(done.stderr.decode(errors="replace"), file=sys.stderr)
        sys.exit(done.returncode)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    kib = 1 if sys.platform == "darwin" else 1024
    return {
        "seconds": seconds,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * kib / 1e6,
    }


def process(
    module: str,
    *words: str | Path,
    python: Path | None = None,
    cores: int = 0,
    longest: float | None = None,
) -> Any:
    """Return the JSON that `python -m benchmarks.MODULE WORDS` prints in its last line.

    Parameters
    ----------
    python : Path, optional
        Of another environment.
    cores : int
        Number of cores that it may use; 0 for all.
    longest : float, optional
        Seconds after which it is stopped.

    Raises
    ------
    subprocess.TimeoutExpired
    """
    start = [str(python or sys.executable), "-m", f"benchmarks.{module}", *map(str, words)]
    limit = []
    if cores:
        allowed = sorted(os.sched_getaffinity(0))[:cores]
        limit = ["taskset", "-c", ",".join(map(str, allowed))]
    print(f"  {' '.join(map(str, [*limit, module, *words[:1]]))} …", file=sys.stderr, flush=True)
    done = subprocess.run(
        [*limit, *start],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if python else None,  # peers warn much
        text=True,
        cwd=FOLDER.parent,
        timeout=longest,
    )
    return json.loads(done.stdout.splitlines()[-1])


def contestant(name: str, files: "Files", *, cores: int = 0) -> Measured:
    """Return the cost that a contestant prints, without its imports."""
    return Measured(**process("contestant", name, files.lists, files.truth, cores=cores))


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Return the cost of a call in this process."""
    from concord.pipeline.running.messages import peak_memory

    start, cpu = time.perf_counter(), time.process_time()
    work()
    costs = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    return {**costs, "peak": (peak_memory() or 0) / 1e6}


def best(times: int, measure: Callable[[], Measured]) -> Measured:
    """Return the quickest of several runs: other processes only slow them down."""
    return min((measure() for _ in range(times)), key=lambda each: each.seconds)


def interleaved(
    times: int, contestants: Mapping[Name, Callable[[], Measured]]
) -> dict[Name, Measured]:
    """Return the fastest run of each, in the order A B C A B C …, so that drift affects all."""
    runs: dict[Name, list[Measured]] = {name: [] for name in contestants}
    for _ in range(times):
        for name, measure in contestants.items():
            runs[name].append(measure())
    return {name: min(costs, key=lambda each: each.seconds) for name, costs in runs.items()}


SECTIONS = (  # headings of RESULTS.md, in order
    "Small calls and the demo",
    "From files to means",
    "A project of two models",
    "Comparing models",
    "Beside other libraries",
    "A billion rows on one machine",
    "References",
    "Comparing many users",
    "Comparing many trainings",
    "On Spark, beside others",
    "What an install costs",
)


def replace_section(page: str, heading: str, lines: Sequence[str]) -> str:
    """Return the page with a new text below one of its headings."""
    intro, *parts = page.split("\n## ")
    texts = dict(part.partition("\n")[::2] for part in parts)
    texts[heading] = "\n" + "\n".join(lines)
    ordered = [name for name in SECTIONS if name in texts]
    sections = [f"## {name}\n{texts[name].rstrip()}" for name in ordered]
    return "\n\n".join([intro.rstrip(), *sections]) + "\n"


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1:])))
