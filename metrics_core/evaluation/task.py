"""What is computed for each block of users."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from concord.metrics_core.conventions.conventions import Conventions, Ranking
from concord.metrics_core.evaluation.panel import Definition
from concord.metrics_core.evaluation.score import mean_weight
from concord.metrics_core.evaluation.ties import KINDS, orders_ties_by_id, tie_column
from concord.metrics_core.metrics.label import Label
from concord.metrics_core.metrics.ranked_lists import Items

PROPENSITY = "propensity"  # of an item, or of a row of the truth


@dataclass(frozen=True)
class Task:
    """What is computed for each block.

    Attributes
    ----------
    labels : sequence of Label
        Labels to evaluate.
    conventions : Conventions
        Conventions of the labels.
    only_known : bool
        True to leave out all users who are not requested, whatever the policies.
    definitions : sequence of Definition
        Definitions of the convention panel, without the pinned ones.
    items : Items or None
        Items, for metrics beyond accuracy.
    item_columns : Table or None
        item (text), and the numeric columns that metrics read.
    has_equal_scores : bool
        True if scores order the lists, and some of a list may be equal.
    """

    labels: Sequence[Label]
    conventions: Conventions
    only_known: bool = False
    definitions: Sequence[Definition] = ()
    items: Items | None = None
    item_columns: pa.Table | None = None
    has_equal_scores: bool = False

    @property
    def cutoffs(self) -> list[int]:
        """All cutoffs of the labels, ascending."""
        return sorted({label.k for label in self.labels if label.k is not None})

    @property
    def per_user(self) -> list[Label]:
        """Labels with a value per user."""
        return [label for label in self.labels if not label.metric.is_aggregate]

    @property
    def tie_labels(self) -> list[Label]:
        """Labels whose values may depend on the order of equal scores."""
        labels = self.per_user if self.has_equal_scores else []
        return [label for label in labels if orders_ties_by_id(label, self.conventions)]

    @property
    def tie_columns(self) -> list[str]:
        """Columns of these labels' values in other orders; see `score_ties`."""
        return [tie_column(kind, str(label)) for label in self.tie_labels for kind in KINDS]

    @property
    def columns(self) -> dict[str, tuple[Label, Conventions]]:
        """Label and conventions of each column of values."""
        labels = {str(label): (label, self.conventions) for label in self.per_user}
        return labels | {d.column: (d.label, d.conventions) for d in self.definitions}

    @property
    def mean_weights(self) -> dict[str, float | None]:
        """Relevance threshold of each column of weights of users in means."""
        weights = (
            (mean_weight(label, conventions), label.conventions(conventions).relevance_threshold)
            for label, conventions in self.columns.values()
        )
        return {name: threshold for name, threshold in weights if name is not None}

    @property
    def all_labels(self) -> list[Label]:
        """The labels, and those of the panel's definitions."""
        return [*self.labels, *(definition.label for definition in self.definitions)]

    @property
    def needs_items(self) -> bool:
        """True if any label is beyond accuracy, and so reads whole lists and items."""
        return any(label.metric.family == "beyond" for label in self.all_labels)

    @property
    def numbers(self) -> list[str]:
        """Numeric columns of the catalogue that its metrics read."""
        columns = [name for label in self.labels for name in label.metric.columns]
        if (self.conventions.propensity or {}).get("column") == "items":
            columns.append(PROPENSITY)
        return list(dict.fromkeys(columns))

    def ranking_of(self, label: Label) -> Ranking:
        """Return how the lists are ranked for a label."""
        return label.conventions(self.conventions).ranking
