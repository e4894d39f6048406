"""Rankings of a model's lists: which of them give the same lists, and means under each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from duckdb import DuckDBPyConnection

from concord.metrics_core.conventions.conventions import Conventions, Ranking
from concord.metrics_core.data.relations import only_row
from concord.metrics_core.errors import InputError
from concord.metrics_core.evaluation.accumulator import definition_mean
from concord.metrics_core.evaluation.inputs import LoadedInputs
from concord.metrics_core.evaluation.panel import Definition
from concord.metrics_core.evaluation.partition import Task, evaluate_partition

BATCH_SIZE = 64  # definitions that are computed in one pass


class _Traits(NamedTuple):
    """Whether a list has an item twice, a score twice, and more equal scores in single precision.

    And whether items are text.
    """

    copies: bool
    ties: bool
    more_ties: bool
    text_items: bool


@dataclass
class ModelLists:
    """A model's lists, which are ranked again for definitions that rank otherwise.

    Attributes
    ----------
    rank : callable
        Rank the lists, and return a connection with them as `lists`; raises InputError if the
        ranking refuses them, as `duplicates: error` refuses copies.
    compute_means : callable
        Return the mean of each definition on the lists as they were ranked last.
    """

    rank: Callable[[Ranking], DuckDBPyConnection]
    compute_means: Callable[[Conventions, Sequence[Definition]], Sequence[float]]
    _digests: dict[Ranking, int | None] = field(default_factory=dict)
    _traits: dict[Ranking, _Traits] = field(default_factory=dict)
    _ranked_last: tuple[Ranking, DuckDBPyConnection] | None = None

    def digest(self, ranking: Ranking) -> int | None:
        """Return a number that is equal for equally ranked lists; None if they are refused."""
        ranking = self._same_ranking(ranking)
        if ranking not in self._digests:
            try:
                self._digests[ranking] = _digest(self._rank(ranking))
            except InputError:
                self._ranked_last = self._digests[ranking] = None
        return self._digests[ranking]

    def means(self, conventions: Conventions, definitions: Sequence[Definition]) -> list[float]:
        """Return the mean of each definition; those that rank alike are computed together."""
        groups: dict[Ranking, list[Definition]] = {}
        for each in definitions:
            groups.setdefault(each.conventions.ranking, []).append(each)
        means: dict[int, float] = {}
        for ranking, group in reversed(groups.items()):  # the pinned one is last, and first again
            self._rank(self._same_ranking(ranking))
            ranked = replace(conventions, overrides={}, **ranking._asdict())
            for start in range(0, len(group), BATCH_SIZE):
                batch = group[start : start + BATCH_SIZE]
                numbers = (each.number for each in batch)
                means |= zip(numbers, self.compute_means(ranked, batch), strict=True)
        return [means[each.number] for each in definitions]

    def _rank(self, ranking: Ranking) -> DuckDBPyConnection:
        if self._ranked_last is None or self._ranked_last[0] != ranking:
            self._ranked_last = ranking, self.rank(ranking)
        return self._ranked_last[1]

    def _same_ranking(self, ranking: Ranking) -> Ranking:
        """Return one ranking for all that lists without ties or copies do not tell apart."""
        plain = Ranking("item_asc", "keep", "float64", ranking.exclude)
        if plain not in self._traits:
            self._traits[plain] = _find_traits(self._rank(plain))
        traits, by_score = self._traits[plain], ranking.ties != "given"
        if not traits.copies:
            ranking = ranking._replace(duplicates=plain.duplicates)
        if not (traits.more_ties and by_score):
            ranking = ranking._replace(score_dtype=plain.score_dtype)
        if by_score and not (traits.ties or traits.more_ties):
            ranking = ranking._replace(ties=plain.ties)
        if traits.text_items:
            ranking = ranking._replace(ties=ranking.ties.replace("item_text_", "item_"))
        return ranking


@dataclass
class Rankings:
    """Rankings of the lists of all models, and which of them give the same lists."""

    models: Collection[ModelLists]
    _simplest: dict[tuple[Ranking, Any], Ranking] = field(default_factory=dict)

    def simplest(self, ranking: Ranking, pinned: Ranking) -> Ranking | None:
        """Return a ranking with the same lists that differs in less from the pinned one.

        None if the lists of a model are refused.
        """
        contents = self._contents(ranking)
        if None in contents:
            return None
        if contents == self._contents(pinned):
            return pinned
        if (pinned, contents) not in self._simplest:
            for name, value in pinned._asdict().items():
                simpler = ranking._replace(**{name: value})
                if self._contents(simpler) == contents:
                    ranking = simpler
            self._simplest[pinned, contents] = ranking
        return self._simplest[pinned, contents]

    def is_idle(self, name: str, value: Any, pinned: Sequence[Conventions]) -> bool:
        """True if a convention ranks the lists as the pinned ones do, or refuses them."""
        rankings = {own.ranking for own in pinned}
        changed = {each: each._replace(**{name: value}) for each in rankings}
        return all(self.simplest(new, each) in (None, each) for each, new in changed.items())

    def _contents(self, ranking: Ranking) -> tuple[int | None, ...]:
        return tuple(model.digest(ranking) for model in self.models)


def loaded_lists(inputs: LoadedInputs) -> ModelLists:
    """Return the lists of the loaded tables."""

    def rank(ranking: Ranking) -> DuckDBPyConnection:
        inputs.rank([ranking])
        return inputs.connection

    def compute_means(conventions: Conventions, definitions: Sequence[Definition]) -> list[float]:
        task = Task((), conventions, definitions=definitions)
        part = evaluate_partition(inputs.connection, task)
        return [definition_mean([part.values], definition) for definition in definitions]

    return ModelLists(rank, compute_means)


def _digest(connection: DuckDBPyConnection) -> int:
    """Return a number that is equal for equally ranked lists, whatever the order of the rows."""
    ties = "NULL"
    if "tie_first" in connection.sql("FROM lists").columns:
        ties = "CASE WHEN tie_first < tie_last THEN hash(tie_first, tie_last) END"
    query = f"SELECT coalesce(bit_xor(hash(user, item, rank, {ties})), 0) FROM lists"
    (digest,) = only_row(connection, query)
    return int(digest)


def _find_traits(connection: DuckDBPyConnection) -> _Traits:
    columns, scores = connection.sql("FROM lists").columns, ("rank", "rank")
    if "score" in columns:
        scores = ("score", "TRY_CAST(score AS FLOAT)")
    counts = (f"count(DISTINCT hash(user, {value}))" for value in ("item", *scores))
    query = f"SELECT count(*), {', '.join(counts)}, any_value(typeof(item)) FROM lists"
    n_rows, n_items, n_scores, n_short_scores, item_type = only_row(connection, query)
    has_text = item_type == "VARCHAR"
    return _Traits(n_items < n_rows, n_scores < n_rows, n_short_scores < n_scores, has_text)
