"""`make bench`: times of commands against bounds and peers; writes benchmarks/RESULTS.md."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import footprint, projects
from benchmarks.measured import (
    FOLDER,
    PEERS,
    Measured,
    best,
    command,
    contestant,
    interleaved,
    replace_section,
)
from benchmarks.tabulated import markdown_table
from benchmarks.workload import FULL, SMALL, TENTH, Files, make, write_trec

RESULTS = FOLDER / "RESULTS.md"
VERDICT, KERNEL = "From file to verdict", "The kernel and its peers"
IMPORT = (
    "import time; t, c = time.perf_counter(), time.process_time(); import concord; "
    "concord.evaluate; print(time.perf_counter() - t, time.process_time() - c)"
)
Row = tuple[str, Measured, float, str, bool]  # what, cost, figure, bound, is it kept?
STARTS = (
    "the figure of the stages holds two starts of Python with imports (0.6 s each), the panel and "
    "the files that they write; the peer's counts from the file to the means: see `x evaluate()`"
)
WHY = {  # where a bound is missed
    "concord run of two models: x dvc repro": (
        "the stages compute as much as in DVC: only imports and DVC's own work are saved"
    ),
    "rectools: times load + evaluate": STARTS,
    "pytrec_eval: times load + evaluate": STARTS,
    "evaluate() from raw parquet, integer ids: s": (
        "both cores are busy: half of the CPU time is DuckDB's join of rows and truth, a fifth "
        "checking the rows, a tenth scoring"
    ),
    "evaluate() of 1,000 users x 20, second call: ms": (
        "five statements of DuckDB, as for many rows, and three tables registered for them are "
        "half of it"
    ),
    "log of five models: s": (
        "three of the seconds are MLflow's: two its import, one making its database"
    ),
}


@dataclass(frozen=True)
class Workloads:
    """The files of all contestants."""

    integer: Files
    text: Files
    tenth: Files
    small: Files


def main() -> None:
    _install_peers()
    data = FOLDER / "data"
    files = Workloads(
        make(data, FULL, "integer"),
        make(data, FULL, "text"),
        make(data, TENTH, "integer"),
        make(data, SMALL, "integer"),
    )
    write_trec(files.integer)
    page = RESULTS.read_text(encoding="utf-8")
    page = replace_section(page, VERDICT, _verdict(files))
    page = replace_section(page, KERNEL, _kernel(files))
    RESULTS.write_text(page, encoding="utf-8", newline="\n")
    footprint.main()


def _install_peers() -> None:
    """Install the peers in another environment, as their requirements conflict with ours."""
    if (PEERS / "installed").exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
    lock = FOLDER / "peers.lock"
    pip = [str(PEERS / "bin" / "pip"), "install", "--quiet", "--require-hashes", "-r", str(lock)]
    subprocess.run(pip, check=True)
    (PEERS / "installed").touch()


def _contestant(name: str, files: Files) -> Measured:
    peer = name in {"rectools", "pytrec_eval", "pytrec_eval-files", "ranx"}
    python = PEERS / "bin" / "python" if peer else Path(sys.executable)
    return contestant(name, files.lists, files.truth, python=python)


def _verdict(files: Workloads) -> list[str]:
    """Return the section of waiting times."""
    join = best(3, partial(_contestant, "join", files.integer))
    rows = [("bare join by DuckDB", join, join.seconds, "", True), *_promises(files)]
    _print(rows)
    words = ("what", "wall, s", "CPU, s", "peak, MB", "x join", "figure", "bound", "")
    return [
        f"Made by `make bench`: {FULL.users:,} users x lists of 100, {FULL.truth_rows:,} rows of "
        "truth; P, R, AP, nDCG, RR at k = 1, 5, 10,",
        "20, 50, 100, users' values kept, all checks, the panel of two primary metrics. Stages "
        "and `dvc repro` are whole commands, their",
        "start and imports included; calls of the library and of peers count from the files to "
        "the means. The quickest of several.",
        *_machine(),
        "",
        *markdown_table(
            words,
            (
                (
                    name,
                    f"{m.seconds:.2f}",
                    f"{m.cpu:.2f}",
                    f"{m.peak:.0f}",
                    f"{m.seconds / join.seconds:.1f}",
                )
                + (
                    ("", "", "")
                    if not bound
                    else (f"{figure:.3g}", bound, "met" if is_met else "**missed**")
                )
                for name, m, figure, bound, is_met in rows
            ),
            text_columns=1,
        ),
        *_why([name for name, _, _, _, is_met in rows if not is_met]),
    ]


def _why(missed: list[str]) -> list[str]:
    lines = [
        f"- {name.partition(':')[0]}: {WHY.get(name, 'no reason is known yet')}." for name in missed
    ]
    return ["", "What is missed, and why:", "", *lines] if missed else []


def _promises(files: Workloads) -> Iterator[Row]:
    call = best(3, partial(_contestant, "library", files.integer))
    with TemporaryDirectory(dir=FOLDER / "data") as folder:
        yield from _files_to_means(files, Path(folder), call)
        yield from _whole_project(files, Path(folder))
        yield from _small_project(files, Path(folder))
    yield _row("evaluate() from raw parquet, integer ids: s", call, call.seconds, 1.5)
    yield _row("evaluate() from raw parquet, integer ids: MB", call, call.peak, 700)
    text = best(3, partial(_contestant, "library", files.text))
    yield "evaluate() from raw parquet, text ids", text, text.seconds, "", True
    small = best(9, partial(_contestant, "small", files.tenth))
    yield _row("evaluate() of 1,000 users x 20, second call: ms", small, small.seconds * 1e3, 15)
    imported = best(9, _imported)
    yield _row("import: s", imported, imported.seconds, 0.5)


def _files_to_means(files: Workloads, folder: Path, call: Measured) -> Iterator[Row]:
    """Yield the stages of one model and `evaluate()` beside libraries on the same files."""
    text = projects.make_project(folder / "text", files.text, 1)
    loaded = projects.stage(text, "load", "a")
    yield _row("load, text ids: s", loaded, loaded.seconds, 4)
    project = projects.make_project(folder / "integer", files.integer, 1)
    truth = projects.stage(project, "load-truth")
    yield "load-truth", truth, truth.seconds, "", True
    load, evaluate = (projects.stage(project, name, "a") for name in ("load", "evaluate"))
    yield _row("load, integer ids: s", load, load.seconds, 2.5)
    yield _row("evaluate: s", evaluate, evaluate.seconds, 3)
    concord_seconds = load.seconds + evaluate.seconds
    for name, bound in (("rectools", 3.0), ("pytrec_eval", 6.0)):
        peer = _contestant(name, files.integer)
        yield _row(
            f"{name}: times load + evaluate",
            peer,
            peer.seconds / concord_seconds,
            bound,
            least=True,
        )
        yield f"{name}: x evaluate(): {peer.seconds / call.seconds:.1f}", peer, 0.0, "", True


def _whole_project(files: Workloads, folder: Path) -> Iterator[Row]:
    """Yield `dvc repro` from scratch and without changes, and the stages over all models."""
    project = projects.make_project(folder / "project", files.integer, 2)
    everything = interleaved(
        2,
        {
            "repro": lambda: projects.repro(project, "--force", "--no-run-cache"),
            "run": lambda: projects.run(project, "--force"),
        },
    )
    repro, run = everything["repro"], everything["run"]
    yield _row("dvc repro of two models: s", repro, repro.seconds, 25)
    yield _row("concord run of two models: x dvc repro", run, run.seconds / repro.seconds, 0.5)
    projects.with_models(project, files.integer, 5)
    projects.repro(project)
    empty_stages = projects.bare_dvc(project, folder / "bare")
    idle = interleaved(
        5, {"ours": lambda: projects.repro(project), "bare": lambda: projects.repro(empty_stages)}
    )
    yield "dvc repro of as many empty stages, nothing to do", idle["bare"], 0.0, "", True
    more = idle["ours"].seconds - idle["bare"].seconds
    yield _row("dvc repro of five models, nothing to do: s above it", idle["ours"], more, 1.5)
    compare = projects.stage(project, "compare")
    yield "compare of five models", compare, compare.seconds, "", True
    report, logged = projects.stage(project, "report"), projects.log(project)
    yield _row("report of five models: s", report, report.seconds, 2)
    yield _row("log of five models: s", logged, logged.seconds, 3)


def _small_project(files: Workloads, folder: Path) -> Iterator[Row]:
    """Yield the cost of starting a process for each stage, and of DVC itself."""
    project = projects.make_project(folder / "small", files.small, 4)
    projects.repro(project)
    empty_stages = projects.bare_dvc(project, folder / "empty")
    again = ("--force", "--no-run-cache")
    costs = interleaved(
        3,
        {
            "repro": lambda: projects.repro(project, *again),
            "run": lambda: projects.run(project, "--force"),
            "empty": lambda: projects.repro(empty_stages, *again),
        },
    )
    yield "dvc repro of as many empty stages", costs["empty"], 0.0, "", True
    yield "concord run of four small models", costs["run"], 0.0, "", True
    ratio = costs["repro"].cpu / costs["run"].cpu
    yield _row("dvc repro of four small models: CPU, x concord run", costs["repro"], ratio, 3)


def _imported() -> Measured:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=FOLDER.parent,
    )
    seconds, cpu = map(float, done.stdout.split())
    return Measured(seconds, cpu, command(FOLDER.parent, sys.executable, "-c", IMPORT).peak)


def _row(name: str, cost: Measured, figure: float, bound: float, *, least: bool = False) -> Row:
    words = f"at {'least' if least else 'most'} {bound:g}"
    return name, cost, figure, words, figure >= bound if least else figure <= bound


def _kernel(files: Workloads) -> list[str]:
    """Return the section of computations beside other libraries, and of comparison beside scipy."""
    groups = (
        ("integer ids", files.integer, ("concord", "join", "concord-panel", "concord-polars"), 5),
        ("text ids", files.text, ("concord", "join"), 5),
        ("loading text ids", files.text, ("load", "bare-load"), 3),
        ("integer ids, peers", files.integer, ("rectools", "pytrec_eval", "pytrec_eval-files"), 1),
        ("a tenth", files.tenth, ("concord", "ranx"), 3),
    )
    costs = {
        workload: interleaved(
            times, {name: partial(_contestant, name, files_of_group) for name in names}
        )
        for workload, files_of_group, names, times in groups
    }
    integer, text, load = (costs[name] for name in ("integer ids", "text ids", "loading text ids"))
    concord_cost = integer["concord"]
    ratios = [
        ("time / bare join", concord_cost.seconds / integer["join"].seconds, 2.5),
        (
            "with the panel of two metrics / without",
            integer["concord-panel"].seconds / concord_cost.seconds,
            2,
        ),
        ("peak memory, MB", concord_cost.peak, 600),
        ("text ids / integer ids", text["concord"].seconds / concord_cost.seconds, 2),
        (
            "loading with all checks / reading, sorting and writing alone",
            load["load"].seconds / load["bare-load"].seconds,
            2,
        ),
    ]
    promises = [
        (promise, figure, f"at most {bound:g}", figure <= bound)
        for promise, figure, bound in ratios
    ]
    promises += _comparison()
    return [
        "Made by `make bench`: from sorted parquet to means; imports do not count. The quickest "
        "of several, taken in turn.",
        "",
        *markdown_table(
            ("workload", "contestant", "wall, s", "CPU, s", "peak, MB", "nDCG@10 (join: hits)"),
            (
                (
                    workload,
                    name,
                    f"{m.seconds:.2f}",
                    f"{m.cpu:.2f}",
                    f"{m.peak:.0f}",
                    f"{m.value:.6g}",
                )
                for workload, files_of_group in costs.items()
                for name, m in files_of_group.items()
            ),
            text_columns=2,
        ),
        "",
        *markdown_table(
            ("promise", "figure", "bound", ""),
            (
                (promise, f"{figure:.2f}", bound, "met" if is_kept else "**missed**")
                for promise, figure, bound, is_kept in promises
            ),
            text_columns=1,
        ),
    ]


def _comparison() -> list[tuple[str, float, str, bool]]:
    """Compare all pairs of six models on 12 metrics, in turn with scipy's paired t test."""
    seconds: dict[str, list[float]] = {"concord": [], "scipy": []}
    for _ in range(3):
        for name, times in seconds.items():
            words = [sys.executable, "-m", "benchmarks.comparison", name]
            done = subprocess.run(
                words, check=True, stdout=subprocess.PIPE, text=True, cwd=FOLDER.parent
            )
            times.append(json.loads(done.stdout.splitlines()[-1])["seconds"])
    concord_seconds, scipy_seconds = (min(times) for times in seconds.values())
    task = "comparison of 6 models x 12 metrics, all 180 pairs"
    return [
        (f"{task}, s", concord_seconds, "at most 3", concord_seconds <= 3),  # noqa: PLR2004
        (
            f"scipy.stats.ttest_rel / {task}",
            scipy_seconds / concord_seconds,
            "at least 1",
            scipy_seconds >= concord_seconds,
        ),
    ]


def _machine() -> list[str]:
    packages = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "polars", "numpy", "dvc"))
    return [f"{os.cpu_count()} cores, Python {platform.python_version()}, {packages}."]


def _print(rows: list[Row]) -> None:
    for name, cost, figure, bound, is_met in rows:
        bound_text = f"{figure:.3g} ({bound}) {'met' if is_met else 'MISSED'}" if bound else ""
        print(
            f"{name:<55}{cost.seconds:>8.2f} s{cost.cpu:>8.2f} s{cost.peak:>7.0f} MB  {bound_text}"
        )


if __name__ == "__main__":
    main()
