"""Study: what `concord.study` returns, study.json holds and its report shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concord.metrics_core.comparison.parts import Metric, PinnedConventions
from concord.metrics_core.comparison.rendering import rendered
from concord.metrics_core.comparison.stored import plain
from concord.metrics_core.comparison.tables import frame_of
from concord.metrics_core.studying.parts import (
    Aggregation,
    Answer,
    Cell,
    Dataset,
    LeftOut,
    Omnibus,
    Pair,
    Shrunk,
)

if TYPE_CHECKING:
    import polars as pl

SCHEMA = 1


@dataclass(frozen=True, repr=False)
class Study:
    """The same models on several data sets, under the same conventions.

    primary    : the labels that are studied, the first most of all
    answers    : one a label: who wins under how many ways of aggregating, and is it sure
    cells      : one a label, data set and model; `table` is the same as a frame
    ways       : one a label, way and model; `aggregations` is the same as a frame
    pairs      : one a label and pair of models, over data sets; `differences` is the same as a frame
    shrunk     : differences to the baseline, drawn towards the mean over data sets
    omnibus    : Friedman's test, one a label
    min_effect : the smallest difference that matters, a label
    notes      : what a reader must know beside
    """

    title: str
    baseline: str
    primary: tuple[str, ...]
    confidence: float
    models: tuple[str, ...]
    datasets: tuple[Dataset, ...]
    left_out: tuple[LeftOut, ...]
    metrics: tuple[Metric, ...]
    min_effect: Mapping[str, float]
    answers: tuple[Answer, ...]
    cells: tuple[Cell, ...]
    ways: tuple[Aggregation, ...]
    pairs: tuple[Pair, ...]
    shrunk: tuple[Shrunk, ...]
    omnibus: tuple[Omnibus, ...]
    notes: tuple[str, ...]
    conventions: PinnedConventions

    @property
    def table(self) -> "pl.DataFrame":
        """One row a label, data set and model, columns as the fields of `Cell`."""
        return frame_of(Cell, self.cells)

    @property
    def ranks(self) -> "pl.DataFrame":
        """The ranks of `table`, with those that the tests on each data set leave open."""
        return self.table.select("label", "dataset", "model", "rank", "rank_low", "rank_high")

    @property
    def aggregations(self) -> "pl.DataFrame":
        """One row a label, way of aggregating and model, columns as the fields of `Aggregation`."""
        return frame_of(Aggregation, self.ways)

    @property
    def differences(self) -> "pl.DataFrame":
        """One row a label and pair of models, columns as the fields of `Pair`."""
        return frame_of(Pair, self.pairs)

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one HTML page that needs no network; written to `path`, if one is given."""
        page = rendered(self, "study")
        if path is not None:
            Path(path).write_text(page, encoding="utf-8", newline="\n")
        return page

    def to_content(self) -> dict[str, Any]:
        """The content of study.json."""
        return {"schema": SCHEMA, **plain(self)}

    def __repr__(self) -> str:
        said = " ".join(f"{each.sentence} {each.sure}" for each in self.answers[:1])
        return f"<Study of {len(self.models)} models on {len(self.datasets)} data sets: {said}>"

    def metric(self, label: str) -> Metric:
        """What is known of a label."""
        return next(metric for metric in self.metrics if metric.label == label)

    def cells_of(self, label: str) -> dict[tuple[str, str], Cell]:
        """(data set, model) -> cell."""
        return {(c.dataset, c.model): c for c in self.cells if c.label == label}

    def ranked(self, label: str) -> list[str]:
        """Models by mean rank, best first; those without one last."""
        mean = {r.model: r.value for r in self.ways if (r.label, r.way) == (label, "mean_rank")}
        return sorted(self.models, key=lambda m: (mean[m] is None, mean[m] or 0))


def study_tables(study: Study) -> "dict[str, pl.DataFrame]":
    """Name -> table, for CSV and parquet."""
    return {
        "table": study.table,
        "aggregations": study.aggregations,
        "differences": study.differences,
        "shrunk": frame_of(Shrunk, study.shrunk),
        "friedman": frame_of(Omnibus, study.omnibus),
        "datasets": frame_of(Dataset, study.datasets),
    }
