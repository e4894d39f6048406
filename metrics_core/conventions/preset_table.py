"""Table of presets: `standard`, texts that define metrics, and libraries."""

from collections.abc import Mapping
from typing import Any

from concord.metrics_core.conventions.library_presets import LIBRARY_PRESETS, SEARCH_PRESETS, Preset
from concord.metrics_core.conventions.registry import PRESET_CONVENTIONS

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
