"""`python -m benchmarks.page`: RESULTS.md and its charts from the stored measurements."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import scale
from benchmarks.charts import write_charts
from benchmarks.measured import FOLDER, Measured, replace_section
from benchmarks.rows import Row, from_json, stored
from benchmarks.tabulated import markdown_table
from benchmarks.workload import FULL, KS, METRICS

RESULTS = FOLDER / "RESULTS.md"
LABELS = [f"{name}@{k}" for name in METRICS for k in KS]
WHY = {  # row -> why its bound is missed: a measured fact
    "growth of memory by it": (
        "DuckDB's database takes 32 MB of it, polars' first query 16, scipy.special 14"
    ),
    "second call": "23 small queries of polars, for ids and few rows, are a third of it",
    "`concord --help`": "a start of Python alone takes 0.026 s",
    "`concord run` of the demo, from nothing": (
        "in a profile MLflow takes 32 %, the stage compare 25 % (a quarter of it for "
        "decision.concord), the evaluation of five models 15 %, the report 11 %"
    ),
    "of it MLflow: all but `concord run report`": (
        "most is its import, which is the next row; the rest makes its database and the runs"
    ),
    "again, after a change of `comparison.min_effect`": (
        "the import of MLflow is a third of it; compare, report and log follow"
    ),
    "`dvc repro` of the demo, from nothing": (
        "each of its 18 stages is a process that imports Concord, the first row of this table"
    ),
    "`evaluate()` of parquet, integer ids": (
        "imports at the first use, such as scipy.special (0.2 s), count; further calls of a "
        "process take 1.3 to 1.4 s"
    ),
    "its peak": (
        "allocators keep memory for every thread: with `MALLOC_MMAP_THRESHOLD_=200000` and Arrow's "
        "system allocator it was 553 MB"
    ),
    "`evaluate()` of parquet, text ids": (
        "checks of ids and texts made of codes, for the rows that are kept, are 0.6 s of CPU"
    ),
    "`evaluate()` of parquet in random order": (
        "DuckDB's sort takes as much CPU as the evaluation of sorted rows"
    ),
    "`evaluate()` on 2 cores": (
        "imports at the first use, the ground truth, summaries and warnings take one core: 0.5 s "
        "of the first call"
    ),
    "the two together": (
        "two starts with imports of 0.5 s; the panel has 47 columns instead of 30, and scoring is "
        "half of the CPU of `evaluate`"
    ),
    "`concord run` of both": (
        "the stages compute as much as in DVC: starts, imports and DVC's own work are saved"
    ),
}
ROWS = ("calls", "demo", "evaluate", "cores", "project", "compare")  # sections of bench.json
AT_REST = 1.0  # load average
Cells = tuple[str, ...]


def main() -> None:
    """Write the sections that `make bench` measures, and the charts."""
    bench = stored()
    page = RESULTS.read_text(encoding="utf-8")
    for heading, lines in sections(bench).items():
        page = replace_section(page, heading, lines)
    page = replace_section(page, scale.HEADING, scale.section(scale.measured()))
    RESULTS.write_text(page, encoding="utf-8", newline="\n")
    write_charts(bench, scale.measured())


def sections(bench: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return heading -> lines of RESULTS.md."""
    rows = {name: from_json(bench[name]["rows"]) for name in ROWS}
    return {
        "Small calls and the demo": [
            *_busy(bench),
            f"Made by `make bench` on {_machine(bench['machine'])} Calls are on frames of 1,000 "
            "users x 20, without imports;",
            "commands are whole processes. The quickest of several.",
            "",
            *table([*rows["calls"], *rows["demo"]]),
        ],
        "From files to means": [
            f"Made by `make bench`: {FULL.users:,} users x lists of 100, {FULL.truth_rows:,} rows "
            f"of truth, {len(LABELS)} labels: P, R, AP, nDCG and RR at k = 1, 5,",
            "10, 20, 50, 100; all checks. The unit is the bare join by DuckDB, `SELECT count(*) "
            "FROM lists JOIN truth USING (user, item)`",
            "on the same two parquet files through an open connection. Imports do not count.",
            "",
            *table([*rows["evaluate"], *rows["cores"]], join=rows["evaluate"][0].cost),
            "",
            "![Seconds of evaluate() and of the join by cores](../docs/images/bench-cores.svg)",
        ],
        "A project of two models": [
            "Made by `make bench` on the same rows, with users' values, the panel of two primary "
            "metrics, report and MLflow. Commands are",
            "whole processes: their start and imports count.",
            "",
            *table(rows["project"], join=rows["project"][0].cost),
        ],
        **({"Comparing models": _compare(rows["compare"])} if rows["compare"] else {}),
        "Beside other libraries": _peers(bench["peers"]["rows"], bench["peers"]["full"]),
    }


