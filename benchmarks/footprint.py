"""What an install costs: size, time to import and time to a first number, of Concord and of peers, each in an environment of its own.

`make bench` runs it; `python -m benchmarks.footprint` runs it alone and writes its section of benchmarks/RESULTS.md.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measured import replaced

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
HEADING = "What an install costs"
TIMES = 5
CONCORD = (
    "from concord import evaluate",
    "evaluate({'u': ['a', 'b']}, {'u': ['b']}, metrics=['nDCG@10'], conventions='standard')['nDCG@10']",
)
CONTESTANTS = {  # what is installed -> its import, and the nDCG@10 of the list a, b where b is relevant
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
TIMED = """
import json, time
began = time.process_time()
{0}
imported = time.process_time()
value = float({1})
print(json.dumps([imported - began, time.process_time() - began, value]))
"""


@dataclass
class Cost:
    """Packages and MB in site-packages; seconds of CPU, the best that was measured; the nDCG@10 that was computed."""

    version: str
    packages: int
    size: float
    imported: float
    first: float
    value: float


def section() -> list[str]:
    """The lines of RESULTS.md, measured."""
    with TemporaryDirectory() as folder:
        costs = _measured(Path(folder))
    return [
        f"Made by `python -m benchmarks.footprint`: fresh environments, newest versions that resolve, Python {sys.version.split()[0]}. Size of",
        f"site-packages without bytecode; seconds of CPU, best of {TIMES} taken in turn: `import` of what computes nDCG, and that with the nDCG@10 of one user",
        "(list a, b; b is relevant; their own definitions).",
        "",
        "| installed | version | packages | MB | import, s | to nDCG@10, s | nDCG@10 |",
        "|---|---|---:|---:|---:|---:|---:|",
        *(
            f"| {name} | {c.version} | {c.packages} | {c.size:.0f} | {c.imported:.2f} | {c.first:.2f} | {c.value:.4f} |"
            for name, c in costs.items()
        ),
    ]


def _measured(folder: Path) -> dict[str, Cost]:
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    (wheel,) = folder.glob("*.whl")
    costs = {}
    for name in CONTESTANTS:
        print(f"  installing {name} …", file=sys.stderr, flush=True)
        what = str(wheel) + name.removeprefix("concord-eval") if "concord" in name else name
        costs[name] = _installed(folder / name, what, name.partition("[")[0])
    for turn in range(TIMES + 1):
        for name, cost in costs.items():
            timed = TIMED.format(*CONTESTANTS[name])
            said = _run(str(folder / name / "bin" / "python"), "-c", timed, cwd=folder)
            imported, first, cost.value = json.loads(said.splitlines()[-1])
            if turn:  # the first writes bytecode
                cost.imported = min(cost.imported, imported)
                cost.first = min(cost.first, first)
    return costs


def _installed(folder: Path, what: str, name: str) -> Cost:
    _run("uv", "venv", "--quiet", "--python", sys.executable, str(folder))
    _run("uv", "pip", "install", "--quiet", "--python", str(folder), what)
    listed = _run("uv", "pip", "list", "--quiet", "--format", "json", "--python", str(folder))
    packages = {each["name"]: each["version"] for each in json.loads(listed)}
    files = (path for path in folder.glob("lib/*/site-packages/**/*") if path.is_file())
    size = sum(path.stat().st_size for path in files) / 1e6
    return Cost(packages[name], len(packages), size, float("inf"), float("inf"), float("nan"))


def _run(*command: str, cwd: Path = HERE.parent) -> str:
    plain = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=cwd, env=plain)
    return done.stdout


def main() -> None:
    page = RESULTS.read_text(encoding="utf-8")
    RESULTS.write_text(replaced(page, HEADING, section()), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
