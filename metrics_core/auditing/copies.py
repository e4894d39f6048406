"""Items that are one thing under two ids, users who are one person under two: the truth may stand in train under the other.

Items are copies if they have the same title (but for capitals and spaces), the same vector (other than 0), or nearly the
same users in train; users are copies if they have nearly the same items in train. Nearly the same: of at least ten each,
Jaccard's share, |A and B| / |A or B|, >= 4/5. What is a copy of a copy is a copy.

No table is joined with itself: equal titles and vectors meet by their values. Sets are looked for by min-hashing: 32
hashes h(x) = (a x + b) mod (2^31 - 1) of the md5 of an id, the least of each in 8 bands of 4; sets that agree in a band
stand side by side there by their size, and neighbours are counted exactly. So every pair that is told is one; a pair
with share s meets in some band with probability 1 - (1 - s^4)^8: 0.985 at 0.8, 0.9998 at 0.9, 1 at 1.

References
----------
Broder (1997), Compression and Complexity of Sequences, 21-29.  doi:10.1109/SEQUEN.1997.666900  (sets of shingles)
Leskovec, Rajaraman & Ullman (2014), Mining of Massive Datasets, 2nd edition, section 3.4  (bands)
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from concord.metrics_core.auditing.checks import EXAMPLES, Check
from concord.metrics_core.auditing.tables import Tables

Kind = Literal["item", "user"]
FEWEST = 10  # users of an item, items of a user
SHARE = (4, 5)  # of what both have together
BANDS, ROWS = 8, 4
_PRIME = 2**31 - 1
_TITLE = r"lower(trim(regexp_replace(title, '\s+', ' ', 'g')))"
_EQUAL = {
    "title": (f"nullif({_TITLE}, '')", "the same title"),
    "vector": (
        "CASE WHEN list_min(vector) <> 0 OR list_max(vector) <> 0 THEN vector END",
        "the same vector",
    ),
}
ITEM_COPIES = Check(
    "item_copies",
    """SELECT t.user, t.item, NULL AS this, CAST(min(r.item) AS VARCHAR) AS other
       FROM (SELECT user, item, copy FROM truth JOIN copies_of_item ON item = one) AS t
       JOIN (SELECT user, item, copy FROM train JOIN copies_of_item ON item = one) AS r
       ON t.user = r.user AND t.copy = r.copy AND t.item <> r.item GROUP BY t.user, t.item""",
    "truth",
    "user {user}: the truth has item {item}, train has its copy {other}",
)
USER_COPIES = Check(
    "user_copies",
    """SELECT t.user, t.item, NULL AS this, CAST(min(r.user) AS VARCHAR) AS other
       FROM (SELECT user, item, copy FROM truth JOIN copies_of_user ON user = one) AS t
       JOIN (SELECT user, item, copy FROM train JOIN copies_of_user ON user = one) AS r
       ON t.item = r.item AND t.copy = r.copy AND t.user <> r.user GROUP BY t.user, t.item""",
    "truth",
    "user {user}: the truth has item {item}, train has it of {other}, who is a copy",
)


@dataclass(frozen=True)
class Copies:
    """How many have a copy, by which signs these are known, and some of them."""

    number: int
    signs: tuple[tuple[str, int], ...]
    examples: tuple[str, ...]


def find_copies(tables: Tables, kind: Kind) -> Copies:
    """Makes the table `copies_of_<kind>`: `one`, and `copy`, the number of those who are copies of each other."""
    found = {}
    if kind == "item":
        found = {_EQUAL[name][1]: _equal(tables, _EQUAL[name][0]) for name in tables.copied}
    other = "users" if kind == "item" else "items"
    found[f"nearly the same {other} in train"] = _alike(tables, kind)
    pairs = pl.concat(found.values())
    ids, copy = _together(pairs)
    grouped = pl.DataFrame({"one": ids, "copy": copy})
    tables.connection.register(f"copies_of_{kind}", grouped.to_arrow())
    told = pairs.unique().sort("a", "b").head(EXAMPLES)
    examples = tuple(f"{kind}s {str(a)!r} and {str(b)!r} are copies" for a, b in told.rows())
    signs = tuple((sign, len(each.unique())) for sign, each in found.items())
    return Copies(len(ids), signs, examples)


def _equal(tables: Tables, key: str) -> pl.DataFrame:
    """Each item with the first of those that have the same key."""
    query = f"""SELECT a, item AS b FROM (SELECT item, min(item) OVER (PARTITION BY key) AS a
        FROM (SELECT item, {key} AS key FROM items) WHERE key IS NOT NULL) WHERE a <> item"""
    return pl.DataFrame(tables.connection.sql(query).to_arrow_table())


def _alike(tables: Tables, kind: Kind) -> pl.DataFrame:
    """Pairs of sets with a share of at least SHARE, counted exactly; which are counted, min-hashing says."""
    c, member = tables.connection, "user" if kind == "item" else "item"
    drawn = np.random.Generator(np.random.PCG64(1)).integers(1, _PRIME, (BANDS * ROWS, 2))
    least = ", ".join(
        f"min(({a} * x + {b}) % {_PRIME}) AS h{n}" for n, (a, b) in enumerate(drawn.tolist())
    )
    c.execute(
        f"""CREATE OR REPLACE TEMP TABLE signed AS SELECT {kind} AS one, count(*) AS n, {least}
        FROM train JOIN (SELECT {member}, CAST(md5_number_lower(CAST({member} AS VARCHAR)) % {_PRIME} AS BIGINT) AS x
                         FROM (SELECT DISTINCT {member} FROM train)) USING ({member})
        GROUP BY {kind} HAVING count(*) >= {FEWEST}"""
    )
    bands = " UNION ALL ".join(
        f"SELECT one, n, {band} AS band, [{', '.join(f'h{band * ROWS + row}' for row in range(ROWS))}] AS least FROM signed"
        for band in range(BANDS)
    )
    of, over = SHARE
    query = f"""
    WITH near AS (SELECT DISTINCT lag(one) OVER side AS a, lag(n) OVER side AS n_a, one AS b, n AS n_b FROM ({bands})
                  WINDOW side AS (PARTITION BY band, least ORDER BY n, one)),
    met AS (SELECT a, b, n_a, n_b, count(*) AS shared
            FROM (FROM near WHERE a IS NOT NULL AND {over} * n_a >= {of} * n_b)
            JOIN train AS of_a ON of_a.{kind} = a JOIN train AS of_b ON of_b.{kind} = b AND of_b.{member} = of_a.{member}
            GROUP BY ALL)
    SELECT least(a, b) AS a, greatest(a, b) AS b FROM met WHERE {over} * shared >= {of} * (n_a + n_b - shared)"""
    return pl.DataFrame(c.sql(query).to_arrow_table())


def _together(pairs: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
    """All ids of the pairs, and for each the number of those with whom it is connected."""
    from scipy import sparse  # as for Student's t: it takes its time

    ids = pl.concat([pairs["a"], pairs["b"]]).unique().sort().alias("one")
    a, b = (ids.search_sorted(pairs[name]).to_numpy() for name in ("a", "b"))
    edges = sparse.coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(len(ids), len(ids)))
    _, copy = sparse.csgraph.connected_components(edges, directed=False)
    return ids, pl.Series("copy", copy.astype(np.int64))
