"""Presets: their table (`standard`, texts, libraries), and conventions as a preset with changes."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from concord.metrics_core.conventions.convention import is_number
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.data_conventions import DATA_CONVENTIONS
from concord.metrics_core.conventions.library_presets import (
    ABOVE_ZERO,
    LIBRARY_PRESETS,
    SEARCH_PRESETS,
    Preset,
)
from concord.metrics_core.conventions.option_types import PresetName, PresetOptions
from concord.metrics_core.conventions.registry import CONVENTION, PRESET_CONVENTIONS, suggest
from concord.metrics_core.errors import Problem, refuse

_PRESET = ("conventions", "preset")
UNWEIGHTED = "unweighted"  # definition of a panel: as configured, but without the propensity
STANDARD: Mapping[str, Any] = {each.name: each.default for each in PRESET_CONVENTIONS}

# The texts take a list in the order given, copies included.
_AS_GIVEN = {"ties": "given", "duplicates": "keep"}

_MINNESOTA = {**_AS_GIVEN, "ap_denominator": "hits"}
_AMITNESS = {**_AS_GIVEN, "ap_denominator": "relevant", "rr_cutoff": "none", "ideal": "retrieved"}

PRESETS: Mapping[str, Preset] = {
    "standard": Preset(
        "Concord's own: truth-based denominators, min(k, R) for AP, linear gain, log2.", {}
    ),
    "bellei": Preset(
        "Bellei 2017, The confusion over information retrieval metrics in Recommender Systems.",
        {
            **_AS_GIVEN,
            "ap_denominator": "hits",
            "gain": "exp2",
            "discount": {"log": 2.718281828459045},
            "ideal": "retrieved_at_k",
        },
        metrics="P R F1 AP RR nDCG",
    ),
    "wikipedia": Preset(
        "Wikipedia, Discounted cumulative gain: linear gain, ideal over all judged items.",
        _AS_GIVEN,
        metrics="CG DCG nDCG",
    ),
    "wikipedia_exp": Preset(
        "Wikipedia, Discounted cumulative gain: the form with gain 2^grade - 1.",
        {**_AS_GIVEN, "gain": "exp2"},
        metrics="DCG nDCG",
    ),
    "recohut_ndcg_one": Preset(
        "recohut, NDCG: `ndcg_one`, binary, ideal of the retrieved top k.",
        {**_AS_GIVEN, "gain": "binary", "ideal": "retrieved_at_k"},
        metrics="nDCG",
    ),
    "recohut_method0": Preset(
        "recohut, NDCG: `ndcg_at_k` with method 0, the first two ranks undiscounted.",
        {**_AS_GIVEN, "discount": {"jk": 2}, "ideal": "retrieved"},
        metrics="DCG nDCG",
    ),
    "recohut_method1": Preset(
        "recohut, NDCG: `ndcg_at_k` with method 1, ideal of the whole retrieved list.",
        {**_AS_GIVEN, "ideal": "retrieved"},
        metrics="DCG nDCG",
    ),
    "minnesota": Preset(
        "University of Minnesota, Rank-aware top-N metrics: the first b = 2 ranks undiscounted.",
        {**_MINNESOTA, "discount": {"jk": 2}},
        metrics="RR AP DCG nDCG Spearman FCP",
    ),
    "minnesota_halflife": Preset(
        "University of Minnesota, Rank-aware top-N metrics: "
        "half-life discount, half the users reach rank 5.",
        {**_MINNESOTA, "discount": {"halflife": 5}},
        metrics="DCG nDCG",
    ),
    "amitness": Preset(
        "Evaluation Metrics For Information Retrieval: "
        "AP over all relevant items, retrieved ideal.",
        _AMITNESS,
        metrics="P R F1 RR AP CG DCG nDCG",
    ),
    "amitness_exp": Preset(
        "Evaluation Metrics For Information Retrieval: the form with gain 2^grade - 1.",
        {**_AMITNESS, "gain": "exp2"},
        metrics="DCG nDCG",
    ),
    **LIBRARY_PRESETS,
    **SEARCH_PRESETS,
}


CUSTOM = "custom"  # the name of conventions without a preset
ConventionsLike = Conventions | PresetName | PresetOptions


def presets() -> list[str]:
    """Return the names of all presets."""
    return list(PRESETS)


def preset(name: str, **overrides: Any) -> Conventions:
    """Return the conventions of a preset, with changes.

    Parameters
    ----------
    name : str
        One of `concord.presets()`.
    **overrides : Any
        Conventions that differ from the preset.

    Returns
    -------
    Conventions
        Their preset is "custom" if a value differs from the preset. The scale of the grades
        (`relevance_threshold`, `err_max_grade`, `hlu_neutral`) belongs to the data and may differ.

    Raises
    ------
    InputError
        If the preset, a convention or a value is unknown.
    """
    _refuse_unknown(name)
    values = {**STANDARD, **PRESETS[name].differs, **overrides}
    conventions = Conventions.from_mapping({"overrides": {}, **values, "preset": name})
    if differences_from_preset(conventions):
        return Conventions.from_mapping({**values, "preset": CUSTOM})
    return conventions


def resolve_conventions(conventions: ConventionsLike | Mapping[str, Any]) -> Conventions:
    """Return conventions from a preset's name, or from a dict of a preset's name and changes.

    A dict with the preset "custom" must have all conventions.

    Raises
    ------
    InputError
        If the preset, a convention or a value is unknown or missing.
    """
    if isinstance(conventions, Conventions):
        return conventions
    if isinstance(conventions, str):
        return preset(conventions)
    if not isinstance(conventions, Mapping):
        message = (
            'must be a preset\'s name, a dict or `concord.preset("standard")`, '
            f"not {type(conventions).__name__}"
        )
        raise refuse("conventions", message, 'write conventions="standard"')
    name = conventions.get("preset")
    values = {key: value for key, value in conventions.items() if key != "preset"}
    if name is None:
        fix = 'add "preset": "standard", or the name of another one'
        raise refuse(_PRESET, "is missing: the other conventions have no values", fix)
    if not isinstance(name, str):
        raise refuse(_PRESET, f"is {name!r}", "write the name of a preset, or custom")
    if invalid := [key for key in values if not isinstance(key, str)]:
        location = ("conventions", repr(invalid[0]))
        raise refuse(location, "is not a convention", "write names of conventions as text")
    return Conventions.from_mapping(conventions) if name == CUSTOM else preset(name, **values)


def defines(name: str, metric: str) -> bool:
    """True if the text or library that a preset stands for defines this metric."""
    return not PRESETS[name].metrics or metric in PRESETS[name].metrics.split()


def differences_from_preset(conventions: Conventions) -> dict[str, tuple[Any, Any]]:
    """Return the differences from the named preset: {convention: (value, preset's value)}."""
    if conventions.preset == CUSTOM:
        return {}
    _refuse_unknown(conventions.preset)
    expected: Mapping[str, Any] = {**STANDARD, **PRESETS[conventions.preset].differs}
    differences = {
        name: (value, expected[name])
        for name, value in conventions.preset_values().items()
        if value != expected[name] and not differs_in_scale(name, value, expected[name])
    }
    if conventions.overrides != expected.get("overrides", {}):
        differences["overrides"] = (dict(conventions.overrides), expected.get("overrides", {}))
    return differences


def differs_in_scale(name: str, value: Any, preset_value: Any) -> bool:
    """True if a value differs from a preset's only in the scale of the grades.

    The scale belongs to the data, unless the preset ignores grades: then it has null.
    """
    if name not in CONVENTION or not CONVENTION[name].sets_scale:
        return False
    return CONVENTION[name].accepts(value) and is_number(preset_value)


def with_data_conventions(conventions: Conventions, data: Conventions) -> Conventions:
    """Return conventions with those conventions of `data` that belong to the data.

    These are the scale of the grades, unit, candidates, propensity and fairness target.
    """
    overrides = dict(conventions.overrides)
    for metric, values in data.overrides.items():
        if scale := _scale(values, conventions.for_key(metric)):
            overrides[metric] = {**overrides.get(metric, {}), **scale}
    changes = {each.name: getattr(data, each.name) for each in DATA_CONVENTIONS}
    changes |= _scale(data.preset_values(), conventions)
    return replace(conventions, overrides=overrides, **changes)


def _scale(values: Mapping[str, Any], other: Conventions) -> dict[str, Any]:
    return {
        name: value
        for name, value in values.items()
        if is_number(value)
        and getattr(other, name) != ABOVE_ZERO
        and differs_in_scale(name, value, getattr(other, name))
    }


def preset_problems(name: Any) -> list[Problem]:
    """Return the problems of a preset's name."""
    if not isinstance(name, str) or name == CUSTOM or name in PRESETS:
        return []
    return [Problem(_PRESET, f"{name!r} is not a preset", suggest(name, {*PRESETS, CUSTOM}))]


def _refuse_unknown(name: str) -> None:
    if not isinstance(name, str) or name not in PRESETS:
        raise refuse(_PRESET, f"{name!r} is not a preset", suggest(name, set(PRESETS)))
