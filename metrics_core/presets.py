"""Named conventions. A preset is a checked constant: what it promises is shown by a test, not by its name."""

from collections.abc import Mapping
from typing import Any

from metrics_core.conventions import KNOB, ConventionError, Conventions, is_number, nearest

_STANDARD: dict[str, Any] = {
    "relevance_threshold": 1,
    "truth_visible": "all",
    "ties": "item_asc",
    "duplicates": "error",
    "score_dtype": "float64",
    "precision_denominator": "k",
    "precision_aggregate": "macro",
    "recall_denominator": "relevant",
    "f1_aggregate": "per_user",
    "hit_kind": "indicator",
    "ap_denominator": "min_k_relevant",
    "ap_sum_over": "hits",
    "rr_cutoff": "k",
    "gain": "linear",
    "discount": {"log": 2},
    "ideal": "truth_at_k",
    "rbp_gain": "binary",
    "rbp_norm": "one_minus_p",
    "err_max_grade": 4,
    "user_no_recs": "zero",
    "user_empty_truth": "nan",
    "user_recs_only": "drop",
    "user_both_empty": "nan",
    "undefined": "skip",
    "round": None,
}

# The seeds' texts take a list as it is given, copies included.
_AS_GIVEN = {"ties": "given", "duplicates": "keep"}

# name: (one sentence, the knobs that differ from `standard`)
_PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "standard": (
        "Concord's own: truth-based denominators, min(k, R) for AP, linear gain, log2.",
        {},
    ),
    "bellei": (
        "Bellei 2017, The confusion over information retrieval metrics in Recommender Systems.",
        {
            **_AS_GIVEN,
            "ap_denominator": "hits",
            "gain": "exp2",
            "discount": {"log": 2.718281828459045},
            "ideal": "retrieved_at_k",
        },
    ),
    "wikipedia": (
        "Wikipedia, Discounted cumulative gain: linear gain, ideal over all judged items.",
        dict(_AS_GIVEN),
    ),
    "wikipedia_exp": (
        "Wikipedia, Discounted cumulative gain: the form with gain 2^grade - 1.",
        {**_AS_GIVEN, "gain": "exp2"},
    ),
    "recohut_ndcg_one": (
        "recohut, NDCG: `ndcg_one`, binary, ideal of the retrieved top k.",
        {**_AS_GIVEN, "gain": "binary", "ideal": "retrieved_at_k"},
    ),
    "recohut_method0": (
        "recohut, NDCG: `ndcg_at_k` with method 0, the first two ranks undiscounted.",
        {**_AS_GIVEN, "discount": {"jk": 2}, "ideal": "retrieved"},
    ),
    "recohut_method1": (
        "recohut, NDCG: `ndcg_at_k` with method 1, ideal of the whole retrieved list.",
        {**_AS_GIVEN, "ideal": "retrieved"},
    ),
    "minnesota": (
        "University of Minnesota, Rank-aware top-N metrics: the first b = 2 ranks undiscounted.",
        {**_AS_GIVEN, "ap_denominator": "hits", "discount": {"jk": 2}},
    ),
    "minnesota_halflife": (
        "University of Minnesota, Rank-aware top-N metrics: half-life discount, half the users reach rank 5.",
        {**_AS_GIVEN, "ap_denominator": "hits", "discount": {"halflife": 5}},
    ),
    "amitness": (
        "Evaluation Metrics For Information Retrieval: AP over all relevant items, retrieved ideal.",
        {**_AS_GIVEN, "ap_denominator": "relevant", "rr_cutoff": "none", "ideal": "retrieved"},
    ),
    "amitness_exp": (
        "Evaluation Metrics For Information Retrieval: the form with gain 2^grade - 1.",
        {
            **_AS_GIVEN,
            "ap_denominator": "relevant",
            "rr_cutoff": "none",
            "gain": "exp2",
            "ideal": "retrieved",
        },
    ),
}


def presets() -> list[str]:
    """The names of all presets."""
    return list(_PRESETS)


def describe(name: str) -> str:
    """One sentence that says what a preset stands for."""
    _refuse_unknown(name)
    return _PRESETS[name][0]


def preset(name: str, **overrides: Any) -> Conventions:
    """The conventions of a preset, with the knobs in `overrides` set otherwise.

    A preset whose values were changed is called `custom`; the scale of the grades
    (`relevance_threshold`, `err_max_grade`) belongs to the data and leaves the name.

    Raises
    ------
    ConventionError : unknown preset, unknown knob or a value that the knob does not allow
    """
    _refuse_unknown(name)
    values = {**_STANDARD, **_PRESETS[name][1], **overrides}
    conventions = Conventions.from_mapping({"overrides": {}, **values, "preset": name})
    return (
        Conventions.from_mapping({**values, "preset": "custom"})
        if departures(conventions)
        else conventions
    )


def departures(conventions: Conventions) -> dict[str, tuple[Any, Any]]:
    """The knobs whose values are not those of the preset that is named: {knob: (pinned, preset's)}."""
    if conventions.preset == "custom":
        return {}
    _refuse_unknown(conventions.preset)
    named: Mapping[str, Any] = {**_STANDARD, **_PRESETS[conventions.preset][1]}
    pinned = conventions.knobs()
    found = {
        name: (pinned[name], named.get(name))
        for name in pinned
        if pinned[name] != named[name] and not _only_another_scale(name, pinned[name], named[name])
    }
    if conventions.overrides != named.get("overrides", {}):
        found["overrides"] = (dict(conventions.overrides), named.get("overrides", {}))
    return found


def _only_another_scale(name: str, pinned: Any, named: Any) -> bool:
    return KNOB[name].scale and is_number(pinned) and is_number(named)


def _refuse_unknown(name: str) -> None:
    if name not in _PRESETS:
        raise ConventionError(
            [("preset", f"{name!r} is not a preset", nearest(name, set(_PRESETS)))]
        )
