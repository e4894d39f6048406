"""`python -m benchmarks.replicates`: the stage `compare` of 20 models x 5 replicates.

138,000 users, with values of `benchmarks.many_users`. Writes its section of benchmarks/RESULTS.md.
"""

import json
import subprocess
import sys
from pathlib import Path
from shutil import rmtree

from benchmarks.many_users import Shape, make, project
from benchmarks.measured import FOLDER, replace_section, timed
from benchmarks.scale import GIB_4, RESULTS
from benchmarks.tabulated import markdown_table
from concord.pipeline.stages.compare import main as compare

USERS, MODELS, TRAININGS = 138_000, 20, 5
SECONDS = 30
HEADING = "Comparing many trainings"
NAMES = tuple(f"model-{n:02}" for n in range(MODELS))
SHAPE = Shape(
    lists=tuple(f"{name}-{r}" for name in NAMES for r in range(TRAININGS)),
    metrics=("P", "R", "AP", "nDCG", "RR", "Hit"),
    ks=(10,),
    comparison={"replicates": {name: f"{name}-*" for name in NAMES}, "baseline": NAMES[0]},
)


def main() -> None:
    if sys.argv[1:2] == ["--step"]:
        params = project(Path(sys.argv[2]), SHAPE)
        print(json.dumps(timed(lambda: compare(params))))
        return
    folder = FOLDER / "data" / "replicates"
    make(folder, USERS, SHAPE)
    command = [sys.executable, "-m", "benchmarks.replicates", "--step", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=FOLDER.parent)
    cost = json.loads(done.stdout.splitlines()[-1])
    rmtree(folder)
    is_met = cost["seconds"] <= SECONDS and cost["peak"] <= GIB_4
    row = (
        f"{cost['seconds']:.1f}",
        f"{cost['cpu']:.1f}",
        f"{cost['peak']:.0f}",
        "met" if is_met else "**missed**",
    )
    lines = [
        f"Made by `python -m benchmarks.replicates`: the stage `compare` of {MODELS} models x "
        f"{TRAININGS} trainings x",
        f"{USERS:,} users x {len(SHAPE.metrics)} metrics, with the panel of two primary ones and "
        "999 resamples.",
        "",
        *markdown_table(
            ("wall, s", "CPU, s", "peak, MB", f"at most {SECONDS} s and 4,295 MB"), [row]
        ),
    ]
    page = RESULTS.read_text(encoding="utf-8")
    RESULTS.write_text(replace_section(page, HEADING, lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
