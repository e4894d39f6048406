"""Which rankings give a model's lists the same order."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from concord.metrics_core.conventions.conventions import Ranking
from concord.metrics_core.evaluation.inputs import LoadedInputs


@dataclass
class ListOrders:
    """The orders that rankings give to the lists of some models."""

    models: Sequence[LoadedInputs]
    _simplest: dict[tuple[Ranking, tuple[int | None, ...]], Ranking] = field(default_factory=dict)

    def simplest(self, ranking: Ranking, pinned: Ranking) -> Ranking | None:
        """Return one ranking for all that order the lists alike, with the pinned values if it can.

        None if the ranking refuses the lists of a model.
        """
        orders = self._orders(ranking)
        if None in orders:
            return None
        if (pinned, orders) not in self._simplest:
            simplest = pinned if self._orders(pinned) == orders else ranking
            by_id = {"ties": ranking.ties.replace("item_text_", "item_")}
            for changes in (by_id, *({name: value} for name, value in pinned._asdict().items())):
                simpler = simplest._replace(**changes)
                simplest = simpler if self._orders(simpler) == orders else simplest
            self._simplest[pinned, orders] = simplest
        return self._simplest[pinned, orders]

    def _orders(self, ranking: Ranking) -> tuple[int | None, ...]:
        return tuple(model.order(ranking) for model in self.models)
