"""`make bench`: costs of calls and commands, with bounds, and of peers, in one run.

    python -m benchmarks.run [--once] [SECTION …]

The sections are the keys of `SECTIONS`; all run by default. With `--once` nothing is repeated: a
trial, not a figure. Each section is stored in benchmarks/bench.json; then benchmarks/RESULTS.md and
the charts of docs/images are written from that file, which `python -m benchmarks.page` does alone.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import footprint, page, projects
from benchmarks.measured import (
    FOLDER,
    Measured,
    best,
    command,
    contestant,
    interleaved,
    process,
)
from benchmarks.peers import PEERS, Peer
from benchmarks.rows import Row, as_json, store
from benchmarks.workload import FEW, FULL, SMALL, TENTH, Size, as_csv, make, shuffled

DATA = FOLDER / "data"
ENVIRONMENTS = FOLDER / ".peers"
LONGEST = 180  # seconds of a peer; a slower one gets a tenth of the rows
DIGITS = 1e-9  # relative difference of means that count as equal


@dataclass(frozen=True)
class Sizes:
    """Sizes of the workloads; a test takes smaller ones, and measures once."""

    full: Size = FULL
    tenth: Size = TENTH
    few: Size = FEW
    small: Size = SMALL
    times: int = 5


MODELS = (20, 40)  # of a comparison


def calls(sizes: Sizes) -> Iterator[Row]:
    """Yield the costs that nobody wants to notice: imports, small calls, the help."""
    files, often = make(DATA, sizes.few, "integer"), 2 * sizes.times
    load = (sys.executable, "-c", "import concord; concord.evaluate")
    yield Row(
        "`import concord; concord.evaluate`", best(often, partial(command, FOLDER.parent, *load))
    )
    first = best(often, partial(contestant, "first call", files))
    yield Row("first call in a process", first, first.seconds, "s", 0.2)
    yield Row("growth of memory by it", None, first.value, "MB", 60)
    second = best(often, partial(contestant, "second call", files))
    yield Row("second call", second, second.seconds * 1e3, "ms", 10)
    help_page = best(often, partial(command, FOLDER.parent, "concord", "--help"))
    yield Row("`concord --help`", help_page, round(help_page.seconds, 2), "s", 0.05)


def demo(sizes: Sizes) -> Iterator[Row]:
    """Yield the costs of commands on the demo project."""
    with TemporaryDirectory(dir=DATA) as name:
        folder, times = Path(name), min(2, sizes.times)
        costs = interleaved(
            times,
            {
                "run": lambda: projects.run(projects.demo(folder)),
                "report": lambda: projects.run(projects.demo(folder / "report"), "report"),
            },
        )
        run = costs["run"]
        yield Row("`concord run` of the demo, from nothing", run, run.cpu, "s of CPU", 5)
        logging = run.cpu - costs["report"].cpu
        yield Row("of it MLflow: all but `concord run report`", None, logging, "s of CPU", 2)
        load = (sys.executable, "-c", "import mlflow")
        yield Row("`import mlflow` alone", best(times, partial(command, FOLDER.parent, *load)))
        project = projects.demo(folder)
        projects.run(project)
        effects = iter((0.01, 0.02, 0.03))

        def rerun() -> Measured:
            projects.change(project, "comparison.min_effect", next(effects))
            return projects.run(project)

        again = best(min(3, sizes.times), rerun)
        yield Row(
            "again, after a change of `comparison.min_effect`", again, again.seconds, "s", 1.5
        )
        repro = best(1, lambda: projects.repro(projects.demo(folder)))
        yield Row("`dvc repro` of the demo, from nothing", repro, repro.cpu, "s of CPU", 20)


def evaluate(sizes: Sizes) -> Iterator[Row]:
    """Yield the costs of `evaluate()`, beside those of a bare join; the first row is the join."""
    integer, text = (make(DATA, sizes.full, ids) for ids in ("integer", "text"))
    work = {
        "join": partial(contestant, "join", integer),
        "integer": partial(contestant, "evaluate", integer),
        "text": partial(contestant, "evaluate", text),
    }
    costs = interleaved(sizes.times, work)
    join, call = costs["join"], costs["integer"]
    yield Row("bare join", join)
    yield Row(
        "`evaluate()` of parquet, integer ids", call, call.seconds / join.seconds, "x join", 6
    )
    yield Row("its CPU time", None, call.cpu / join.cpu, "x that of the join", 5)
    yield Row("its peak", None, call.peak, "MB", 600)
    slower = costs["text"]
    yield Row(
        "`evaluate()` of parquet, text ids", slower, slower.seconds / join.seconds, "x join", 9
    )
    yield from _unsorted(sizes, call)
    _check_equal(costs, "integer", "text")


def _unsorted(sizes: Sizes, in_order: Measured) -> Iterator[Row]:
    """Yield the costs of the same rows in random order."""
    times = min(3, sizes.times)
    rows = shuffled(make(DATA, sizes.full, "integer"))
    mixed = best(times, partial(contestant, "evaluate", rows))
    ratio = mixed.seconds / in_order.seconds
    yield Row("`evaluate()` of parquet in random order", mixed, ratio, "x in order", 2)
    tenth = make(DATA, sizes.tenth, "integer")
    work = {
        "parquet": partial(contestant, "evaluate", tenth),
        "csv": partial(contestant, "evaluate", as_csv(tenth)),
        "mixed": partial(contestant, "evaluate", as_csv(shuffled(tenth))),
    }
    costs = interleaved(times, work)
    yield Row("`evaluate()` of a tenth as CSV, in order", costs["csv"])
    ratio = costs["mixed"].seconds / costs["csv"].seconds
    yield Row(
        "`evaluate()` of a tenth as CSV, in random order", costs["mixed"], ratio, "x in order", 2
    )
    _check_equal({"in order": in_order, "mixed": mixed}, "in order", "mixed")
    _check_equal(costs, "parquet", "csv", "mixed")


def cores(sizes: Sizes) -> dict[str, Any]:
    """Return the costs of `evaluate()` and of the join on 1, 2, 4, … cores."""
    files = make(DATA, sizes.full, "integer")
    numbers = [n for n in (1, 2, 4, 8, 16) if n <= (os.cpu_count() or 1)]
    if not shutil.which("taskset"):
        return {"rows": [], "costs": {}}
    works = {
        (name, n): partial(contestant, name, files, cores=n)
        for name in ("evaluate", "join")
        for n in numbers
    }
    costs = interleaved(sizes.times, works)
    _check_equal(costs, *(("evaluate", n) for n in numbers))
    rows = []
    for (name, n), cost in costs.items():
        what = {"evaluate": "`evaluate()`", "join": "bare join"}[name]
        row = Row(f"{what} on {'one core' if n == 1 else f'{n} cores'}", cost)
        if n > 1:
            is_bounded = (name, n) == ("evaluate", 2)
            times = costs[name, 1].seconds / cost.seconds
            row = replace(
                row,
                figure=times,
                unit="x as fast as one core",
                bound=1.7 if is_bounded else None,
                is_least=True,
            )
        rows.append(row)
        print(page.line(row), flush=True)
    return {
        "rows": as_json(rows),
        "costs": {
            name: {str(n): asdict(costs[name, n]) for n in numbers} for name in ("evaluate", "join")
        },
    }


def _check_equal(costs: Mapping[Any, Measured], *names: Any) -> None:
    values = {name: costs[name].value for name in names}
    if len({*values.values()}) > 1:
        message = f"The means differ, and should be equal to the last bit: {values}"
        raise RuntimeError(message)


def project(sizes: Sizes) -> Iterator[Row]:
    """Yield the costs of whole commands on a project of two models; the first row is the join."""
    files = make(DATA, sizes.full, "integer")
    join = best(sizes.times, partial(contestant, "join", files))
    yield Row("bare join", join)
    with TemporaryDirectory(dir=DATA) as name:
        folder, times = Path(name), min(3, sizes.times)
        full = projects.make_project(folder / "full", files)
        yield Row("`load-truth`", best(times, lambda: projects.stage(full, "load-truth")))
        load, scoring = (
            best(times, partial(projects.stage, full, stage, projects.MODELS[0]))
            for stage in ("load", "evaluate")
        )
        yield Row("`load` of a model", load)
        ratio = (load.seconds + scoring.seconds) / join.seconds
        yield Row("`evaluate` of a model", scoring)
        yield Row("the two together", None, ratio, "x join", 12)
        few = projects.make_project(folder / "few", make(DATA, sizes.small, "integer"))
        whole, start = (_whole(path, min(2, times)) for path in (full, few))
    run, repro = whole["run"], whole["repro"]
    yield Row("`dvc repro` of both models", repro)
    yield Row("`concord run` of both", run, run.seconds / repro.seconds, "x dvc repro", 0.5)
    for command_name, cost in start.items():
        share = cost.seconds / whole[command_name].seconds
        words = {"repro": "dvc repro", "run": "concord run"}[command_name]
        what = f"`{words}` of {sizes.small.users} users: starts, imports, DVC, MLflow"
        yield Row(what, cost, 100 * share, f"% of `{words}`")


def _whole(path: Path, times: int) -> dict[str, Measured]:
    """Return the costs of `dvc repro` and `concord run`, all stages forced."""
    return interleaved(
        times,
        {
            "repro": lambda: projects.repro(path, "--force", "--no-run-cache"),
            "run": lambda: projects.run(path, "--force"),
        },
    )


def compare(_: Sizes) -> Iterator[Row]:
    """Yield the costs of a comparison by number of models."""
    few, many = (Measured(**process("many_models", str(models))) for models in MODELS)
    for models, cost in zip(MODELS, (few, many), strict=True):
        yield Row(f"`compare` of {models} models x 10 labels x 100,000 users", cost)
    fewer, more = MODELS
    yield Row(f"CPU time of {fewer} models", None, few.cpu, "s of CPU", 5)
    times = f"CPU time of {more} models, x that of {fewer}"
    yield Row(times, None, many.cpu / few.cpu, "x", 1.1 * more / fewer)


def peers(sizes: Sizes) -> dict[str, Any]:
    """Return the costs of Concord and its peers on the same files, each with its definitions."""
    from concord import evaluate as concord_evaluate

    files, tenth = (make(DATA, size, "integer") for size in (sizes.full, sizes.tenth))
    ours = best(sizes.times, partial(contestant, "evaluate", files))
    labels = len(page.LABELS)
    rows = [{"name": "Concord", **asdict(ours), "labels": labels, "users": sizes.full.users}]
    for name, peer in PEERS.items():
        python = _environment(peer.lock)
        cost = process("peers", name, tenth.lists, tenth.truth, python=python)
        size, its_files = sizes.tenth, tenth
        if cost["seconds"] * sizes.full.users / sizes.tenth.users <= LONGEST:
            with suppress(subprocess.TimeoutExpired):
                paths = (files.lists, files.truth)
                cost = process("peers", name, *paths, python=python, longest=2 * LONGEST)
                size, its_files = sizes.full, files
        expected = concord_evaluate(
            its_files.lists, its_files.truth, metrics=["nDCG@10"], conventions=peer.preset
        )["nDCG@10"]
        is_equal = abs(cost["value"] - expected) <= DIGITS * expected
        rows.append(
            {
                "name": name,
                **cost,
                "users": size.users,
                "version": _locked_version(peer),
                "preset": peer.preset,
                "missing": peer.missing,
                "expected": expected,
                "is_equal": is_equal,
            }
        )
        print(f"{name:<20}{cost['seconds']:>8.2f} s{cost['peak']:>7.0f} MB", flush=True)
    return {"rows": rows, "full": sizes.full.users}


def _environment(lock: str) -> Path:
    """Return the Python of an environment of peers, whose requirements conflict with ours."""
    folder = ENVIRONMENTS / lock.replace("peers", "venv")
    python, requirements = folder / "bin" / "python", FOLDER / f"{lock}.lock"
    installed = folder / "installed"
    if not installed.exists() or installed.read_bytes() != requirements.read_bytes():
        pip = ("uv", "pip", "install", "--quiet", "--python", str(python), "--require-hashes", "-r")
        subprocess.run(
            ["uv", "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True
        )
        subprocess.run([*pip, requirements], check=True)
        shutil.copy(requirements, installed)
    return python


def _locked_version(peer: Peer) -> str:
    lines = (FOLDER / f"{peer.lock}.lock").read_text(encoding="utf-8").splitlines()
    start = f"{peer.package}=="
    return next(line.split()[0].removeprefix(start) for line in lines if line.startswith(start))


def _tables(measure: Callable[[Sizes], Iterator[Row]], sizes: Sizes) -> dict[str, Any]:
    """Return the rows of a section; print them as they come."""
    rows = []
    for row in measure(sizes):
        rows.append(row)
        print(page.line(row), flush=True)
    return {"rows": as_json(rows)}


SECTIONS: Mapping[str, Callable[[Sizes], dict[str, Any]]] = {
    "calls": partial(_tables, calls),
    "demo": partial(_tables, demo),
    "evaluate": partial(_tables, evaluate),
    "cores": cores,
    "project": partial(_tables, project),
    "compare": partial(_tables, compare),
    "peers": peers,
}


def main() -> None:
    arguments = sys.argv[1:]
    sizes = Sizes(times=1) if "--once" in arguments else Sizes()
    names = [each for each in arguments if each != "--once"] or [*SECTIONS, "install"]
    if unknown := {*names} - {*SECTIONS, "install"}:
        sys.exit(f"unknown section {', '.join(unknown)}; there are {', '.join(SECTIONS)}, install")
    DATA.mkdir(exist_ok=True)
    load = os.getloadavg()[0]
    print(f"load average {load:.1f}{', not at rest' if load > page.AT_REST else ''}", flush=True)
    for name in names:
        start = time.perf_counter()
        print(f"\n{name}", flush=True)
        if name == "install":
            footprint.main()
        else:
            store(name, SECTIONS[name](sizes), load)
        print(f"{name}: {(time.perf_counter() - start) / 60:.1f} minutes", flush=True)
    page.main()


if __name__ == "__main__":
    main()
