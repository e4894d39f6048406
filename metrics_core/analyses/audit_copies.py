"""Items that are one thing under two ids, and users who are one person: the truth may be in train under the other id.

Items are copies if they have the same title (apart from capitals and spaces), the same vector (other than 0), or nearly
the same users in train; users are copies if they have nearly the same items in train. Two sets are nearly the same if
both have at least ten members and Jaccard's share |A and B| / |A or B| is at least 4/5. A copy of a copy is a copy.

No table is joined with itself: equal titles and vectors are grouped by value. Pairs of sets are found by min-hashing: 32
hashes h(x) = (a x + b) mod (2^31 - 1) of the md5 of an id, the least of each in 8 bands of 4; sets that agree in a band
are sorted by size, and neighbours are counted exactly. So every reported pair is a true one; a pair with share s agrees
in some band with probability 1 - (1 - s^4)^8: 0.985 at 0.8, 0.9998 at 0.9, 1 at 1.

References
----------
Broder (1997), Compression and Complexity of Sequences, 21-29.  doi:10.1109/SEQUEN.1997.666900  (sets of shingles)
Leskovec, Rajaraman & Ullman (2014), Mining of Massive Datasets, 2nd edition, section 3.4  (bands)
"""

from typing import Literal

import numpy as np
import polars as pl

from concord.metrics_core.analyses.audit_checks import MAX_EXAMPLES, AuditTables, RowQuery
from concord.metrics_core.results.audit import MIN_SET_SIZE, Copies, Example

Kind = Literal["item", "user"]
MIN_SHARE = (4, 5)  # numerator and denominator
N_BANDS, BAND_SIZE = 8, 4
_PRIME = 2**31 - 1
_TITLE = r"lower(trim(regexp_replace(title, '\s+', ' ', 'g')))"
_KEYS = {  # column of `items` -> SQL of the value that copies share
    "title": f"nullif({_TITLE}, '')",
    "vector": "CASE WHEN list_min(vector) <> 0 OR list_max(vector) <> 0 THEN vector END",
}
ITEM_COPIES = RowQuery(
    "item_copies",
    """SELECT t.user, t.item, CAST(min(r.item) AS VARCHAR) AS copy
       FROM (SELECT user, item, copy FROM truth JOIN copies_of_item ON item = one) AS t
       JOIN (SELECT user, item, copy FROM train JOIN copies_of_item ON item = one) AS r
       ON t.user = r.user AND t.copy = r.copy AND t.item <> r.item GROUP BY t.user, t.item""",
    "truth",
)
USER_COPIES = RowQuery(
    "user_copies",
    """SELECT t.user, t.item, CAST(min(r.user) AS VARCHAR) AS copy
       FROM (SELECT user, item, copy FROM truth JOIN copies_of_user ON user = one) AS t
       JOIN (SELECT user, item, copy FROM train JOIN copies_of_user ON user = one) AS r
       ON t.item = r.item AND t.copy = r.copy AND t.user <> r.user GROUP BY t.user, t.item""",
    "truth",
)


def find_copies(tables: AuditTables, kind: Kind) -> tuple[Copies, tuple[Example, ...]]:
    """Return the number of copies, and examples of pairs.

    Creates the table `copies_of_<kind>`: `one`, an id, and `copy`, the number of its group of copies.
    """
    member: Kind = "user" if kind == "item" else "item"
    found = {}
    if kind == "item":
        found = {column: _equal_items(tables, _KEYS[column]) for column in tables.copy_columns}
    found[f"{member}s"] = _similar_sets(tables, kind, member)
    pairs = pl.concat(found.values())
    groups = _connected(pairs)
    tables.connection.register(f"copies_of_{kind}", groups.to_arrow())
    first = pairs.unique().sort("a", "b").head(MAX_EXAMPLES)
    examples = tuple({kind: str(a), "copy": str(b)} for a, b in first.rows())
    return Copies(len(groups), {sign: len(each.unique()) for sign, each in found.items()}), examples


def _equal_items(tables: AuditTables, key: str) -> pl.DataFrame:
    """Return pairs of each item with the first of those that have the same key."""
    query = f"""SELECT a, item AS b FROM (SELECT item, min(item) OVER (PARTITION BY key) AS a
        FROM (SELECT item, {key} AS key FROM items) WHERE key IS NOT NULL) WHERE a <> item"""
    return pl.DataFrame(tables.connection.sql(query).to_arrow_table())


def _similar_sets(tables: AuditTables, kind: Kind, member: Kind) -> pl.DataFrame:
    """Return pairs of sets with a share of at least `MIN_SHARE`; min-hashing selects the pairs that are counted."""
    random = np.random.Generator(np.random.PCG64(1))
    drawn = random.integers(1, _PRIME, (N_BANDS * BAND_SIZE, 2))
    least = ", ".join(
        f"min(({a} * x + {b}) % {_PRIME}) AS h{n}" for n, (a, b) in enumerate(drawn.tolist())
    )
    tables.connection.execute(
        f"""CREATE OR REPLACE TEMP TABLE signed AS SELECT {kind} AS one, count(*) AS n, {least}
        FROM train JOIN (SELECT {member}, CAST(md5_number_lower(CAST({member} AS VARCHAR)) % {_PRIME} AS BIGINT) AS x
                         FROM (SELECT DISTINCT {member} FROM train)) USING ({member})
        GROUP BY {kind} HAVING count(*) >= {MIN_SET_SIZE}"""
    )
    bands = " UNION ALL ".join(map(_band_sql, range(N_BANDS)))
    numerator, denominator = MIN_SHARE
    query = f"""
    WITH near AS (SELECT DISTINCT lag(one) OVER side AS a, lag(n) OVER side AS n_a, one AS b, n AS n_b FROM ({bands})
                  WINDOW side AS (PARTITION BY band, least ORDER BY n, one)),
    met AS (SELECT a, b, n_a, n_b, count(*) AS shared
            FROM (FROM near WHERE a IS NOT NULL AND {denominator} * n_a >= {numerator} * n_b)
            JOIN train AS of_a ON of_a.{kind} = a JOIN train AS of_b ON of_b.{kind} = b AND of_b.{member} = of_a.{member}
            GROUP BY ALL)
    SELECT least(a, b) AS a, greatest(a, b) AS b FROM met
    WHERE {denominator} * shared >= {numerator} * (n_a + n_b - shared)"""
    return pl.DataFrame(tables.connection.sql(query).to_arrow_table())


def _band_sql(band: int) -> str:
    hashes = ", ".join(f"h{band * BAND_SIZE + n}" for n in range(BAND_SIZE))
    return f"SELECT one, n, {band} AS band, [{hashes}] AS least FROM signed"


def _connected(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return all ids of the pairs (`one`), and the number of the component to which each belongs (`copy`)."""
    from scipy import sparse  # a slow import

    ids = pl.concat([pairs["a"], pairs["b"]]).unique().sort()
    a, b = (ids.search_sorted(pairs[name]).to_numpy() for name in ("a", "b"))
    edges = sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(len(ids), len(ids)))
    _, components = sparse.csgraph.connected_components(edges, directed=False)
    return pl.DataFrame({"one": ids, "copy": components.astype(np.int64)})
