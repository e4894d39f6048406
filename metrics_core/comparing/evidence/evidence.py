"""All that a comparison rests on, in one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from concord.metrics_core.comparing.evidence.aligned import Aligned, align, nobody
from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evaluated import Ground, Models
from concord.metrics_core.comparing.evidence.unlisted import unlisted_models


@dataclass(frozen=True)
class Evidence:
    """What is asked, the results of each model, and the data behind all of them.

    told : is called when the users' values of another label are read
    """

    asked: Asked
    models: Models
    ground: Ground
    told: Callable[[], None] = nobody

    @cached_property
    def unlisted(self) -> dict[str, int]:
        """Models that lack the lists of most users, and of how many: they are not compared."""
        return unlisted_models(self.models, self.asked.max_missing_lists)

    @property
    def compared(self) -> list[str]:
        """The other models; all, where each lacks the lists of most users."""
        return [model for model in self.models if model not in self.unlisted] or [*self.models]

    @cached_property
    def aligned(self) -> Aligned:
        """The users' values of all models."""
        values = {m: [each.values for each in found.each] for m, found in self.models.items()}
        return align(values, self.told, self.asked.conventions.unit_mean)
