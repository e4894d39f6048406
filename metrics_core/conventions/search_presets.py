"""Presets of search; `tests/parity` compares those of a package with its values.

The convention panel has them only where one is the preset of the evaluation.
"""

from collections.abc import Mapping
from dataclasses import replace

from concord.metrics_core.conventions.library_presets import LIBRARY_PRESETS
from concord.metrics_core.conventions.preset import Preset

_TREC_EVAL = LIBRARY_PRESETS["pytrec_eval"]
_FIVE_DIGITS = {**_TREC_EVAL.differs, "rr_cutoff": "k", "round": {"mean": 5}}
# mteb and BEIR compute some measures in Python, over scores in double precision.
_MTEB_RR = {"score_dtype": "float64", "round": None}
_BEIR_CUSTOM = {
    "ties": "input",
    "score_dtype": "float64",
    "user_no_recs": "zero",
    "user_both_empty": "zero",
}

SEARCH_PRESETS: Mapping[str, Preset] = {
    "trec_eval": replace(
        _TREC_EVAL,
        sentence="trec_eval without -c: the definitions of `pytrec_eval`, which runs its code.",
    ),
    "mteb": Preset(
        "mteb since 2.18.19: trec_eval's measures, means with five digits except for MRR.",
        {**_FIVE_DIGITS, "overrides": {"RR": _MTEB_RR}},
        metrics="P R Hit AP RR nDCG",
        package="mteb 2.26.24",
    ),
    "mteb_old_ties": Preset(
        "mteb before 2.18.19: MRR orders equal scores as the run has them.",
        {**_FIVE_DIGITS, "overrides": {"RR": {**_MTEB_RR, "ties": "input"}}},
        metrics="P R Hit AP RR nDCG",
        package="mteb 2.18.18",
    ),
    "beir": Preset(
        "BEIR: trec_eval's measures; MRR and accuracy in Python, over all queries of the qrels.",
        {**_FIVE_DIGITS, "overrides": {"Hit": _BEIR_CUSTOM, "RR": _BEIR_CUSTOM}},
        metrics="P R Hit AP RR nDCG",
        package="beir 2.2.0",
    ),
    "beir_r_cap": Preset(
        "BEIR, R_cap: recall divided by min(k, relevant items).",
        {
            **_BEIR_CUSTOM,
            "duplicates": "keep",
            "recall_denominator": "min_k_relevant",
            "user_empty_truth": "error",
            "round": {"mean": 5},
        },
        metrics="R",
        package="beir 2.2.0",
    ),
    "ntcireval": Preset(
        "pyNTCIREVAL with gain values 2^grade - 1: Q, O, nERR; nDCG does not discount two ranks.",
        {
            "ties": "given",
            "duplicates": "keep",
            "rr_cutoff": "none",
            "gain": "exp2",
            "discount": {"jk": 2},
            "user_no_recs": "drop",
            "user_empty_truth": "drop",
            "user_both_empty": "drop",
        },
        metrics="P Hit AP RR nDCG ERR nERR Q O",
        package="pyNTCIREVAL 0.0.3",
    ),
    "rank_eval": Preset(
        "Elasticsearch and OpenSearch, `_rank_eval`: precision over the hits returned.",
        {
            "ties": "given",
            "precision_denominator": "len",
            "gain": "exp2",
            "ideal": "truth_at_min_k_len",
            "user_empty_truth": "zero",
            "user_both_empty": "zero",
        },
        metrics="P R RR DCG nDCG ERR",
    ),
}
