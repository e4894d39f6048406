"""The result of `replay`: what of a decision was computed again, and what came out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from concord.metrics_core.results.base import OMIT_IF_NONE, BaseResult, frame_of

if TYPE_CHECKING:
    import polars as pl

Outcome = Literal["equal", "close", "different", "not_checked"]
VALUES = "values"  # part: values per user, computed again from the inputs


@dataclass(frozen=True)
class ReplayedPart:
    """A part of a decision.

    Attributes
    ----------
    name : str
        Key of comparison.json, or `values`: the values per user.
    outcome : {"equal", "close", "different", "not_checked"}
        close: other versions gave numbers that differ by at most 1e-9; not_checked: it needs the
        inputs.
    difference : str or None
        The first difference.
    """

    name: str
    outcome: Outcome
    difference: str | None = field(default=None, metadata=OMIT_IF_NONE)


@dataclass(frozen=True)
class ReplayedInput:
    """A table of a decision; `outcome` says whether a table with its hash was found."""

    name: str
    path: str
    sha256: str
    outcome: Outcome


@dataclass(frozen=True, repr=False)
class Replay(BaseResult):
    """What of a decision was verified.

    Attributes
    ----------
    answer : str
        The first verdict of the decision.
    parts : tuple of ReplayedPart
        Parts of the comparison, and the values.
    inputs : tuple of ReplayedInput
        Tables of the comparison.
    taken : tuple of str
        Labels whose tests were taken as they are stored, because they need lists.
    written_with, replayed_with : dict
        Program -> version.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import concord as cc
    >>> from concord.metrics_core.decision.replay import replay
    >>> from concord.metrics_core.decision.result import Replay, ReplayedPart
    >>> result = Replay("ease beats als.", (ReplayedPart("pairs", "equal"),), (), (), {}, {})
    >>> result.outcome
    'inputs_not_seen'
    """

    answer: str
    parts: tuple[ReplayedPart, ...]
    inputs: tuple[ReplayedInput, ...]
    taken: tuple[str, ...]
    written_with: Mapping[str, str]
    replayed_with: Mapping[str, str]

    @property
    def outcome(self) -> Literal["verified", "inputs_not_seen", "different"]:
        """`verified`: all was computed again from the inputs, and nothing is different."""
        outcomes = {each.outcome for each in (*self.parts, *self.inputs)}
        if "different" in outcomes:
            return "different"
        is_complete = any(each.name == VALUES for each in self.parts)
        return "verified" if is_complete and "not_checked" not in outcomes else "inputs_not_seen"

    @property
    def has_same_versions(self) -> bool:
        """True if the same versions of programs wrote and replayed the decision."""
        return dict(self.written_with) == dict(self.replayed_with)

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per part: name, outcome and, if there is one, the first difference."""
        return frame_of(ReplayedPart, self.parts)
