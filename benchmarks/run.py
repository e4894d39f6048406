"""`make bench`: runs every contestant, prints the ratios and writes benchmarks/RESULTS.md."""

import json
import os
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import footprint
from benchmarks.workload import FULL, TENTH, Files, make, write_trec

HERE = Path(__file__).parent
PEERS = HERE / ".peers" / "venv"
PEER_NAMES = {"rectools", "pytrec_eval", "pytrec_eval-files", "ranx"}


@dataclass(frozen=True)
class Measured:
    """Medians over the repetitions of one contestant."""

    seconds: float
    peak_mib: float
    value: float


def main() -> None:
    _install_peers()
    data = HERE / "data"
    integer, text, tenth = (
        make(data, FULL, "integer"),
        make(data, FULL, "text"),
        make(data, TENTH, "integer"),
    )
    write_trec(integer)
    rows = [
        (
            "integer ids",
            _paired(("concord", "join", "concord-panel", "concord-polars"), integer, 5),
        ),
        ("text ids", _paired(("concord", "join"), text, 5)),
        ("loading text ids", _paired(("load", "bare-load"), text, 3)),
        (
            "integer ids, peers",
            _paired(("rectools", "pytrec_eval", "pytrec_eval-files"), integer, 1),
        ),
        ("a tenth", _paired(("concord", "ranx"), tenth, 3)),
    ]
    measured = dict(rows)
    checks = [*_checks(measured), *_comparison_checks()]
    _print(rows, checks)
    results = _markdown(rows, checks) + footprint.section()
    (HERE / "RESULTS.md").write_text(results, encoding="utf-8", newline="\n")


def _install_peers() -> None:
    """The peers' requirements clash with ours, so they live in an environment of their own."""
    if (PEERS / "installed").exists():
        return
    subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True)
    lock = HERE / "peers.lock"
    pip = [str(PEERS / "bin" / "pip"), "install", "--quiet", "--require-hashes", "-r", str(lock)]
    subprocess.run(pip, check=True)
    (PEERS / "installed").touch()


def _paired(names: tuple[str, ...], files: Files, times: int) -> dict[str, Measured]:
    """The contestants in turn, A B C A B C …, so that a machine that drifts is fair to all."""
    runs: dict[str, list[Measured]] = {name: [] for name in names}
    for _ in range(times):
        for name in names:
            runs[name].append(_run(name, files))
    return {
        name: Measured(
            statistics.median(run.seconds for run in of),
            statistics.median(run.peak_mib for run in of),
            of[0].value,
        )
        for name, of in runs.items()
    }


def _run(name: str, files: Files) -> Measured:
    python = PEERS / "bin" / "python" if name in PEER_NAMES else Path(sys.executable)
    paths = (str(files.lists), str(files.truth))
    command = [str(python), "-m", "benchmarks.contestant", name, *paths]
    print(f"  {name} on {files.lists.name} …", file=sys.stderr, flush=True)
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent)
    return Measured(*json.loads(done.stdout.splitlines()[-1]).values())


def _checks(measured: dict[str, dict[str, Measured]]) -> list[tuple[str, float, str, bool]]:
    """What the design promises: (what, measured, bound, kept)."""
    ours, join = measured["integer ids"]["concord"], measured["integer ids"]["join"]
    text = measured["text ids"]["concord"]
    peers, loading = measured["integer ids, peers"], measured["loading text ids"]
    ratios = [
        ("time / bare join", ours.seconds / join.seconds, 2.5, "at most"),
        ("RecTools / time", peers["rectools"].seconds / ours.seconds, 10, "at least"),
        (
            "pytrec_eval from parquet / time",
            peers["pytrec_eval"].seconds / ours.seconds,
            40,
            "at least",
        ),
        (
            "pytrec_eval by its own reader / time",
            peers["pytrec_eval-files"].seconds / ours.seconds,
            40,
            "at least",
        ),
        (
            "with the panel of two metrics / without",
            measured["integer ids"]["concord-panel"].seconds / ours.seconds,
            2,
            "at most",
        ),
        ("peak memory, MiB", ours.peak_mib, 600, "at most"),
        (
            "loading with all checks / reading, sorting and writing alone",
            loading["load"].seconds / loading["bare-load"].seconds,
            2,
            "at most",
        ),
        ("text ids / integer ids", text.seconds / ours.seconds, 2, "at most"),
    ]
    return [
        (what, value, f"{word} {bound:g}", value <= bound if word == "at most" else value >= bound)
        for what, value, bound, word in ratios
    ]


def _comparison_checks() -> list[tuple[str, float, str, bool]]:
    """Six models, 12 metrics, all pairs; scipy's paired t in turn."""
    seconds: dict[str, list[float]] = {"concord": [], "scipy": []}
    for _ in range(3):
        for name, of in seconds.items():
            command = [sys.executable, "-m", "benchmarks.comparison", name]
            print(f"  {name} on six models …", file=sys.stderr, flush=True)
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, cwd=HERE.parent
            )
            of.append(json.loads(done.stdout.splitlines()[-1])["seconds"])
    ours, theirs = (statistics.median(of) for of in seconds.values())
    what = "comparison of 6 models × 12 metrics, all 180 pairs"
    return [
        (f"{what}, seconds", ours, "at most 3", ours <= 3),  # noqa: PLR2004
        (f"scipy.stats.ttest_rel / {what}", theirs / ours, "at least 1", theirs >= ours),
    ]


def _print(
    rows: list[tuple[str, dict[str, Measured]]], checks: list[tuple[str, float, str, bool]]
) -> None:
    table = Table("workload", "contestant", "seconds", "peak MiB", "nDCG@10 (join: hits)")
    for workload, contestants in rows:
        for name, run in contestants.items():
            table.add_row(
                workload, name, f"{run.seconds:.2f}", f"{run.peak_mib:.0f}", f"{run.value:.6g}"
            )
    promises = Table("promise", "measured", "bound", "kept")
    for what, value, bound, kept in checks:
        promises.add_row(what, f"{value:.2f}", bound, "yes" if kept else "NO")
    console = Console(width=100)
    console.print(table)
    console.print(promises)


def _markdown(
    rows: list[tuple[str, dict[str, Measured]]], checks: list[tuple[str, float, str, bool]]
) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "polars", "numpy"))
    lines = [
        "# Benchmarks",
        "",
        f"Made by `make bench`: {FULL.users:,} users × lists of 100, {FULL.truth_rows:,} rows of truth; P, R, AP, nDCG, RR at",
        "k = 1, 5, 10, 20, 50, 100, users' values kept. From parquet to means; imports do not count. Medians over the",
        "repetitions (5 for Concord and the join, taken in turn; 3 on a tenth; 1 for the slow peers on the full workload).",
        f"{os.cpu_count()} cores, Python {platform.python_version()}, {packages}.",
        "",
        "| workload | contestant | seconds | peak MiB | nDCG@10 (join: hits) |",
        "|---|---|---:|---:|---:|",
    ]
    for workload, contestants in rows:
        lines += [
            f"| {workload} | {name} | {run.seconds:.2f} | {run.peak_mib:.0f} | {run.value:.6g} |"
            for name, run in contestants.items()
        ]
    lines += ["", "| promise | measured | bound | kept |", "|---|---:|---:|---|"]
    lines += [
        f"| {what} | {value:.2f} | {bound} | {'yes' if kept else '**no**'} |"
        for what, value, bound, kept in checks
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
