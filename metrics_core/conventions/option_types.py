"""Types of presets and conventions; `tests/test_typing.py` compares them with the registry."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Required, Self, TypedDict

if TYPE_CHECKING:
    import pyarrow as pa

UserPolicy = Literal["zero", "one", "drop", "nan", "error"]
UnitMean = Literal["requests", "users"]
FairnessTarget = Literal["catalogue", "relevant", "uniform"]


class ExcludedPairs(str):  # so that results store and compare it as text
    """Pairs of user and item that do not count, as the value of `exclude`; its text is their hash.

    Attributes
    ----------
    pairs : pyarrow.Table
        excluded_user, excluded_item: ids as text.

    Examples
    --------
    >>> import concord as cc
    >>> excluded = cc.excluded_pairs({"q1": ["d1", "d2"]})
    >>> str(excluded), excluded.pairs.num_rows
    ('pairs 417662abdce5', 2)
    """

    pairs: "pa.Table"

    def __new__(cls, text: str, pairs: "pa.Table") -> Self:
        """Return the text, which carries the pairs."""
        value = super().__new__(cls, text)
        value.pairs = pairs
        return value

    def __getnewargs__(self) -> tuple[str, "pa.Table"]:  # type: ignore[override]
        return str(self), self.pairs

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


Exclude = Literal["same_id"] | ExcludedPairs
PresetName = Literal[
    "standard",
    "bellei",
    "wikipedia",
    "wikipedia_exp",
    "recohut_ndcg_one",
    "recohut_method0",
    "recohut_method1",
    "minnesota",
    "minnesota_halflife",
    "amitness",
    "amitness_exp",
    "ranx",
    "ranx_burges",
    "pytrec_eval",
    "ir_measures",
    "ir_measures_exp",
    "rectools",
    "rectools_achievable",
    "rectools_by_k",
    "rectools_r_precision",
    "replay",
    "replay_dict",
    "ms_recommenders",
    "ms_recommenders_map_at_k",
    "ms_recommenders_raw",
    "ms_recommenders_exp",
    "ms_spark",
    "ms_spark_map",
    "spark_mllib",
    "spark_mllib_map",
    "spark_mllib_graded",
    "lenskit",
    "lenskit_log2",
    "lenskit_java",
    "elliot",
    "elliot_rendle2020",
    "recbole",
    "polimi",
    "polimi_min_den",
    "recpack",
    "recpack_calibrated",
    "cornac",
    "implicit",
    "sklearn_ndcg",
    "torchmetrics",
    "tf_ranking",
    "ignite",
    "mlflow_retriever",
    "evidently",
    "kaggle_ml_metrics",
    "recmetrics_mark",
    "trec_eval",
    "mteb",
    "mteb_old_ties",
    "beir",
    "beir_r_cap",
    "ntcireval",
    "rank_eval",
]


class CandidateOptions(TypedDict):
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


class ConventionOptions(TypedDict, total=False):
    """Conventions and their values: `docs/reference/conventions.md` says what each means."""

    relevance_threshold: float | None
    truth_visible: Literal["all", "retrieved"]
    ties: Literal[
        "input",
        "item_asc",
        "item_desc",
        "item_text_asc",
        "item_text_desc",
        "given",
        "average",
        "error",
    ]
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
        Literal["binary", "linear", "exp2", "exp2_above_threshold"]
        | Mapping[Literal["map"], Mapping[float, float]]
    )
    discount: Mapping[Literal["log", "jk", "halflife", "geometric"], float]
    ideal: Literal[
        "truth_at_k",
        "truth",
        "retrieved_at_k",
        "retrieved",
        "full_k",
        "truth_at_min_k_len",
        "truth_given_order_at_k",
    ]
    rbp_gain: Literal["binary", "linear"]
    rbp_norm: Literal["one_minus_p", "sum_weights", "none"]
    err_max_grade: float
    hlu_neutral: float
    hlu_norm: Literal["ideal", "none"]
    user_coverage_kind: Literal["any", "full"]
    novelty_population: Literal["users", "interactions"]
    novelty_norm: Literal["none", "log2_users"]
    cold_item: Literal["one_user", "skip", "zero"]
    longtail_head: float
    ild_distance: Literal["cosine", "jaccard", "hamming"]
    serendipity_kind: Literal["popularity", "history"]
    calibration_alpha: float
    coverage_items: Literal["catalogue", "train"]
    gini_items: Literal["catalogue", "recommended"]
    entropy_base: Literal[2, "e"]
    entropy_norm: Literal["none", "recommended_items"]
    user_no_recs: UserPolicy
    user_empty_truth: UserPolicy
    user_recs_only: UserPolicy
    user_both_empty: UserPolicy
    undefined: Literal["skip", "zero", "propagate"]
    round: Mapping[Literal["user", "mean"], int] | None
    unit_mean: UnitMean | None
    candidates: CandidateOptions | None
    propensity: PropensityOptions | None
    fairness_target: FairnessTarget | None
    exclude: Exclude | None
    overrides: Mapping[str, "ConventionOptions"]


class PresetOptions(ConventionOptions):
    """The name of a preset, and the conventions that differ from it."""

    preset: Required[PresetName | Literal["custom"]]
