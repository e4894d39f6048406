"""Run one peer of Concord on the two files of a workload; print its cost and nDCG@10 as JSON.

    PYTHON -m benchmarks.peers NAME LISTS TRUTH

PYTHON is that of an environment with the peer: see `PEERS`. The cost includes all work from the
parquet files to the means, without imports and compilation. Each peer computes P, R, AP, nDCG and
RR at the six cutoffs as far as it has them, by its own definitions.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.measured import timed
from benchmarks.workload import KS, METRICS

if TYPE_CHECKING:
    from concord.metrics_core.conventions.option_types import PresetName

Paths = tuple[str, str]  # of lists and truth
Means = Mapping[str, float]


@dataclass(frozen=True)
class Peer:
    """A library beside Concord.

    Attributes
    ----------
    start : function
        Import the library; return the work from the files to the means.
    package : str
        Its package.
    preset : str
        Preset of Concord with the same definitions.
    missing : str
        Labels that it does not have.
    lock : str
        Its environment: the name of the file of requirements.
    """

    start: Callable[[Paths], Callable[[], Means]]
    package: str
    preset: "PresetName"
    missing: str = ""
    lock: str = "peers"


def polars_by_hand(paths: Paths) -> Callable[[], Means]:
    """Return a script without any check: join, number the hits of each user, sum by user."""
    import polars as pl

    rank, grade = pl.col("rank"), pl.col("grade")
    cut = {k: rank <= k for k in KS}
    discounted = grade / (rank + 1).log(2)

    def work() -> Means:
        lists, truth = (pl.scan_parquet(path) for path in paths)
        relevant = truth.sort("user", "grade", descending=[False, True]).with_columns(
            rank=pl.int_range(1, pl.len() + 1).over("user")
        )
        users = relevant.group_by("user").agg(
            pl.len().alias("relevant"),
            *(discounted.filter(cut[k]).sum().alias(f"ideal@{k}") for k in KS),
        )
        precision = rank.rank("ordinal").over("user") / rank
        hits = lists.join(truth, on=["user", "item"]).with_columns(precision=precision)
        sums = hits.group_by("user").agg(
            *(cut[k].sum().alias(f"hits@{k}") for k in KS),
            *(pl.col("precision").filter(cut[k]).sum().alias(f"precisions@{k}") for k in KS),
            *(discounted.filter(cut[k]).sum().alias(f"gain@{k}") for k in KS),
            *((1 / rank.filter(cut[k]).min()).alias(f"RR@{k}") for k in KS),
        )
        found = users.join(sums, on="user", how="left").fill_null(0)
        number = pl.col("relevant")
        means = found.select(
            *((pl.col(f"hits@{k}") / k).mean().alias(f"P@{k}") for k in KS),
            *((pl.col(f"hits@{k}") / number).mean().alias(f"R@{k}") for k in KS),
            *(
                (pl.col(f"precisions@{k}") / number.clip(upper_bound=k)).mean().alias(f"AP@{k}")
                for k in KS
            ),
            *((pl.col(f"gain@{k}") / pl.col(f"ideal@{k}")).mean().alias(f"nDCG@{k}") for k in KS),
            *(pl.col(f"RR@{k}").mean() for k in KS),
        )
        return means.collect().row(0, named=True)

    return work


def rectools(paths: Paths) -> Callable[[], Means]:
    """Return RecTools' `calc_metrics` on pandas frames."""
    import pandas as pd
    from rectools.metrics import MAP, MRR, NDCG, Precision, Recall, calc_metrics

    kinds = dict(zip(METRICS, (Precision, Recall, MAP, NDCG, MRR), strict=True))
    metrics = {f"{name}@{k}": kind(k=k) for name, kind in kinds.items() for k in KS}

    def work() -> Means:
        names = {"user": "user_id", "item": "item_id"}
        lists, truth = (pd.read_parquet(path).rename(columns=names) for path in paths)
        return calc_metrics(metrics, lists, truth)

    return work


def replay(paths: Paths) -> Callable[[], Means]:
    """Return RePlay's `OfflineMetrics` on polars frames."""
    import polars as pl
    from replay.metrics import MAP, MRR, NDCG, OfflineMetrics, Precision, Recall

    names = dict(zip(("Precision", "Recall", "MAP", "NDCG", "MRR"), METRICS, strict=True))
    columns = {"query_column": "user", "item_column": "item", "rating_column": "rating"}
    kinds = (Precision, Recall, MAP, NDCG, MRR)
    metrics = OfflineMetrics([kind(list(KS)) for kind in kinds], **columns)

    def work() -> Means:
        lists, truth = (pl.read_parquet(path) for path in paths)
        scored = lists.select("user", "item", rating=-pl.col("rank").cast(pl.Float64))
        values = metrics(scored, truth.rename({"grade": "rating"}))
        return {
            f"{names[name]}@{k}": v for key, v in values.items() for name, k in [key.split("@")]
        }

    return work


