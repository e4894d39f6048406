"""Kill `dvc repro` at random moments, run it again and compare: `python -m benchmarks.kill_points`.

Each trial starts from an empty or a partial state and kills a stage, `dvc repro` or all of it at a
random time; `--kills` is the number of runs that are killed. One more `dvc repro` must then give
the bytes of an undisturbed run, with one finished MLflow run per model.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from benchmarks.killing import Outcome, reference, trial
from tests.faults.small import demo_of_two_models
from tests.project import copied

ROOT = Path(__file__).parents[1]
SAVE_EVERY = 20  # trials


@dataclass
class Tally:
    """Outcomes of all trials so far; stored in a file."""

    path: Path
    start: float = field(default_factory=time.monotonic)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def add(self, outcome: Outcome) -> None:
        """Count one more trial, from any thread."""
        with self.lock:
            self.counts["trials"] += 1
            for strike in outcome.strikes:
                self.counts["kill points"] += strike.stage != "the end"
                self.counts[f"kill: {strike.kill}"] += 1
                self.counts[f"struck in: {strike.stage}"] += 1
                self.counts["files of DVC cut off"] += strike.cut_off
            self.counts[f"began from: {outcome.start}"] += 1
            self.counts["hidden .part files left"] += outcome.leftover
            self.seconds.append(outcome.completed_in)
            if outcome.wrong:
                self.counts["failed"] += 1
                self.failures.append(outcome.in_words())
                print(f"FAILED {outcome.in_words()}", flush=True)
            if self.counts["trials"] % SAVE_EVERY == 0:
                self.save()
                done, failed = self.counts["trials"], self.counts["failed"]
                print(f"{done} trials, {failed} failed", flush=True)

    def figures(self) -> dict[str, object]:
        """Return the figures that are stored as JSON."""
        seconds = sorted(self.seconds) or [0.0]
        return {
            "trials": self.counts["trials"],
            "kill points": self.counts["kill points"],
            "failed": self.counts["failed"],
            "hidden .part files left": self.counts["hidden .part files left"],
            "files of DVC cut off": self.counts["files of DVC cut off"],
            "minutes": round((time.monotonic() - self.start) / 60, 1),
            "median seconds to complete": round(seconds[len(seconds) // 2], 1),
            "longest seconds to complete": round(seconds[-1], 1),
            **{name: count for name, count in sorted(self.counts.items()) if ": " in name},
            "failures": self.failures,
        }

    def save(self) -> None:
        """Write the file atomically."""
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.figures(), indent=2) + "\n", encoding="utf-8")
        part.replace(self.path)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _arguments(arguments)
    if shutil.which("dvc") is None:
        sys.exit("dvc is not on the PATH; run `export PATH=$PWD/.venv/bin:$PATH` first")
    tally = Tally(options.out)
    with tempfile.TemporaryDirectory(prefix="concord-kill-points-") as folder:
        projects = _projects(Path(folder), options.jobs, whole_demo=options.whole_demo)
        expected = [reference(project) for project in projects]
        print(
            f"reference: {len(expected[0].digests)} files in {expected[0].seconds:.0f} s",
            flush=True,
        )
        if any(one.digests != expected[0].digests for one in expected):
            sys.exit("two undisturbed runs differ")
        numbers = iter(range(options.count))
        end = time.monotonic() + 60 * options.minutes

        def trials(project: Path) -> None:
            for number in numbers:
                if time.monotonic() > end:
                    return
                rng = random.Random(f"{options.seed}/{number}")
                tally.add(trial(project, expected[0], rng, number, options.kills))

        with ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(trials, projects))
    tally.save()
    print(json.dumps(tally.figures(), indent=2))
    return 1 if tally.failures or not tally.seconds else 0


def _projects(folder: Path, jobs: int, *, whole_demo: bool) -> list[Path]:
    projects = []
    for job in range(jobs):
        job_folder = folder / str(job)
        job_folder.mkdir()
        projects.append(copied(job_folder) if whole_demo else demo_of_two_models(job_folder))
    return projects


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kill_points", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="trials")
    parser.add_argument("--kills", type=int, default=1, help="kills before each complete run")
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="at most this long")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--jobs", type=int, default=2, help="projects at a time")
    parser.add_argument("--whole-demo", action="store_true", help="all models and metrics")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "kill_points.json")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
