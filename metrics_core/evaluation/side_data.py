"""Train and catalogue, for the metrics beyond accuracy."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pyarrow as pa

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.data.argument_types import Data, TableColumns
from concord.metrics_core.data.arguments import check_columns, open_table
from concord.metrics_core.data.arrow import positions
from concord.metrics_core.data.input_table import ITEMS_COLUMNS
from concord.metrics_core.data.load_tables import LOADERS
from concord.metrics_core.data.relations import in_memory
from concord.metrics_core.data.tables import Table, read_frame, scan
from concord.metrics_core.errors import InputError, refuse
from concord.metrics_core.evaluation.task import PROPENSITY, Task
from concord.metrics_core.files import count_items
from concord.metrics_core.metrics.elementary import exp2, log2
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.metrics.ranked_lists import Items


@dataclass(frozen=True)
class Catalogue:
    """Items with their features.

    Attributes
    ----------
    items : DataFrame
        item.
    features : (n_items, d) float64 or None
        Categories (0 or 1) or vector of each item, zeros for an item without; None if no item has
        features.
    numbers : DataFrame
        item (text), and the named numeric columns.
    groups : Series or None
        Group of each item, null for an item without a group; None if there are no groups.
    """

    items: pl.DataFrame
    features: Floats | None
    numbers: pl.DataFrame
    groups: pl.Series | None


def build_catalogue(frame: pl.DataFrame) -> Catalogue:
    """Return the catalogue of a validated frame."""
    column = next((name for name in ("categories", "vector") if name in frame.columns), None)
    others = [name for name in frame.columns if name not in _FEATURES]
    numbers = frame.select(pl.col("item").cast(pl.String), *others)
    features = None if column is None else _features(frame[column])
    groups = frame.get_column("group", default=None)
    return Catalogue(frame.select("item"), features, numbers, groups)


@dataclass(frozen=True)
class SideData:
    """Validated train and catalogue; None if not given.

    Attributes
    ----------
    train : path or frame, optional
        user, item [, time, last], each pair once.
    items : path or frame, optional
        item [, categories | vector, title].
    """

    train: Table | None = None
    items: Table | None = None

    @property
    def catalogue(self) -> Catalogue | None:
        """Items with their features; None without a catalogue."""
        return None if self.items is None else build_catalogue(read_frame(self.items))

    def with_item_columns(self, task: Task) -> Task:
        """Return the task with the item columns that it reads."""
        return with_item_columns(task, lambda: self.catalogue, lambda: self.train)

    def with_items(self, task: Task, lists: Table) -> Task:
        """Return the task with its items, from lists, train and catalogue."""
        catalogue = self.catalogue
        refuse_missing(task, has_train=self.train is not None, catalogue=catalogue)
        return replace(task, items=number_items([lists], self.train, catalogue))


_FEATURES = tuple(name for names in ITEMS_COLUMNS for name in names)


def number_items(lists: Iterable[Table], train: Table | None, catalogue: Catalogue | None) -> Items:
    """Return the items of lists, train and catalogue, in the order of their ids as text."""
    item, no_user = pl.col("item").cast(pl.String), pl.lit(None, pl.String)
    pairs = pl.LazyFrame(schema={"user": pl.String, "item": pl.String})
    if train is not None:
        pairs = scan(train).select(pl.col("user").cast(pl.String), item).unique()
    listed = (scan(each).select(no_user.alias("user"), item).unique() for each in lists)
    rows = pl.concat([pairs, *listed]).drop_nulls("item")
    users = rows.group_by("item").agg(users=pl.col("user").count())
    counts = users.collect(engine="streaming")  # with a tenth of the memory
    n_users = pairs.select(pl.col("user").n_unique()).collect(engine="streaming").item()
    return number_counted_items(counts, n_users, catalogue)


def number_counted_items(
    counts: pl.DataFrame, n_train_users: int, catalogue: Catalogue | None
) -> Items:
    """Return the items of `counts` (item, number of train `users`) and catalogue."""
    known = counts["item"].clear() if catalogue is None else catalogue.numbers["item"]
    table = counts.join(known.to_frame(), on="item", how="full", coalesce=True).sort("item")
    users = table["users"].fill_null(0).cast(pl.Int64).to_numpy()
    ids = table["item"].to_arrow().cast(pa.string())
    rows = positions(known.to_arrow().cast(pa.string()), ids)
    in_catalogue = np.zeros(len(ids), dtype=np.bool_)
    in_catalogue[rows] = True
    items = Items(n_train_users, int(users.sum()), users, in_catalogue, features=None, ids=ids)
    if catalogue is not None and catalogue.features is not None:
        features = np.zeros((len(ids), catalogue.features.shape[1]))
        features[rows] = catalogue.features
        items = replace(items, features=features)
    if catalogue is not None and catalogue.groups is not None:
        names = catalogue.groups.drop_nulls().unique().sort()
        group = np.full(len(ids), len(names))
        group[rows] = catalogue.groups.replace_strict(names, range(len(names)), default=len(names))
        items = replace(items, group=group, groups=tuple(names))
    return items


def with_item_columns(
    task: Task, items: Callable[[], Catalogue | None], train: Callable[[], Table | None]
) -> Task:
    """Return the task with the numeric columns that its metrics read, and with propensities.

    Raises
    ------
    ValueError
        If the train, the catalogue or a column is missing.
    """
    exponent = (task.conventions.propensity or {}).get("popularity")
    if exponent is not None:
        known = train()
        if known is None:
            msg = "propensity: popularity needs train (user, item); give it, or name a column"
            raise ValueError(msg)
        task = replace(task, item_columns=popularity_propensities(known, exponent).to_arrow())
    if not task.numbers:
        return task
    catalogue = items()
    available = [] if catalogue is None else catalogue.numbers.columns[1:]
    for label in task.labels:
        if missing := [name for name in label.metric.columns if name not in available]:
            columns = ", ".join(f"{name}: …" for name in missing)
            msg = (
                f"{label}: needs items with {' and '.join(missing)}; "
                f"name them in the columns of items: {{{columns}}}"
            )
            raise ValueError(msg)
    if PROPENSITY in task.numbers and PROPENSITY not in available:
        msg = (
            f"propensity: column: items needs items with {PROPENSITY}; "
            "name it in the columns of items"
        )
        raise ValueError(msg)
    assert catalogue is not None
    numbers = catalogue.numbers.select("item", *task.numbers)
    if task.item_columns is not None:
        propensities = pl.DataFrame(task.item_columns)
        numbers = numbers.join(propensities, on="item", how="full", coalesce=True)
    return replace(task, item_columns=numbers.sort("item").to_arrow())


def popularity_propensities(train: Table, exponent: float) -> pl.DataFrame:
    """Return each item (text) with its propensity (n / max n)^exponent, for n train users.

    References
    ----------
    Yang, Cui, Xuan, Wang, Belongie & Estrin (2018), RecSys, 279-287.  doi:10.1145/3240323.3240355
    """
    users = scan(train).group_by(pl.col("item").cast(pl.String)).agg(n=pl.col("user").n_unique())
    items = users.collect().sort("item")
    n = items["n"].to_numpy().astype(np.float64)
    values = exp2(exponent * log2(n / n.max(initial=1.0)))
    return pl.DataFrame({"item": items["item"], PROPENSITY: values})


def with_catalogue_size(
    conventions: Conventions, tables: Mapping[str, Data | None], columns: TableColumns | None
) -> Conventions:
    """Return the conventions with a number where `candidates` names the table of its items.

    Raises
    ------
    InputError
        If the table is not given or invalid, or the number does not fit that of negatives.
    """

    def count(role: str) -> int:
        if (data := tables.get(role)) is None:
            raise missing_catalogue_error(role)
        table = replace(open_table(role, data, check_columns(columns or {})), is_hashed=False)
        with in_memory() as connection:
            return count_items(LOADERS[role](connection, table).quality)

    return conventions.with_catalogue_size(count)


def missing_catalogue_error(role: str) -> InputError:
    """Return the error if the table whose items `candidates` counts is not given."""
    problem = f"is {role}, and `{role}` is not given"
    fix = f"give `{role}`, or write the number of items"
    return refuse(("conventions", "candidates", "catalogue"), problem, fix)


def refuse_missing(task: Task, *, has_train: bool, catalogue: Catalogue | None) -> None:
    """Raise if a metric needs data that is missing."""
    for label in dict.fromkeys([*task.labels, *(each.label for each in task.definitions)]):
        conventions = label.conventions(task.conventions)
        needs = set(label.metric.needs)
        if label.name in {"Coverage", "Gini"}:
            where = (
                conventions.coverage_items if label.name == "Coverage" else conventions.gini_items
            )
            needs |= {"train": {"train"}, "catalogue": {"items"}}.get(where, set())
        if label.name == "Serendipity":
            needs |= {"items"} if conventions.serendipity_kind == "popularity" else {"features"}
        available = {
            "train": has_train,
            "items": catalogue is not None,
            "features": catalogue is not None and catalogue.features is not None,
            "groups": catalogue is not None and catalogue.groups is not None,
            "k": True,
        }
        missing = sorted(need for need in needs if not available[need])
        if missing:
            descriptions = {
                "train": "train (user, item)",
                "items": "items (the catalogue)",
                "features": "items with `categories` or `vector`",
                "groups": "items with the column `group` named",
            }
            needed = " and ".join(descriptions[need] for need in missing)
            msg = f"{label}: needs {needed}; give it, or leave the metric out"
            raise ValueError(msg)


def _features(lists: pl.Series) -> Floats | None:
    rows = np.arange(len(lists), dtype=np.int64)
    cells = pl.DataFrame({"row": rows, "value": lists}).drop_nulls()
    if lists.dtype != pl.Null:
        cells = cells.explode("value").drop_nulls()
    if cells.is_empty():
        return None
    row, value = cells
    if value.dtype == pl.String:
        number = value.rank("dense").to_numpy() - 1
        matrix = np.zeros((len(lists), number.max() + 1))
        matrix[row.to_numpy(), number] = 1.0
    else:
        filled = row.unique(maintain_order=True).to_numpy()
        matrix = np.zeros((len(lists), len(row) // len(filled)))
        matrix[filled] = value.to_numpy().reshape(len(filled), -1)
    return matrix
