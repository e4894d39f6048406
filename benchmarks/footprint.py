"""Cost of an install of Concord and its peers: size, time to import, time to a first number.

`make bench` runs it. `python -m benchmarks.footprint` writes its section of benchmarks/RESULTS.md.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measured import replace_section

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "RESULTS.md"
HEADING = "What an install costs"
REPEATS = 3
CONCORD = (
    "from concord import evaluate",
    "evaluate({'u': ['a', 'b']}, {'u': ['b']}, metrics=['nDCG@10'], conventions='standard')"
    "['nDCG@10']",
)
# Requirement -> its import, and the nDCG@10 of the list a, b if b is relevant.
CONTESTANTS = {
    "concord-eval": CONCORD,
    "concord-eval[all]": CONCORD,
    "ranx": (
        "from ranx import Qrels, Run, evaluate",
        "evaluate(Qrels({'u': {'b': 1}}), Run({'u': {'a': 2.0, 'b': 1.0}}), 'ndcg@10')",
    ),
    "ir-measures": (
        "from ir_measures import calc_aggregate, nDCG",
        "calc_aggregate([nDCG@10], {'u': {'b': 1}}, {'u': {'a': 2.0, 'b': 1.0}})[nDCG@10]",
    ),
    "rectools": (
        "import pandas as pd; from rectools.metrics import NDCG",
        "NDCG(k=10).calc(pd.DataFrame({'user_id': [1, 1], 'item_id': [1, 2], 'rank': [1, 2]}),"
        " pd.DataFrame({'user_id': [1], 'item_id': [2]}))",
    ),
}
SCRIPT = """
import json, time
began = time.process_time()
{0}
imported = time.process_time()
value = float({1})
print(json.dumps([imported - began, time.process_time() - began, value]))
"""


@dataclass
class Cost:
    """Packages, MB in site-packages, best seconds of CPU, and the computed nDCG@10."""

    version: str
    packages: int
    size: float
    imported: float
    first: float
    value: float


def section() -> list[str]:
    """Return the measured lines of RESULTS.md."""
    with TemporaryDirectory() as folder:
        costs = _measure(Path(folder))
    return [
        "Made by `python -m benchmarks.footprint`: fresh environments, newest versions that "
        f"resolve, Python {sys.version.split()[0]}. Size of",
        f"site-packages without bytecode; seconds of CPU, best of {REPEATS} taken in turn: "
        "`import` of what computes nDCG, and that with the nDCG@10 of one user",
        "(list a, b; b is relevant; their own definitions).",
        "",
        "| installed | version | packages | MB | import, s | to nDCG@10, s | nDCG@10 |",
        "|---|---|---:|---:|---:|---:|---:|",
        *(
            f"| {name} | {c.version} | {c.packages} | {c.size:.0f} | {c.imported:.2f} | "
            f"{c.first:.2f} | {c.value:.4f} |"
            for name, c in costs.items()
        ),
    ]


def _measure(folder: Path) -> dict[str, Cost]:
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    costs = {}
    for name in CONTESTANTS:
        print(f"  installing {name} …", file=sys.stderr, flush=True)
        requirement = str(wheel) + name.removeprefix("concord-eval") if "concord" in name else name
        costs[name] = _install(folder / name, requirement, name.partition("[")[0])
    for turn in range(REPEATS + 1):
        for name, cost in costs.items():
            timed = SCRIPT.format(*CONTESTANTS[name])
            output = _run(str(folder / name / "bin" / "python"), "-c", timed, cwd=folder)
            imported, first, cost.value = json.loads(output.splitlines()[-1])
            if turn:  # the first writes bytecode
                cost.imported = min(cost.imported, imported)
                cost.first = min(cost.first, first)
    return costs


def _install(folder: Path, requirement: str, name: str) -> Cost:
    _run("uv", "venv", "--quiet", "--python", sys.executable, str(folder))
    _run("uv", "pip", "install", "--quiet", "--python", str(folder), requirement)
    listed = _run("uv", "pip", "list", "--quiet", "--format", "json", "--python", str(folder))
    packages = {each["name"]: each["version"] for each in json.loads(listed)}
    files = (path for path in folder.glob("lib/*/site-packages/**/*") if path.is_file())
    size = sum(path.stat().st_size for path in files) / 1e6
    return Cost(packages[name], len(packages), size, float("inf"), float("inf"), float("nan"))


def _run(*command: str, cwd: Path = FOLDER.parent) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=cwd, env=environment
    )
    return done.stdout


def main() -> None:
    page = RESULTS.read_text(encoding="utf-8")
    RESULTS.write_text(replace_section(page, HEADING, section()), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
