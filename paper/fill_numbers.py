"""Fill in the numbers of the paper: each is computed, or read where it was measured.

`python -m paper.fill_numbers` writes them; `--check` changes nothing and fails if one is out of
date. Either way a number that no statement makes is an error.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import concord as cc
from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.conventions.registry import CONVENTIONS
from concord.metrics_core.metrics.catalogue import CATALOGUE

ROOT = Path(__file__).parents[1]
PAPER = Path(__file__).with_name("paper.md")
DEMO = ROOT / "data" / "demo"
FIELD = ROOT / "docs" / "why.md"
REPORT = ROOT / "results" / "report" / "report.md"
SIMULATIONS = ROOT / "benchmarks" / "SIMULATIONS.md"
PARITY = ROOT / "tests" / "parity"
TOOLS = (  # which the paper names with the version that docs/why.md has
    *("ranx", "ir_measures", "RecTools", "RePlay", "LensKit", "RecBole", "WarpRec"),
    *("MLflow", "Evidently", "recsys-eval"),
)
BILLION = "10000000"  # users, with lists of 100
HEADER = re.compile(r"\A---\n(.*?)^---\n", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NUMBER = r"(\d[\d,.]*\d|\d)"
_UNCHECKED = re.compile(r"@\w+|\]\([^)\n]*\)")  # citations, cutoffs, targets of links

Statement = tuple[str, Callable[[], Sequence[object]]]  # {} stands for a number


def main() -> int:
    """Write the numbers, or check them; return 1 if there is a problem."""
    text = PAPER.read_text(encoding="utf-8")
    filled, problems = fill(text)
    if "--check" not in sys.argv:
        PAPER.write_text(filled, encoding="utf-8")
    elif filled != text:
        problems.append("numbers are out of date: run `python -m paper.fill_numbers`")
    for problem in problems:
        print(f"{PAPER.name}: {problem}")
    return 1 if problems else 0


def fill(text: str) -> tuple[str, list[str]]:
    """Return the paper with the numbers of today, and what is wrong with it."""
    problems = []
    unexplained = COMMENT.sub("", HEADER.sub("", text))
    for statement, compute in STATEMENTS:
        first, *rest = statement.split("{}")
        numbers = zip(compute(), rest, strict=True)
        sentence = first + "".join(f"{number}{part}" for number, part in numbers)
        pattern = re.compile(_NUMBER.join(map(re.escape, (first, *rest))))
        if not pattern.search(text):
            problems.append(f"“{sentence}” is missing: write it, or remove it from STATEMENTS")
        text = pattern.sub(sentence.replace("\\", r"\\"), text)
        unexplained = pattern.sub("", unexplained)
    problems += [
        f"no statement makes the number in “{line.strip()}”"
        for line in re.findall(r".{0,40}\d.{0,40}", _UNCHECKED.sub("", unexplained))
    ]
    return text, problems


def _find(pattern: str, path: Path) -> re.Match[str]:
    """Return the match of a pattern that occurs in a file with one text only."""
    matches = list(re.finditer(pattern, path.read_text(encoding="utf-8")))
    different = sorted({match[0] for match in matches})
    if len(different) != 1:
        message = (
            f"{path.relative_to(ROOT)}: {pattern!r} must match one text, found {different}. "
            "Change the page, or the pattern in paper/fill_numbers.py."
        )
        raise ValueError(message)
    return matches[0]


def _libraries() -> list[int]:
    return [len({p.package.partition(" ")[0] for p in PRESETS.values() if p.package})]


def _stored_values() -> list[str]:
    values = pl.scan_parquet(PARITY / "values" / "*.parquet")
    n_values = values.select(pl.col("value").count()).collect().item()
    return [f"{n_values // 10_000 * 10_000:,}"]


def _tolerances() -> Sequence[str]:
    pattern = r"wrong = .*1e-(\d+) if library in IN_FLOAT32 else 1e-(\d+)"
    return _find(pattern, PARITY / "test_parity.py").groups()[::-1]


def _ndcg_of_the_demo() -> list[str]:
    lists, truth = DEMO / "ease.jsonl.gz", DEMO / "truth.parquet"
    presets = [cc.preset(name) for name in ("ranx", "rectools", "lenskit", "evidently")]
    results = [
        cc.evaluate(lists, truth, metrics=["nDCG@10"], conventions=preset) for preset in presets
    ]
    return [f"{result['nDCG@10']:.3f}" for result in results]


def _definitions_of_the_demo() -> Sequence[str]:
    return _find(r"(\d+) of (\d+) definitions of nDCG@10 change the order", REPORT).groups()


def _version(tool: str) -> Callable[[], Sequence[str]]:
    return lambda: _find(rf"(?<![\w-]){tool} (\d[\d.]*\d)", FIELD).groups()


def _simulations(title: str) -> Iterator[dict[str, str]]:
    """Yield the rows of the table under a heading of the simulations."""
    page = SIMULATIONS.read_text(encoding="utf-8")
    section = page.partition(f"## {title}\n")[2].partition("\n## ")[0]
    head, *rows = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)
    for row in rows:
        yield dict(zip(head.split(" | "), row.split(" | "), strict=True))


def _percent(cell: str) -> float:
    return float(cell.partition("%")[0])


def _false_verdicts() -> list[object]:
    rows = [
        row
        for row in _simulations("Families: no difference")
        if row["values"] == "gamma, correlation 0.5" and row["users"] == "300"
    ]
    candidates = sorted(int(row["candidates"]) for row in rows)
    wrong = sorted(_percent(row["any false word"]) for row in rows)
    single = max(_percent(row["any p <= 0.05, uncorrected"]) for row in rows)
    return [candidates[0], candidates[-1], wrong[0], wrong[-1], f"{single:.0f}"]


def _false_verdicts_at_worst() -> list[str]:
    rows = [
        (row, _percent(row["any false word"]))
        for row in _simulations("Families: no difference")
        if row["values"] == "many gain a little, few lose much"
    ]
    usual = [share for row, share in rows if row["users"] == "300"]
    worst, highest = max(rows, key=lambda each: each[1])
    several = [f"{min(usual):.1f}", f"{max(usual):.1f}", "300"]
    return [*several, f"{highest:.0f}", worst["candidates"], worst["users"]]


def _accidents() -> list[int]:
    honest = "Honest evaluations: how often they are suspected"
    runs = int(_find(rf"{honest}\n\n.*\n(\d+) runs a row", SIMULATIONS)[1])
    evaluations, accidents = (
        [(_percent(row["gate suspicious"]), _percent(row["any serious warning"])) for row in rows]
        for rows in map(_simulations, (honest, "Accidents: how often they are found"))
    )
    suspected, warned = (
        sum(round(share / 100 * runs) for share in shares)
        for shares in zip(*evaluations, strict=True)
    )
    suspicious, serious = zip(*accidents, strict=True)
    n_evaluations, n_accidents = runs * len(evaluations), len(accidents)
    return [
        *(suspected, n_evaluations),
        *(n_accidents, suspicious.count(100), suspicious.count(0)),
        *(serious.count(100), warned, n_evaluations),
    ]


def _speed() -> list[str]:
    rows = {row["name"]: row for row in _measured("bench.json")["peers"]["rows"]}
    peers = ("Concord", "polars by hand", "RecTools", "ranx", "ir_measures")
    return [
        f"{rows['Concord']['users']:,}",
        *(f"{rows[name]['seconds']:.1f}" for name in peers),
    ]


def _billion_rows() -> list[str]:
    measured = _measured("scale.json")
    stages = [measured[f"{BILLION} {stage}"] for stage in ("load-truth", "load", "evaluate")]
    seconds = sum(stage["seconds"] for stage in stages)
    return [f"{seconds:.0f}", f"{max(stage['peak'] for stage in stages) / 1000:.1f}"]


def _measured(name: str) -> Any:
    return json.loads((ROOT / "benchmarks" / name).read_text(encoding="utf-8"))


def _guides() -> list[int]:
    pages = (ROOT / "docs" / "migrate").glob("*.md")
    return [sum(page.name != "index.md" for page in pages)]


STATEMENTS: list[Statement] = [
    ("computes {} metrics", lambda: [len(CATALOGUE)]),
    (
        "is {} as ranx computes it, {} as RecTools does, {} as LensKit does and {} as Evidently",
        _ndcg_of_the_demo,
    ),
    ("under {} of {} definitions, the two best models", _definitions_of_the_demo),
    ("by nDCG@10 under {} definitions", lambda: _definitions_of_the_demo()[1:]),
    *((f"{tool} {{}} [", _version(tool)) for tool in TOOLS),
    ("A registry holds {} conventions", lambda: [len(CONVENTIONS)]),
    ("there are {} presets", lambda: [len(PRESETS)]),
    ("among them those of {} libraries", _libraries),
    (
        "For {} users with lists of 100, five metrics at six cutoffs take {} s on two cores, where "
        "a script in polars for these metrics alone takes {} s, RecTools {} s, ranx {} s and "
        "ir_measures {} s",
        _speed,
    ),
    ("A billion rows take {} s and {} GB", _billion_rows),
    ("more than {} stored values", _stored_values),
    ("they agree to $10^{-{}}$, or to $10^{-{}}$ where", _tolerances),
    (
        "With {} to {} models that equal the baseline and 300 users, {} to {} % of the experiments "
        "contained a false verdict (nominally 5 %) if values are positively skewed and correlated; "
        "single tests at the same level would err in up to {} %",
        _false_verdicts,
    ),
    (
        "few lose much, it is {} to {} % with {} users, and {} % with {} models and {} users",
        _false_verdicts_at_worst,
    ),
    (
        "A gate called {} of {} simulated honest evaluations suspicious, and of {} kinds of "
        "accident {} in every run and {} in none. A serious warning, which a person reads, "
        "appeared for {} kinds in every run, but also for {} of the {} honest evaluations",
        _accidents,
    ),
    ("move from {} other tools", _guides),
]


if __name__ == "__main__":
    sys.exit(main())
