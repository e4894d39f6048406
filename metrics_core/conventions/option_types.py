"""Types of presets and conventions; made by docs/option_types.py: run `make docs`."""
# fmt: off

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Required, TypedDict

from concord.metrics_core.conventions.data_conventions import ExcludedPairs

PresetName = Literal[
    "standard", "bellei", "wikipedia", "wikipedia_exp", "recohut_ndcg_one", "recohut_method0",
    "recohut_method1", "minnesota", "minnesota_halflife", "amitness", "amitness_exp", "ranx",
    "ranx_burges", "pytrec_eval", "ir_measures", "ir_measures_exp", "rectools",
    "rectools_achievable", "rectools_by_k", "rectools_r_precision", "replay", "replay_dict",
    "ms_recommenders", "ms_recommenders_map_at_k", "ms_recommenders_raw", "ms_recommenders_exp",
    "ms_spark", "ms_spark_map", "spark_mllib", "spark_mllib_map", "spark_mllib_graded", "lenskit",
    "lenskit_log2", "lenskit_graded", "lenskit_java", "elliot", "elliot_rendle2020", "recbole",
    "polimi", "polimi_min_den", "recpack", "recpack_calibrated", "cornac", "implicit",
    "sklearn_ndcg", "torchmetrics", "tf_ranking", "xgboost", "lightgbm", "ignite",
    "mlflow_retriever", "evidently", "kaggle_ml_metrics", "recmetrics_mark", "trec_eval", "mteb",
    "mteb_old_ties", "beir", "beir_r_cap", "ntcireval", "rank_eval"
]


class CandidatesOptions(TypedDict):
    """The value of the convention `candidates`."""

    negatives: int
    catalogue: int | Literal["items", "train"]
    sampling: Literal["uniform"]


class PropensityOptions(TypedDict):
    """The value of the convention `propensity`."""

    popularity: NotRequired[float]
    column: NotRequired[Literal["items", "truth"]]
    clip: float
    fewest: float
    normalised: NotRequired[Literal["per_user", "over_all"]]


@dataclass(frozen=True, kw_only=True)
class ConventionValues:
    """The name of a preset, and the value of each convention."""

    preset: str
    relevance_threshold: float | None
    truth_visible: str
    ties: str
    duplicates: str
    score_dtype: str
    precision_denominator: str
    precision_aggregate: str
    recall_denominator: str
    f1_aggregate: str
    hit_kind: str
    ap_denominator: str
    ap_sum_over: str
    rr_cutoff: str
    gain: str | Mapping[str, Mapping[float, float]]
    discount: Mapping[str, float]
    ideal: str
    rbp_gain: str
    rbp_norm: str
    err_max_grade: float
    hlu_neutral: float
    hlu_norm: str
    user_coverage_kind: str
    novelty_population: str
    novelty_norm: str
    novelty_denominator: str
    cold_item: str
    longtail_head: float
    ild_distance: str
    ild_one_item: str
    serendipity_kind: str
    calibration_alpha: float
    coverage_items: str
    gini_items: str
    entropy_base: str | int
    entropy_norm: str
    user_no_recs: str
    user_empty_truth: str
    user_recs_only: str
    user_both_empty: str
    undefined: str
    round: Mapping[str, int] | None
    unit_mean: Literal["requests", "users"] | None = None
    candidates: Mapping[str, Any] | None = None
    propensity: Mapping[str, Any] | None = None
    fairness_target: Literal["catalogue", "relevant", "uniform"] | None = None
    exclude: Literal["same_id"] | ExcludedPairs | None = None


class ConventionOptions(TypedDict, total=False):
    """Conventions and their values: `docs/reference/conventions.md` says what each means."""

    relevance_threshold: float | None
    truth_visible: Literal["all", "retrieved"]
    ties: (
        Literal["input", "item_asc", "item_desc", "item_text_asc", "item_text_desc", "given",
        "average", "error"]
    )
    duplicates: Literal["keep", "first", "drop", "error"]
    score_dtype: Literal["float64", "float32"]
    precision_denominator: Literal["k", "len", "min_k_relevant", "min_len_relevant"]
    precision_aggregate: Literal["macro", "micro"]
    recall_denominator: Literal["relevant", "min_k_relevant"]
    f1_aggregate: Literal["per_user", "of_means"]
    hit_kind: Literal["indicator", "count"]
    ap_denominator: Literal["relevant", "min_k_relevant", "hits", "k", "min_len_relevant"]
    ap_sum_over: Literal["hits", "all_ranks"]
    rr_cutoff: Literal["k", "none"]
    gain: (
        Literal["binary", "linear", "exp2", "exp2_above_threshold"] | Mapping[Literal["map"],
        Mapping[float, float]]
    )
    discount: Mapping[Literal["log", "jk", "halflife", "geometric"], float]
    ideal: (
        Literal["truth_at_k", "truth", "retrieved_at_k", "retrieved", "full_k",
        "truth_at_min_k_len", "truth_given_order_at_k"]
    )
    rbp_gain: Literal["binary", "linear"]
    rbp_norm: Literal["one_minus_p", "sum_weights", "none"]
    err_max_grade: float
    hlu_neutral: float
    hlu_norm: Literal["ideal", "none"]
    user_coverage_kind: Literal["any", "full"]
    novelty_population: Literal["users", "interactions"]
    novelty_norm: Literal["none", "log2_users"]
    novelty_denominator: Literal["len", "k"]
    cold_item: Literal["one_user", "skip", "zero"]
    longtail_head: float
    ild_distance: Literal["cosine", "jaccard", "hamming"]
    ild_one_item: Literal["undefined", "zero"]
    serendipity_kind: Literal["popularity", "history"]
    calibration_alpha: float
    coverage_items: Literal["catalogue", "train"]
    gini_items: Literal["catalogue", "recommended"]
    entropy_base: Literal["e"] | Literal[2]
    entropy_norm: Literal["none", "recommended_items"]
    user_no_recs: Literal["zero", "one", "drop", "nan", "error"]
    user_empty_truth: Literal["zero", "one", "drop", "nan", "error"]
    user_recs_only: Literal["zero", "one", "drop", "nan", "error"]
    user_both_empty: Literal["zero", "one", "drop", "nan", "error"]
    undefined: Literal["skip", "zero", "propagate"]
    round: Mapping[Literal["user", "mean"], int] | None
    unit_mean: Literal["requests", "users"] | None
    candidates: CandidatesOptions | None
    propensity: PropensityOptions | None
    fairness_target: Literal["catalogue", "relevant", "uniform"] | None
    exclude: Literal["same_id"] | ExcludedPairs | None
    overrides: Mapping[str, "ConventionOptions"]


class PresetOptions(ConventionOptions):
    """The name of a preset, and the conventions that differ from it."""

    preset: Required[PresetName | Literal["custom"]]
