"""What lists and truth have in common, asked of Spark: ids that differ are compared where they are, not collected."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from concord.metrics_core.checking.locked import connect
from concord.metrics_core.scoring.buckets.buckets import Evaluated
from concord.metrics_core.scoring.buckets.facts import added, lowest

_TWINS = (
    "min(CASE WHEN listed THEN id END) AS here",
    "min(CASE WHEN NOT listed THEN id END) AS there",
    "count_if(listed) AS n",
)


@dataclass(frozen=True)
class InSpark:
    """See `checking.id_match.Ids`. text : are the ids of this column text?"""

    evaluated: Evaluated
    text: dict[str, bool]

    def kind(self, column: str) -> str:
        """See `Ids`."""
        return "VARCHAR" if self.text[column] else "BIGINT"

    def counted(self, column: str) -> tuple[int, int]:
        """See `Ids`."""
        if column == "user":
            counts = added(self.evaluated.facts)
            return counts["users_listed"], counts["users_met"]
        found = self._sides("item").selectExpr(
            "count_if(listed) AS listed", "count_if(listed AND known) AS known"
        )
        ((listed, known),) = found.collect()
        return listed, known

    def lowest(self, _: str) -> tuple[Any, Any]:
        """See `Ids`; asked of users alone."""
        return lowest(self.evaluated.facts, 0), lowest(self.evaluated.facts, 1)

    def alike(self, column: str, spelling: str) -> tuple[int, Any]:
        """See `Ids`; whole numbers have one spelling."""
        if not self.text[column]:
            return 0, None
        apart = self._sides(column).where("listed <> known")
        query = f"SELECT id, listed, {spelling.format(x='id')} AS form FROM ids"

        def spelled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with closing(connect(config={"threads": 1})) as connection:
                for batch in batches:
                    connection.register("ids", pa.Table.from_batches([batch]))
                    yield from connection.sql(query).to_arrow_table().to_batches()

        formed = apart.select("id", "listed").mapInArrow(
            spelled, "id string, listed boolean, form string"
        )
        twins = (
            formed.groupBy("form")
            .agg(*map(_expr, _TWINS))
            .where("here IS NOT NULL AND there IS NOT NULL")
        )
        ((number, pair),) = twins.selectExpr("sum(n)", "min(struct(here, there))").collect()
        return number or 0, None if pair is None else tuple(pair)

    def unknown(self) -> tuple[Any, ...]:
        """See `Ids`."""
        facts = self.evaluated.facts
        counts = added(facts)
        items = self.evaluated.ids.where("of = 'item unknown'").count()
        firsts = [tuple(each.unknown) for each in facts if each.unknown is not None]
        first = min(firsts, default=None)
        return counts["unknown_rows"], counts["unknown_users"], items, first

    def _sides(self, column: str) -> Any:
        """id, listed, known: where each id stands; of users those who stand in one of both."""
        told = self.evaluated.told.where(f"of IN ('{column} listed', '{column} known')")
        sides = [f"bool_or(of = '{column} {side}') AS {side}" for side in ("listed", "known")]
        return told.groupBy("id").agg(*map(_expr, sides))


def _expr(text: str) -> Any:
    from pyspark.sql import functions as sf

    return sf.expr(text)
