"""What leaves the order of lists to conventions: copies of items, and equal scores."""

from typing import NamedTuple

from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.data.ranking import choose_order
from concord.metrics_core.data.read_source import Source
from concord.metrics_core.data.relations import only_row


class Ambiguity(NamedTuple):
    """What leaves the order of lists to conventions.

    Attributes
    ----------
    has_copies : bool
        True if a list has an item twice.
    has_ties, has_close_scores : bool
        True if scores order the lists, and two scores of a list are equal, or are equal in single
        precision only.
    has_other_order : bool
        True if scores order the lists, and a list has another order in the file.
    """

    has_copies: bool
    has_ties: bool
    has_close_scores: bool
    has_other_order: bool

    def simplest(self, ranking: Ranking, pinned: Ranking) -> Ranking | None:
        """Return the ranking with the pinned values of conventions that do not matter.

        None if the ranking refuses the lists.
        """
        has_ties = self.has_ties or (self.has_close_scores and ranking.score_dtype != "float64")
        is_refused = (self.has_copies and ranking.duplicates == "error") or (
            has_ties and ranking.ties == "error"
        )
        if is_refused:
            return None
        if not self.has_copies:
            ranking = ranking._replace(duplicates=pinned.duplicates)
        if not self.has_close_scores:
            ranking = ranking._replace(score_dtype=pinned.score_dtype)
        is_moved = self.has_other_order and "given" in (ranking.ties, pinned.ties)
        if not (has_ties or is_moved):
            ranking = ranking._replace(ties=pinned.ties)
        return ranking


def find_ambiguity(connection: DuckDBPyConnection, lists: Source) -> Ambiguity:
    """Return what leaves the order of the lists in the table `given` to conventions."""
    query = "SELECT count(*) - count(DISTINCT hash(user, item)) FROM given"
    (n_copies,) = only_row(connection, query)
    if choose_order(lists, "input") != "score":
        return Ambiguity(
            n_copies > 0, has_ties=False, has_close_scores=False, has_other_order=False
        )
    place = "rank" if "rank" in lists.columns else "position"
    query = f"""
        SELECT count(*), count(DISTINCT hash(user, score)),
            count(DISTINCT hash(user, TRY_CAST(score AS FLOAT))), count(*) FILTER (score > above)
        FROM (SELECT *, lag(score) OVER (PARTITION BY user ORDER BY {place}) AS above FROM given)"""
    n_rows, n_scores, n_short_scores, n_moved = only_row(connection, query)
    return Ambiguity(n_copies > 0, n_scores < n_rows, n_short_scores < n_scores, n_moved > 0)
