"""What a command costs: wall and CPU seconds, peak memory. Each is a process of its own, the best of several counts."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PEERS = HERE / ".peers" / "venv"
QUIET = {"DVC_NO_ANALYTICS": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}


@dataclass(frozen=True)
class Measured:
    """Of the process and of those that it waited for; `peak` in MB, of the largest of them."""

    seconds: float
    cpu: float
    peak: float
    value: float = float("nan")


def command(cwd: Path, *words: str, **environment: str) -> Measured:
    """A whole command, its start and its imports included."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, **QUIET, "PATH": programs, **environment}
    # Started by a process that is small: a program counts as its own peak what the one that started it had.
    between = [sys.executable, __file__, *words]
    done = subprocess.run(between, check=True, stdout=subprocess.PIPE, text=True, cwd=cwd, env=env)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def _between(words: Sequence[str]) -> dict[str, float]:
    """Runs a command; what it says is shown where it fails."""
    began = time.perf_counter()
    done = subprocess.run(words, check=False, capture_output=True)
    seconds = time.perf_counter() - began
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


def contestant(name: str, *paths: Path, python: Path = Path(sys.executable)) -> Measured:
    """A contestant's own figures: its imports do not count."""
    words = [str(python), "-m", "benchmarks.contestant", name, *map(str, paths)]
    print(f"  {name} …", file=sys.stderr, flush=True)
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent)
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def best(times: int, measure: Callable[[], Measured]) -> Measured:
    """The quickest of several; what else a machine does only makes them slower."""
    return min((measure() for _ in range(times)), key=lambda each: each.seconds)


def in_turn(times: int, contestants: dict[str, Callable[[], Measured]]) -> dict[str, Measured]:
    """The best of each, taken in turn, A B C A B C …, so that a machine that drifts is fair to all."""
    runs: dict[str, list[Measured]] = {name: [] for name in contestants}
    for _ in range(times):
        for name, measure in contestants.items():
            runs[name].append(measure())
    return {name: min(of, key=lambda each: each.seconds) for name, of in runs.items()}


SECTIONS = (  # of RESULTS.md, in their order
    "From file to verdict",
    "A billion rows on one machine",
    "Comparing many users",
    "Comparing many trainings",
    "On Spark, beside others",
    "The kernel and its peers",
    "What an install costs",
)


def replaced(page: str, heading: str, lines: Sequence[str]) -> str:
    """The page with this text below one of its headings, of which those that are there keep their order."""
    intro, *parts = page.split("\n## ")
    texts = dict(part.partition("\n")[::2] for part in parts)
    texts[heading] = "\n" + "\n".join(lines)
    ordered = [name for name in SECTIONS if name in texts]
    return "\n\n".join([intro.rstrip(), *(f"## {name}\n{texts[name].rstrip()}" for name in ordered)]) + "\n"  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(_between(sys.argv[1:])))
