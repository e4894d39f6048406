"""Run one contestant on one workload; print seconds, CPU, peak memory in MB and nDCG@10 as JSON.

The cost includes all work from the parquet files to the means, without imports.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from concord.pipeline.running.messages import peak_memory

METRICS = ("P", "R", "AP", "nDCG", "RR")
KS = (1, 5, 10, 20, 50, 100)
Files = tuple[str, str]


def concord(
    files: Files, engine: str = "duckdb", panel_of: tuple[str, ...] = ()
) -> Callable[[], float]:
    """Return the stage `evaluate`: users' values of all labels, panels and summaries."""
    import polars as pl

    from concord.metrics_core.conventions.presets import preset
    from concord.metrics_core.evaluation.accumulator import summarise_definition
    from concord.metrics_core.evaluation.evaluate_model import Executor, execute_in_memory
    from concord.metrics_core.evaluation.model_result import EvaluationData
    from concord.metrics_core.evaluation.panel import panel
    from concord.metrics_core.evaluation.partition import Task
    from concord.metrics_core.evaluation.summary import summarise
    from concord.metrics_core.metrics.label import expand, parse
    from concord.pipeline.running.connections import read_only_connection
    from concord.pipeline.stages.evaluate import execute_by_ranges

    execute: Executor = execute_in_memory
    if engine == "duckdb":
        execute = partial(execute_by_ranges, rows_per_partition=5_000_000)
    lists, truth = map(Path, files)
    data = EvaluationData(truth=truth, connect=read_only_connection)
    conventions = preset("standard")
    panels = [panel(parse(label), conventions) for label in panel_of]
    definitions = [d for each in panels for d in each.definitions if d.number]
    task = Task(expand(METRICS, KS), conventions, definitions=definitions)

    def work() -> float:
        parts = [part.values for part in execute(lists, data, task)]
        values = pl.concat(parts)
        means = {
            str(label): summarise(
                label, values[str(label)].to_numpy(), task.conventions, confidence=0.95
            )
            for label in task.labels
        }
        for definition in definitions:
            summarise_definition(parts, definition)
        return means["nDCG@10"].mean

    return work


def concord_panel(files: Files) -> Callable[[], float]:
    """Return `concord` with the panel of two primary metrics."""
    return concord(files, panel_of=("nDCG@10", "R@20"))


def concord_polars(files: Files) -> Callable[[], float]:
    """Return `concord` with the in-memory engine."""
    return concord(files, "polars")


def library(files: Files) -> Callable[[], float]:
    """Return `concord.evaluate` of the files."""
    from concord import evaluate

    labels = [f"{name}@{k}" for name in METRICS for k in KS]
    return lambda: evaluate(*map(Path, files), metrics=labels, conventions="standard")["nDCG@10"]


def small(files: Files) -> Callable[[], float]:
    """Return the second call of `concord.evaluate` on frames of 1,000 users x 20."""
    import polars as pl

    from concord import evaluate

    lists, truth = (pl.scan_parquet(path) for path in files)
    first_users = truth.select(pl.col("user").unique().sort().head(1000)).collect()["user"]
    of_first_users = pl.col("user").is_in(first_users.to_list())
    recs = lists.filter(of_first_users, pl.col("rank") <= 20).collect()  # noqa: PLR2004
    judged = truth.filter(of_first_users).collect()

    def work() -> float:
        metrics = ["nDCG@10", "R@20"]
        return evaluate(recs, judged, metrics=metrics, conventions="standard")["nDCG@10"]

    work()
    return work


def join(files: Files) -> Callable[[], float]:
    """Return the join of the two files by DuckDB, a lower bound of the cost."""
    import duckdb

    query = (
        "SELECT l.user, l.item, rank, grade "
        "FROM read_parquet(?) l JOIN read_parquet(?) t USING (user, item)"
    )

    def work() -> float:
        with duckdb.connect() as connection:
            return float(len(connection.execute(query, list(files)).fetchnumpy()["rank"]))

    return work


def load(files: Files) -> Callable[[], float]:
    """Return the stage `load`: read, validate, rank and write."""
    from concord.pipeline.running.connections import isolated_connection
    from concord.pipeline.stages.load import load as stage
    from tests.pipeline.stages.load_project import params_of

    def work() -> float:
        with TemporaryDirectory() as folder, isolated_connection() as connection:
            params = params_of(files[0], allow_outside=True)
            folders = {name: f"{folder}/{name}" for name in vars(params.results)}
            results = params.results.model_copy(update=folders)
            stage(connection, params.model_copy(update={"results": results}), "m")
            return _rows(Path(folders["lists"], "m.parquet"))

    return work


