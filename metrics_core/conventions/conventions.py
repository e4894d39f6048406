"""Conventions: the values of all conventions, and those of a single metric."""

import hashlib
import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple, Self

from concord.metrics_core.conventions.convention import Value
from concord.metrics_core.conventions.option_types import ConventionValues
from concord.metrics_core.conventions.registry import (
    CONVENTIONS,
    PRESET_CONVENTIONS,
    key_problems,
    value_problems,
)
from concord.metrics_core.errors import raise_problems

ANY_CUTOFF = "@k"  # ends the key of an override of labels with a cutoff
# Conventions that files omit unless they are set, and their defaults.
OPTIONAL: Mapping[str, Value] = {
    "own_metrics": {},
    **{
        each.name: each.default for each in CONVENTIONS if each.describes_data or each.omits_default
    },
}


class Ranking(NamedTuple):
    """The conventions that determine the order of a list."""

    ties: str
    duplicates: str
    score_dtype: str
    exclude: str | None = None


class Candidates(NamedTuple):
    """The convention `candidates`.

    Attributes
    ----------
    negatives : int
        Number of items that are ranked with the relevant one.
    catalogue : int
        Number of items in a full ranking: the relevant one and all that negatives are drawn from.
    """

    negatives: int
    catalogue: int

    @classmethod
    def from_mapping(cls, value: Mapping[str, Value]) -> Self:
        """Return the candidates from the convention's mapping."""
        return cls(value["negatives"], value["catalogue"])

    @property
    def others(self) -> int:
        """Number of items that negatives are drawn from."""
        return self.catalogue - 1


@dataclass(frozen=True, kw_only=True)
class Conventions(ConventionValues):
    """Values of all conventions; `docs/reference/conventions.md` explains each value.

    Attributes
    ----------
    preset : str
        Preset that the values are compared with; "custom" for none.
    overrides : Mapping[str, Mapping[str, Value]]
        {key: {convention: value}} of single metrics. The key "RR" applies to all labels of RR.
        "RR@k" applies to its labels with a cutoff and takes precedence.
    own_metrics : Mapping[str, str]
        SHA-256 of the code of each user-defined metric, by name; set by Concord.

    Examples
    --------
    >>> import concord as cc
    >>> conventions = cc.preset("standard", relevance_threshold=4)
    >>> isinstance(conventions, cc.metrics.Conventions)
    True
    >>> conventions.relevance_threshold, conventions.gain
    (4, 'linear')
    """

    overrides: Mapping[str, Mapping[str, Value]]
    own_metrics: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        raise_problems(value_problems(vars(self)))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Value]) -> Self:
        """Return conventions from plain data.

        Raises
        ------
        InputError
            If keys are missing or unknown, or values are invalid; all problems at once.
        """
        known = {each.name for each in fields(cls)}
        optional = {"overrides": {}, **OPTIONAL}
        values = {"preset": "custom", **optional, **mapping}
        raise_problems([*key_problems(mapping, known, optional), *value_problems(values)])
        return cls(**{**optional, **mapping})

    def with_catalogue_size(self, count: Callable[[str], int]) -> Self:
        """Return the conventions with a number where `candidates` names the table of its items.

        Parameters
        ----------
        count : callable
            Returns the number of items of the table `items` or `train`.
        """
        if self.candidates is None or not isinstance(self.candidates["catalogue"], str):
            return self
        size = count(self.candidates["catalogue"])
        return replace(self, candidates={**self.candidates, "catalogue": size})

    def preset_values(self) -> dict[str, Value]:
        """Return the conventions that presets set, by name, in documented order."""
        return {each.name: getattr(self, each.name) for each in PRESET_CONVENTIONS}

    def for_key(self, key: str) -> Self:
        """Return the conventions for a key of `overrides`, without overrides.

        See `Label.conventions` for those of a label.
        """
        general = self.overrides.get(key.removesuffix(ANY_CUTOFF), {})
        changed = {**general, **self.overrides.get(key, {})}
        return replace(self, overrides={}, **changed) if self.overrides else self

    @property
    def variants(self) -> list[Self]:
        """The general conventions, then those of each key of `overrides`."""
        return [self, *(self.for_key(key) for key in self.overrides)]

    @property
    def ranking(self) -> Ranking:
        """How lists are ranked, without overrides."""
        return Ranking(self.ties, self.duplicates, self.score_dtype, self.exclude)

    @property
    def rankings(self) -> list[Ranking]:
        """All ways in which lists are ranked: the general one, then those of overrides."""
        return list(dict.fromkeys(each.ranking for each in self.variants))

    def as_dict(self) -> dict[str, Value]:
        """Return plain data, as in params.yaml and in every result."""
        optional = self._optional_values()
        if self.exclude:
            optional["exclude"] = str(self.exclude)  # the name of pairs, without the pairs
        content = {"preset": self.preset, **self._required_values(), "overrides": self.overrides}
        return deepcopy({**content, **optional})

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that identify the values; the preset's name has no effect."""
        values = {"knobs": self._required_values(), "overrides": self.overrides}
        content = {**values, **self._optional_values()}
        text = json.dumps(content, sort_keys=True, default=str, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def _required_values(self) -> dict[str, Value]:
        return {name: v for name, v in self.preset_values().items() if name not in OPTIONAL}

    def _optional_values(self) -> dict[str, Value]:
        values = {name: getattr(self, name) for name in OPTIONAL}
        return {name: v for name, v in values.items() if v and v != OPTIONAL[name]}
