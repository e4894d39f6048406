"""The result of `replay`: what of a decision was computed again, and what came out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from concord.metrics_core.results.base import OMIT_IF_NONE, BaseResult, frame_of

if TYPE_CHECKING:
    import polars as pl

Outcome = Literal["equal", "close", "different", "not_checked"]


@dataclass(frozen=True)
class ReplayedPart:
    """A part of a decision, or one of its inputs.

    Attributes
    ----------
    kind : {"comparison", "values", "input"}
        What it is: a key of comparison.json, values per user, or a table.
    name : str
        The key, the name of the lists, or the table with its path.
    outcome : {"equal", "close", "different", "not_checked"}
        close: other versions of programs gave numbers that differ by at most 1e-9. not_checked: it
        needs the inputs.
    difference : str or None
        The first difference.
    """

    kind: Literal["comparison", "values", "input"]
    name: str
    outcome: Outcome
    difference: str | None = field(default=None, metadata=OMIT_IF_NONE)


@dataclass(frozen=True, repr=False)
class Replay(BaseResult):
    """What of a decision was verified.

    Attributes
    ----------
    answer : str
        The first verdict of the decision.
    parts : tuple of ReplayedPart
        Parts of the comparison, values per user, and inputs.
    written_with, replayed_with : dict
        Program -> version.

    Examples
    --------
    >>> pairs = ReplayedPart("comparison", "pairs", "equal")
    >>> Replay("ease beats als.", (pairs,), {"numpy": "2.3.0"}, {"numpy": "2.3.0"}).outcome
    'inputs_not_seen'
    """

    answer: str
    parts: tuple[ReplayedPart, ...]
    written_with: Mapping[str, str]
    replayed_with: Mapping[str, str]

    @property
    def outcome(self) -> Literal["verified", "inputs_not_seen", "different"]:
        """`verified`: all was computed again from the inputs, and nothing is different."""
        if any(each.outcome == "different" for each in self.parts):
            return "different"
        has_values = any(each.kind == "values" for each in self.parts)
        is_complete = has_values and all(each.outcome != "not_checked" for each in self.parts)
        return "verified" if is_complete else "inputs_not_seen"

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per part, columns as the fields of `ReplayedPart`."""
        return frame_of(ReplayedPart, self.parts)
