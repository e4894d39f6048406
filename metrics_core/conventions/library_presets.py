"""Presets of libraries and of search; `tests/parity` compares their values with the libraries."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A named set of conventions.

    Attributes
    ----------
    sentence : str
        The text or library that it stands for.
    differs : Mapping[str, Any]
        Conventions that differ from `standard`.
    metrics : str
        Names of the metrics that it defines, separated by spaces; empty for all.
    package : str
        Library and version that a parity test runs; empty if there is none.
    """

    sentence: str
    differs: Mapping[str, Any]
    metrics: str = ""
    package: str = ""


# What most libraries have in common; each preset has what differs.
_LIBRARY = {
    "ties": "input",
    "duplicates": "keep",
    "ap_denominator": "relevant",
    "gain": "binary",
    "user_empty_truth": "drop",
    "user_both_empty": "drop",
}
ABOVE_ZERO = 1e-300  # the threshold of libraries that count every grade above 0
_ABOVE_ZERO = {"relevance_threshold": ABOVE_ZERO}
_EMPTY_IS_ZERO = {"user_empty_truth": "zero", "user_both_empty": "zero"}
_TREC_EVAL = {
    **_LIBRARY,
    **_EMPTY_IS_ZERO,
    "ties": "item_text_desc",
    "score_dtype": "float32",
    "gain": "linear",
    "rr_cutoff": "none",
}
# The providers of ir_measures sort differently: msmarco and judged in Python, cwl_eval stably by
# the score alone, gdeval in Perl.
_SORTED_IN_PYTHON = {"ties": "item_text_asc", "score_dtype": "float64"}
_IR_MEASURES = {
    **_TREC_EVAL,
    "overrides": {
        "RR": {"rr_cutoff": "k"},
        "RR@k": _SORTED_IN_PYTHON,
        "Judged": _SORTED_IN_PYTHON,
        "RBP": {"ties": "input", "score_dtype": "float64"},
        "ERR": {"score_dtype": "float64", "round": {"user": 5}},
    },
}
_ALL_LISTS = {"user_recs_only": "nan"}  # beyond accuracy: lists count without ground truth, too
_REPLAY: Mapping[str, Any] = {
    **_LIBRARY,
    "ap_denominator": "min_k_relevant",
    "overrides": {name: {"duplicates": "first"} for name in ("P", "R", "Hit")},
}
_MS = {
    **_LIBRARY,
    "relevance_threshold": None,
    "user_no_recs": "drop",
    "overrides": {"nDCG": {"user_no_recs": "zero", "user_empty_truth": "nan"}},
}
_SPARK = {**_LIBRARY, **_EMPTY_IS_ZERO, "ties": "given"}
_LENSKIT = {
    **_LIBRARY,
    "precision_denominator": "len",
    "recall_denominator": "min_k_relevant",
    "ap_denominator": "min_len_relevant",
    "user_no_recs": "drop",
    "user_empty_truth": "zero",
    "user_recs_only": "zero",
}
_ELLIOT = {
    **_LIBRARY,
    "ties": "given",
    "ap_denominator": "k",
    "ap_sum_over": "all_ranks",
    "gain": "exp2_above_threshold",
    "user_no_recs": "drop",
}
# No package: its formulas in plain Python were compared with its own code.
_POLIMI_SOURCE = "RecSys2019_DeepLearning_Evaluation f5618c65"
_POLIMI = {
    **_LIBRARY,
    **_ABOVE_ZERO,
    "ties": "given",
    "precision_denominator": "len",
    "f1_aggregate": "of_means",
    "hit_kind": "count",
    "ap_denominator": "min_len_relevant",
    "gain": "exp2",
    "ideal": "truth",
}
# Fed with the documents that were scored: what is not among them does not exist.
_BOOSTING = {
    **_LIBRARY,
    "truth_visible": "retrieved",
    "ap_denominator": "min_k_relevant",
    "gain": "exp2",
    "user_no_recs": "drop",
    "user_empty_truth": "one",
    "user_recs_only": "one",
}