def line(row: Row) -> str:
    """Return a row for the terminal."""
    cost = f"{row.cost.seconds:>8.3f} s{row.cost.cpu:>8.3f} s" if row.cost else " " * 20
    return f"  {row.what:<66}{cost}  {' '.join(_figure(row))}"


def _busy(bench: Mapping[str, Any]) -> list[str]:
    """Return a note if the machine did other work."""
    load = max(content.get("load", 0.0) for content in bench.values())
    if load <= AT_REST:
        return []
    note = "The machine did other work during this run of `make bench`, which will be made again"
    return [f"**{note} at rest** (load average before it: {load:.1f}).", ""]


def _machine(machine: Mapping[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return (
        f"{machine['cores']} cores ({machine['processor']}), Python {machine['python']}, "
        f"{packages}."
    )


def table(
    rows: Sequence[Row], why: Mapping[str, str] = WHY, join: Measured | None = None
) -> list[str]:
    """Return a table, and why bounds are missed.

    Parameters
    ----------
    rows : sequence of Row
        What was measured.
    why : mapping of str to str
        What -> why its bound is missed.
    join : Measured, optional
        Cost of the bare join, the unit of two more columns.
    """
    unit = ("x join", "x its CPU") if join else ()
    words = ("what", "wall, s", "CPU, s", "peak, MB", *unit, "figure", "bound", "")
    cells = [(row.what, *_cost(row.cost, join), *_figure(row)) for row in rows]
    missed = [row.what for row in rows if row.is_missed]
    reasons = [f"- {what}: {why[what]}." for what in missed if what in why]
    if unknown := [what for what in missed if what not in why]:
        reasons.append(f"- Not explained yet: {'; '.join(unknown)}.")
    if reasons:
        reasons = ["", "What is missed, and why:", "", *reasons]
    return [*markdown_table(words, cells, text_columns=1), *reasons]


def _cost(cost: Measured | None, join: Measured | None) -> Cells:
    if cost is None:
        return ("",) * (5 if join else 3)
    digits = 2 if cost.seconds >= 0.1 else 3  # noqa: PLR2004
    ratios = (cost.seconds / join.seconds, cost.cpu / join.cpu) if join else ()
    return (
        f"{cost.seconds:.{digits}f}",
        f"{cost.cpu:.{digits}f}",
        f"{cost.peak:.0f}",
        *(f"{ratio:.1f}" for ratio in ratios),
    )


def _figure(row: Row) -> Cells:
    """Return figure, bound, and whether it is met."""
    if row.figure is None:
        return ("", "", "")
    figure = f"{row.figure:.3g} {row.unit}"
    if row.bound is None:
        return (figure, "", "")
    bound = f"at {'least' if row.is_least else 'most'} {row.bound:g}"
    return (figure, bound, "**missed**" if row.is_missed else "met")


def _compare(rows: Sequence[Row]) -> list[str]:
    return [
        "Made by `make bench`: differences of all pairs with the baseline or the best model, from "
        "users' values to verdicts.",
        "",
        *table(rows),
    ]


def _peers(rows: Sequence[Mapping[str, Any]], full: int) -> list[str]:
    ours = next(row for row in rows if row["name"] == "Concord")
    incomplete = [f"{row['name']} has no {row['missing']}" for row in rows if row.get("missing")]
    return [
        "![Bars of the seconds that Concord and its peers take](../docs/images/bench-peers.svg)",
        "",
        "Made by `make bench` on the same files, integer ids, in the same run: from the files to "
        f"the means of {len(LABELS)} labels; imports and compilation",
        "do not count. Definitions differ: each nDCG@10 is compared with that of Concord under the "
        "preset that is named. Polars by hand",
        f"is a script without any check. {'; '.join(incomplete)}.",
        "",
        *markdown_table(
            ("", "version", "wall, s", "CPU, s", "peak, MB", "x Concord", "nDCG@10", "as Concord"),
            [
                (
                    row["name"] if row["users"] == full else f"{row['name']}, a tenth of the users",
                    row.get("version", ""),
                    f"{row['seconds']:.2f}",
                    f"{row['cpu']:.2f}",
                    f"{row['peak']:.0f}",
                    f"{row['seconds'] * full / row['users'] / ours['seconds']:.1f}",
                    f"{row['value']:.6f}",
                    _agreement(row),
                )
                for row in rows
            ],
            text_columns=1,
        ),
    ]


def _agreement(row: Mapping[str, Any]) -> str:
    if "preset" not in row:
        return "`standard`"
    words = "" if row["is_equal"] else f", differs: {row['expected']:.6f}"
    return f"`{row['preset']}`{words}"


if __name__ == "__main__":
    main()