def bare_load(files: Files) -> Callable[[], float]:
    """Return the read, sort and write of the same file, without checks and hashes."""
    from concord.metrics_core.data.input_table import InputTable
    from concord.metrics_core.data.read_source import read_source
    from concord.metrics_core.errors import argument_names
    from concord.pipeline.running.connections import isolated_connection
    from concord.pipeline.stages.load import write_query

    def work() -> float:
        with TemporaryDirectory() as folder, isolated_connection() as connection:
            needed = ("user", "item", "rank")
            table = InputTable(str(files[0]), "parquet", needed, (), {}, argument_names("lists"))
            read_source(connection, table)
            query = "SELECT user, item, rank FROM source ORDER BY user, rank"
            write_query(connection, query, Path(folder, "m.parquet"))
            return _rows(Path(folder, "m.parquet"))

    return work


def _rows(path: Path) -> float:
    import pyarrow.parquet as pq

    return float(pq.read_metadata(path).num_rows)


def rectools(files: Files) -> Callable[[], float]:
    """Return RecTools' `calc_metrics` of all metrics, including loading."""
    import pandas as pd
    from rectools.metrics import MAP, MRR, NDCG, Precision, Recall, calc_metrics

    kinds = {"P": Precision, "R": Recall, "AP": MAP, "nDCG": NDCG, "RR": MRR}
    metrics = {f"{name}@{k}": kind(k=k) for name, kind in kinds.items() for k in KS}

    def work() -> float:
        names = {"user": "user_id", "item": "item_id"}
        lists, truth = (pd.read_parquet(path).rename(columns=names) for path in files)
        return float(calc_metrics(metrics, lists, truth)["nDCG@10"])

    return work


def _by_user(path: str, value: Callable[[Any], Any]) -> dict[str, dict[str, Any]]:
    import pandas as pd

    frame = pd.read_parquet(path)
    third = value(frame).tolist()
    nested: dict[str, dict[str, Any]] = {}
    users, items = (frame[name].astype(str).tolist() for name in ("user", "item"))
    for user, item, number in zip(users, items, third, strict=True):
        nested.setdefault(user, {})[item] = number
    return nested


def pytrec_eval(files: Files) -> Callable[[], float]:
    """Return pytrec_eval, including its dictionaries from parquet."""
    import pytrec_eval as library

    def work() -> float:
        run = _by_user(files[0], lambda frame: -frame["rank"].astype(float))
        qrels = _by_user(files[1], lambda frame: frame["grade"].astype(int))
        return _trec_mean(library, run, qrels)

    return work


def pytrec_eval_files(files: Files) -> Callable[[], float]:
    """Return pytrec_eval with its readers, on the same lists and truth as TREC files."""
    import pytrec_eval as library

    run_file, qrels_file = (Path(path).with_suffix(".trec") for path in files)

    def work() -> float:
        with run_file.open() as lines:
            run = library.parse_run(lines)
        with qrels_file.open() as lines:
            qrels = library.parse_qrel(lines)
        return _trec_mean(library, run, qrels)

    return work


def _trec_mean(library: Any, run: Any, qrels: Any) -> float:
    cuts = ",".join(map(str, KS))
    measures = {f"{name}.{cuts}" for name in ("P", "recall", "map_cut", "ndcg_cut")}
    values = library.RelevanceEvaluator(qrels, measures | {"recip_rank"}).evaluate(run)
    return sum(user["ndcg_cut_10"] for user in values.values()) / len(values)


def ranx(files: Files) -> Callable[[], float]:
    """Return ranx, including its dictionaries; compilation does not count."""
    from ranx import Qrels, Run, evaluate

    kinds = ("precision", "recall", "map", "ndcg", "mrr")
    metrics = [f"{kind}@{k}" for kind in kinds for k in KS]
    evaluate(Qrels({"u": {"a": 1}}), Run({"u": {"a": 1.0}}), metrics)

    def work() -> float:
        run = Run(_by_user(files[0], lambda frame: -frame["rank"].astype(float)))
        qrels = Qrels(_by_user(files[1], lambda frame: frame["grade"].astype(int)))
        return float(evaluate(qrels, run, metrics, make_comparable=True)["ndcg@10"])

    return work


CONTESTANTS = {
    "concord": concord,
    "concord-panel": concord_panel,
    "concord-polars": concord_polars,
    "library": library,
    "small": small,
    "join": join,
    "load": load,
    "bare-load": bare_load,
    "rectools": rectools,
    "pytrec_eval": pytrec_eval,
    "pytrec_eval-files": pytrec_eval_files,
    "ranx": ranx,
}


def main() -> None:
    """Run `python -m benchmarks.contestant NAME LISTS TRUTH`."""
    name, lists, truth = sys.argv[1:]
    work = CONTESTANTS[name]((lists, truth))
    start, cpu = time.perf_counter(), time.process_time()
    value = work()
    cost = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
    print(json.dumps({**cost, "peak": peak_memory() / 1e6, "value": value}))


if __name__ == "__main__":
    main()