LIBRARY_PRESETS: Mapping[str, Preset] = {
    "ranx": Preset(
        "ranx, with make_comparable=True.",
        {**_LIBRARY, **_EMPTY_IS_ZERO, "gain": "linear", "rbp_gain": "linear"},
        metrics="P R F1 Hit AP RR DCG nDCG Rprec Bpref RBP",
        package="ranx 0.3.21",
    ),
    "ranx_burges": Preset(
        "ranx, `ndcg_burges`: gain 2^grade - 1.",
        {**_LIBRARY, **_EMPTY_IS_ZERO, "gain": "exp2", "rbp_gain": "linear"},
        metrics="DCG nDCG",
        package="ranx 0.3.21",
    ),
    "pytrec_eval": Preset(
        "pytrec_eval and trec_eval: users without list are left out.",
        {**_TREC_EVAL, "user_no_recs": "drop", "user_both_empty": "drop"},
        metrics="P R F1 Hit AP RR nDCG Rprec Bpref infAP",
        package="pytrec-eval-terrier 0.5.11",
    ),
    "ir_measures": Preset(
        "ir_measures: trec_eval's measures over all users of the qrels.",
        _IR_MEASURES,
        metrics="P R F1 Hit AP RR nDCG Rprec Bpref infAP RBP ERR Judged",
        package="ir-measures 0.4.3",
    ),
    "ir_measures_exp": Preset(
        "ir_measures, nDCG(dcg='exp-log2'): gain 2^grade - 1 as gdeval, five digits a user.",
        {**_TREC_EVAL, "gain": "exp2", "score_dtype": "float64", "round": {"user": 5}},
        metrics="nDCG",
        package="ir-measures 0.4.3",
    ),
    "rectools": Preset(
        "RecTools: the ideal of nDCG is k hits, however many relevant items there are.",
        {
            **_LIBRARY,
            "ties": "given",
            "ideal": "full_k",
            "ild_distance": "hamming",
            "ild_one_item": "zero",
            "overrides": dict.fromkeys(("Novelty", "ARP", "ILD", "Serendipity"), _ALL_LISTS),
        },
        metrics="P R F1 Hit AP RR nDCG Coverage Novelty ARP ILD Serendipity",
        package="rectools 0.19.0",
    ),
    "rectools_achievable": Preset(
        "RecTools, NDCG(divide_by_achievable=True).",
        {**_LIBRARY, "ties": "given"},
        metrics="nDCG",
        package="rectools 0.19.0",
    ),
    "rectools_by_k": Preset(
        "RecTools, MAP(divide_by_k=True).",
        {**_LIBRARY, "ties": "given", "ap_denominator": "k", "ideal": "full_k"},
        metrics="AP",
        package="rectools 0.19.0",
    ),
    "rectools_r_precision": Preset(
        "RecTools, Precision(r_precision=True): divided by min(k, relevant items).",
        {
            **_LIBRARY,
            "ties": "given",
            "precision_denominator": "min_k_relevant",
            "ideal": "full_k",
        },
        metrics="P",
        package="rectools 0.19.0",
    ),
    "replay": Preset(
        "RePlay on pandas, polars or Spark frames: equal scores by item, descending.",
        {
            **_REPLAY,
            "ties": "item_desc",
            "novelty_norm": "log2_users",
            "novelty_denominator": "k",
            "overrides": {**_REPLAY["overrides"], "Novelty": _ALL_LISTS},
        },
        metrics="P R Hit AP RR nDCG Novelty",
        package="replay-rec 0.22.0",
    ),
    "replay_dict": Preset(
        "RePlay on dictionaries: the order given.",
        {**_REPLAY, **_EMPTY_IS_ZERO, "ties": "given"},
        metrics="P R Hit AP RR nDCG",
        package="replay-rec 0.22.0",
    ),
    "ms_recommenders": Preset(
        "Microsoft recommenders on pandas: every truth row is relevant, "
        "nDCG alone counts users without list.",
        _MS,
        metrics="P R AP nDCG",
        package="recommenders 1.2.1",
    ),
    "ms_recommenders_map_at_k": Preset(
        "Microsoft recommenders, `map_at_k`: divided by min(k, relevant items).",
        {**_MS, "ap_denominator": "min_k_relevant"},
        metrics="AP",
        package="recommenders 1.2.1",
    ),
    "ms_recommenders_raw": Preset(
        "Microsoft recommenders, `ndcg_at_k(score_type='raw')`: linear gain.",
        {**_MS, "gain": "linear"},
        metrics="nDCG",
        package="recommenders 1.2.1",
    ),
    "ms_recommenders_exp": Preset(
        "Microsoft recommenders, `ndcg_at_k(score_type='exp')`: gain 2^grade - 1.",
        {**_MS, "gain": "exp2"},
        metrics="nDCG",
        package="recommenders 1.2.1",
    ),
    "ms_spark": Preset(
        "Microsoft recommenders on Spark, `map_at_k`: users without list are left out.",
        {**_LIBRARY, "ap_denominator": "min_k_relevant", "user_no_recs": "drop"},
        metrics="P R AP nDCG",
    ),
    "ms_spark_map": Preset(
        "Microsoft recommenders on Spark, `map`.",
        {**_LIBRARY, "user_no_recs": "drop"},
        metrics="AP",
    ),
    "spark_mllib": Preset(
        "Spark MLlib RankingMetrics: precisionAt, recallAt, ndcgAt, meanAveragePrecisionAt.",
        {**_SPARK, "ap_denominator": "min_k_relevant"},
        metrics="P R AP nDCG",
        package="pyspark 4.1.4",
    ),
    "spark_mllib_map": Preset(
        "Spark MLlib RankingMetrics.meanAveragePrecision: divided by the relevant items.",
        _SPARK,
        metrics="AP",
        package="pyspark 4.1.4",
    ),
    "spark_mllib_graded": Preset(
        "Spark MLlib ndcgAt with grades (Scala): gain 2^grade - 1, ideal in the order given.",
        {
            **_SPARK,
            "relevance_threshold": None,
            "gain": "exp2",
            "ideal": "truth_given_order_at_k",
            "ap_denominator": "min_k_relevant",
        },
        metrics="nDCG",
    ),
    "lenskit": Preset(
        "LensKit: precision over the list's length, the first two ranks undiscounted.",
        {**_LENSKIT, "discount": {"jk": 2}},
        metrics="P R Hit AP RR DCG nDCG RBP",
        package="lenskit 2025.8.1",
    ),
    "lenskit_log2": Preset(
        "LensKit with LogRankWeight(offset=1): discount log2(rank + 1).",
        _LENSKIT,
        metrics="DCG nDCG",
        package="lenskit 2025.8.1",
    ),
    "lenskit_graded": Preset(
        "LensKit, NDCG(gain='rating') and DCG(gain='rating'): the gain is the rating.",
        {**_LENSKIT, "relevance_threshold": None, "gain": "linear", "discount": {"jk": 2}},
        metrics="DCG nDCG",
        package="lenskit 2025.8.1",
    ),
    "lenskit_java": Preset(
        "LensKit for Java: F1 of the means, "
        "AP over the hits and over users who have any relevant item.",
        {
            **_LIBRARY,
            "ties": "given",
            "precision_denominator": "len",
            "f1_aggregate": "of_means",
            "ap_denominator": "hits",
            "rr_cutoff": "none",
            "gain": "linear",
            "discount": {"jk": 2},
            "user_empty_truth": "zero",
            "overrides": {
                "AP": {"user_empty_truth": "drop", "user_no_recs": "drop"},
                "nDCG": {"relevance_threshold": None},
            },
        },
        metrics="P R F1 AP RR nDCG",
    ),
    "elliot": Preset(
        "Elliot: AP is the mean of the precisions at all ranks, "
        "gain 2^(grade - threshold + 1) - 1.",
        _ELLIOT,
        metrics="P R F1 Hit AP RR nDCG",
    ),
    "elliot_rendle2020": Preset(
        "Elliot, nDCGRendle2020: binary gain.", {**_ELLIOT, "gain": "binary"}, metrics="nDCG"
    ),
    "recbole": Preset(
        "RecBole: means are rounded to four digits.",
        {**_LIBRARY, "ap_denominator": "min_k_relevant", "round": {"mean": 4}},
        metrics="P R Hit AP RR nDCG",
        package="recbole 1.2.1",
    ),
    "polimi": Preset(
        "Evaluator of Ferrari Dacrema et al. 2019: the ideal of nDCG is not cut at k.",
        _POLIMI,
        metrics="P R F1 Hit AP RR nDCG Coverage Entropy Personalization",
        package=_POLIMI_SOURCE,
    ),
    "polimi_min_den": Preset(
        "Ferrari Dacrema et al. 2019, PRECISION_RECALL_MIN_DEN: "
        "divided by min(length of the list, relevant items).",
        {**_POLIMI, "precision_denominator": "min_len_relevant"},
        metrics="P",
        package=_POLIMI_SOURCE,
    ),
    "recpack": Preset(
        "RecPack: HitK counts the hits.",
        {**_LIBRARY, "hit_kind": "count"},
        metrics="P R Hit RR DCG nDCG",
        package="recpack 0.3.6",
    ),
    "recpack_calibrated": Preset(
        "RecPack, CalibratedRecallK: divided by min(k, relevant items).",
        {**_LIBRARY, "hit_kind": "count", "recall_denominator": "min_k_relevant"},
        metrics="R",
        package="recpack 0.3.6",
    ),
    "cornac": Preset(
        "Cornac: MRR and MAP look at the whole list.",
        {**_LIBRARY, "rr_cutoff": "none"},
        metrics="P R F1 Hit AP RR nDCG",
        package="cornac 3.0.1",
    ),
    "implicit": Preset(
        "implicit, ranking_metrics_at_k: precision is all hits over the sum of min(k, "
        "relevant items).",
        {
            **_LIBRARY,
            "precision_denominator": "min_k_relevant",
            "precision_aggregate": "micro",
            "ap_denominator": "min_k_relevant",
        },
        metrics="P AP nDCG",
        package="implicit 0.7.3",
    ),
    "sklearn_ndcg": Preset(
        "scikit-learn, ndcg_score and dcg_score: equal scores are averaged over.",
        {
            **_LIBRARY,
            **_EMPTY_IS_ZERO,
            "relevance_threshold": None,
            "ties": "average",
            "gain": "linear",
            "user_no_recs": "drop",
        },
        metrics="DCG nDCG",
        package="scikit-learn 1.9.1",
    ),
    "torchmetrics": Preset(
        "torchmetrics.retrieval, fed with the rows that were retrieved: "
        "what was missed does not exist.",
        {
            **_LIBRARY,
            "user_empty_truth": "zero",
            "truth_visible": "retrieved",
            "score_dtype": "float32",
            "ap_denominator": "hits",
            "gain": "linear",
            "user_no_recs": "drop",
            "user_recs_only": "zero",
            "overrides": {"nDCG": {"relevance_threshold": None, "ties": "average"}},
        },
        metrics="P R Hit AP RR nDCG Rprec",
        package="torchmetrics 1.9.0",
    ),
    "tf_ranking": Preset(
        "TF-Ranking, fed with the rows that were retrieved: gain 2^grade - 1.",
        {
            **_LIBRARY,
            "user_empty_truth": "zero",
            "truth_visible": "retrieved",
            "precision_denominator": "len",
            "gain": "exp2",
            "user_no_recs": "drop",
            "user_recs_only": "zero",
            "overrides": {name: {"relevance_threshold": None} for name in ("DCG", "nDCG")},
        },
        metrics="P R Hit AP RR DCG nDCG",
    ),
    "xgboost": Preset(
        "XGBoost, ndcg, map and pre: gain 2^grade - 1, a group without a relevant document is 1.",
        {
            **_BOOSTING,
            "score_dtype": "float32",
            "precision_denominator": "len",
            "overrides": {"P": {"user_empty_truth": "zero", "user_recs_only": "zero"}},
        },
        metrics="P AP nDCG",
        package="xgboost-cpu 3.2.0",
    ),
    "lightgbm": Preset(
        "LightGBM, ndcg and map: gain 2^grade - 1, a query without a relevant document is 1.",
        _BOOSTING,
        metrics="AP nDCG",
        package="lightgbm 4.7.0",
    ),
    "ignite": Preset(
        "PyTorch-Ignite, rec_sys.NDCG and HitRate: gain 2^grade - 1.",
        {
            **_LIBRARY,
            "ties": "item_asc",
            "score_dtype": "float32",
            "gain": "exp2",
            "overrides": {"Hit": _ABOVE_ZERO},
        },
        metrics="Hit nDCG",
        package="pytorch-ignite 0.5.5",
    ),
    "mlflow_retriever": Preset(
        "MLflow's retriever metrics: short lists are not punished, nothing found of nothing is 1.",
        {
            **_LIBRARY,
            "ties": "given",
            "precision_denominator": "len",
            "ideal": "truth_at_min_k_len",
            "user_empty_truth": "zero",
            "user_both_empty": "one",
            "overrides": {"P": {"user_both_empty": "zero"}, "R": {"duplicates": "first"}},
        },
        metrics="P R nDCG",
        package="mlflow 3.17.2",
    ),
    "evidently": Preset(
        "Evidently, ranking metrics by rank: what was missed does not exist, "
        "users with no hit are left out.",
        {
            **_LIBRARY,
            **_ABOVE_ZERO,
            "truth_visible": "retrieved",
            "precision_denominator": "len",
            "f1_aggregate": "of_means",
            "gain": "linear",
            "user_no_recs": "drop",
        },
        metrics="P R F1 Hit AP RR nDCG",
        package="evidently 0.7.23",
    ),
    "kaggle_ml_metrics": Preset(
        "Kaggle's ml_metrics 0.1.4, apk and mapk: a user with nothing to find counts 1.",
        {
            **_LIBRARY,
            "ties": "given",
            "duplicates": "first",
            "ap_denominator": "min_k_relevant",
            "user_empty_truth": "one",
            "user_both_empty": "one",
        },
        metrics="AP",
        package="ml_metrics 0.1.4",
    ),
    "recmetrics_mark": Preset(
        "recmetrics, `mark` (named recall, but an AP): divided by the relevant items.",
        {**_LIBRARY, **_EMPTY_IS_ZERO, "ties": "given", "duplicates": "first"},
        metrics="AP",
        package="recmetrics 0.1.5",
    ),
}

# The convention panel has these only where one is the preset of the evaluation.
_PYTREC_EVAL = LIBRARY_PRESETS["pytrec_eval"]
_FIVE_DIGITS = {**_PYTREC_EVAL.differs, "rr_cutoff": "k", "round": {"mean": 5}}
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
        _PYTREC_EVAL,
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