def pytrec_eval(paths: Paths) -> Callable[[], Means]:
    """Return pytrec_eval on dictionaries, which are made from the files."""
    import pytrec_eval as library

    names = dict(zip(("P", "recall", "map_cut", "ndcg_cut"), METRICS, strict=False))
    cuts = ",".join(map(str, KS))
    measures = {f"{name}.{cuts}" for name in names} | {"recip_rank"}

    def work() -> Means:
        run, qrels = _frames(paths)
        evaluator = library.RelevanceEvaluator(_nested(qrels, "relevance"), measures)
        users = evaluator.evaluate(_nested(run, "score"))
        sums: dict[str, float] = {}
        for values in users.values():
            for key, value in values.items():
                sums[key] = sums.get(key, 0.0) + value
        means = {key: total / len(users) for key, total in sums.items()}
        return {
            "RR": means["recip_rank"],
            **{f"{ours}@{k}": means[f"{name}_{k}"] for name, ours in names.items() for k in KS},
        }

    return work


def ir_measures(paths: Paths) -> Callable[[], Means]:
    """Return ir_measures on pandas frames."""
    import ir_measures as library

    measures = [library.parse_measure(f"{name}@{k}") for name in METRICS for k in KS]

    def work() -> Means:
        run, qrels = _frames(paths)
        values = library.calc_aggregate(measures, qrels, run)
        return {str(measure): value for measure, value in values.items()}

    return work


def ranx(paths: Paths) -> Callable[[], Means]:
    """Return ranx on pandas frames; it is compiled before."""
    import pandas as pd
    from ranx import Qrels, Run, evaluate

    names = dict(zip(("precision", "recall", "map", "ndcg", "mrr"), METRICS, strict=True))
    metrics = [f"{name}@{k}" for name in names for k in KS]

    def means(run: Any, qrels: Any) -> Means:
        values = evaluate(
            Qrels.from_df(qrels, "query_id", "doc_id", "relevance"),
            Run.from_df(run, "query_id", "doc_id", "score"),
            metrics,
            make_comparable=True,
        )
        return {
            f"{names[name]}@{k}": v for key, v in values.items() for name, k in [key.split("@")]
        }

    row = {"query_id": ["u"], "doc_id": ["i"]}
    means(pd.DataFrame({**row, "score": [1.0]}), pd.DataFrame({**row, "relevance": [1]}))
    return lambda: means(*_frames(paths))


def _frames(paths: Paths) -> tuple[Any, Any]:
    """Return run and qrels with ids as text."""
    import pandas as pd

    lists, truth = (pd.read_parquet(path) for path in paths)
    run, qrels = (
        pd.DataFrame({"query_id": frame["user"].astype(str), "doc_id": frame["item"].astype(str)})
        for frame in (lists, truth)
    )
    run["score"] = -lists["rank"].astype(float)
    qrels["relevance"] = truth["grade"].astype(int)
    return run, qrels


def _nested(frame: Any, value: str) -> dict[str, dict[str, Any]]:
    """Return query -> document -> value."""
    nested: dict[str, dict[str, Any]] = {}
    columns = (frame[name].tolist() for name in ("query_id", "doc_id", value))
    for query, document, number in zip(*columns, strict=True):
        nested.setdefault(query, {})[document] = number
    return nested


PEERS = {
    "polars by hand": Peer(polars_by_hand, "polars", "standard"),
    "RecTools": Peer(rectools, "rectools", "rectools"),
    "RePlay": Peer(replay, "replay-rec", "replay", lock="peers-replay"),
    "pytrec_eval": Peer(pytrec_eval, "pytrec-eval-terrier", "pytrec_eval", "RR at cutoffs"),
    "ir_measures": Peer(ir_measures, "ir-measures", "ir_measures"),
    "ranx": Peer(ranx, "ranx", "ranx"),
}


def main() -> None:
    name, lists, truth = sys.argv[1:]
    work = PEERS[name].start((lists, truth))
    means: dict[str, float] = {}
    cost = timed(lambda: means.update(work()))
    print(json.dumps({**cost, "value": float(means["nDCG@10"]), "labels": len(means)}))


if __name__ == "__main__":
    main()
