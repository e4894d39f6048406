"""CPU time of references as shares of evaluating one model: 138,000 users, 12 million train rows.

`python -m benchmarks.reference` writes the section of RESULTS.md.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from benchmarks.measured import FOLDER, replace_section
from benchmarks.tabulated import markdown_table
from benchmarks.workload import FULL, ITEMS, KS, METRICS, make, popular_items
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.data.policies import parse_policies
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.dataset import TableLoader, load_dataset
from concord.metrics_core.evaluation.reference import compute_references
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.label import expand

TRAIN_ROWS = 14_000_000  # before equal pairs are removed
RESULTS = FOLDER / "RESULTS.md"
TITLE = "References"


def main() -> None:
    files, conventions = make(FOLDER / "data", FULL, "integer"), preset("standard")
    labels = expand(METRICS, KS)
    random = np.random.default_rng(5)
    users = random.integers(0, FULL.users, TRAIN_ROWS)
    train = pl.DataFrame({"user": users, "item": popular_items(random, TRAIN_ROWS)}).unique()
    config = EvaluationConfig.of_one_model(labels, conventions)
    loader = TableLoader(config, parse_policies({}), {}, is_hashed=False)
    side_data = {"train": train, "items": pl.DataFrame({"item": range(ITEMS)})}
    dataset = load_dataset(loader, {NO_FOLD: files.truth}, side_data)
    without_train = replace(dataset.data, train=None)
    evaluate = _cpu(lambda: dataset.evaluate("model", files.lists))
    ideal = _cpu(lambda: compute_references(labels, conventions, without_train))
    every = _cpu(lambda: compute_references(labels, conventions, dataset.data))
    rows = [
        ("evaluating one model", f"{evaluate:.2f}", "", ""),
        _row("chance and best possible", ideal, evaluate, 0.15),
        _row("most popular", every - ideal, evaluate, 0.4),
    ]
    lines = [
        f"Made by `python -m benchmarks.reference`: {FULL.users:,} users, {FULL.truth_rows:,} rows "
        f"of truth, {train.height:,} of train;",
        "P, R, AP, nDCG, RR at six cutoffs; CPU seconds in one process, the quickest of three.",
        "",
        *markdown_table(("what", "CPU, s", "share", "bound"), rows, text_columns=1),
    ]
    print("\n".join(lines))
    page = replace_section(RESULTS.read_text(encoding="utf-8"), TITLE, lines)
    RESULTS.write_text(page, encoding="utf-8", newline="\n")


def _cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of the quickest of three calls."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def _row(what: str, seconds: float, whole: float, bound: float) -> tuple[str, str, str, str]:
    return what, f"{seconds:.2f}", f"{seconds / whole:.0%}", f"at most {bound:.0%}"


if __name__ == "__main__":
    main()
