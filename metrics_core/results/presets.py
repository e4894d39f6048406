"""The results of `preset` and `presets`: conventions by name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack, cast, overload

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.option_types import ConventionOptions, PresetName
from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.conventions.presets import preset as conventions_of_preset
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.results.base import BaseResult, frame_of

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class ConventionValue:
    """A convention's value.

    Attributes
    ----------
    metric : str or None
        The metric, or its labels with a cutoff (`RR@k`), that the value is for; None for all.
    meaning : str
        Meaning of the value, or of the convention if the value explains itself.
    """

    metric: str | None
    convention: str
    value: Any
    meaning: str


def convention_values(conventions: Conventions) -> list[ConventionValue]:
    """Return the conventions of a preset, then those that are overridden for single metrics."""
    by_metric: list[tuple[str | None, Mapping[str, Any]]] = [
        (None, conventions.preset_values()),
        *conventions.overrides.items(),
    ]
    return [
        ConventionValue(
            metric, name, value, CONVENTION[name].explain(value) or CONVENTION[name].meaning
        )
        for metric, values in by_metric
        for name, value in values.items()
    ]


@dataclass(frozen=True, repr=False, eq=False)
class PresetConventions(BaseResult, Conventions):
    """Conventions that `preset` returns; any argument `conventions` accepts them.

    Examples
    --------
    >>> import concord as cc
    >>> rectools = cc.preset("rectools")
    >>> rectools.preset, rectools.ideal
    ('rectools', 'full_k')
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Conventions) and vars(self) == vars(other)

    __hash__ = Conventions.__hash__

    def to_dict(self) -> dict[str, Any]:
        """Return the conventions as params.yaml holds them."""
        return self.as_dict()

    def to_frame(self) -> "pl.DataFrame":
        """Return metric (null for all), convention, value as text and meaning."""
        import polars as pl

        rows = [vars(each) | {"value": str(each.value)} for each in convention_values(self)]
        return pl.DataFrame(rows, schema=dict.fromkeys(rows[0], pl.String))


@dataclass(frozen=True)
class PresetDescription:
    """A preset.

    Attributes
    ----------
    sentence : str
        The text or library that it stands for.
    metrics : str
        Names of the metrics that it defines; empty for all.
    package : str
        Library and version that it is checked against; empty if there is none.
    """

    name: PresetName
    sentence: str
    metrics: str
    package: str


@dataclass(frozen=True, repr=False)
class PresetList(BaseResult, Sequence[PresetName]):
    """The names of all presets, with their descriptions.

    Examples
    --------
    >>> import concord as cc
    >>> presets = cc.presets()
    >>> presets[0], "ranx" in presets
    ('standard', True)
    """

    descriptions: tuple[PresetDescription, ...]

    @overload
    def __getitem__(self, index: int) -> PresetName: ...
    @overload
    def __getitem__(self, index: slice) -> list[PresetName]: ...
    def __getitem__(self, index: int | slice) -> PresetName | list[PresetName]:
        return [each.name for each in self.descriptions][index]

    def __len__(self) -> int:
        return len(self.descriptions)

    def __iter__(self) -> Iterator[PresetName]:
        return (each.name for each in self.descriptions)

    def to_frame(self) -> "pl.DataFrame":
        """Return name, sentence, metrics and package; one row per preset."""
        return frame_of(PresetDescription, self.descriptions)


def preset(name: "PresetName", **overrides: "Unpack[ConventionOptions]") -> "PresetConventions":
    """Return the conventions of a preset, some of them with other values.

    Parameters
    ----------
    name : str
        One of `concord.presets()`.
    **overrides : Any
        Conventions that differ from the preset.

    Returns
    -------
    PresetConventions
        Their name is "custom" if a value differs from the preset's, except for the scale of the
        grades (`relevance_threshold`, `err_max_grade`, `hlu_neutral`), which belongs to the data.

    Raises
    ------
    ValueError
        If the preset, a convention or a value is unknown.

    Examples
    --------
    >>> import concord as cc
    >>> cc.preset("rectools").ideal
    'full_k'
    """
    return PresetConventions(**vars(conventions_of_preset(name, **overrides)))


def presets() -> "PresetList":
    """Return the names of all presets, with their descriptions.

    Returns
    -------
    PresetList
        A sequence of names; shown, it describes each.

    Examples
    --------
    >>> import concord as cc
    >>> "ir_measures" in cc.presets()
    True
    """
    return PresetList(
        tuple(
            PresetDescription(cast(PresetName, name), each.sentence, each.metrics, each.package)
            for name, each in PRESETS.items()
        )
    )
