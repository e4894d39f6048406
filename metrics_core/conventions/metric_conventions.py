"""Conventions of metrics and of the ranking that they read, in the order of params.yaml."""

from collections.abc import Mapping

from concord.metrics_core.conventions.convention import Convention, Value, is_number, mapping_of

BINARY_LOGARITHM = 2
MAX_GRADE = 1000  # of ERR: 2^1000 is still a float64


def _is_gain_map(value: Value) -> bool:
    return (
        isinstance(value, Mapping)
        and len(value) > 0
        and all(is_number(grade) and is_number(gain) and gain >= 0 for grade, gain in value.items())
    )


METRIC_CONVENTIONS: tuple[Convention, ...] = (
    Convention(
        "relevance_threshold",
        "The lowest grade that counts as relevant; "
        "null: every row of the ground truth is relevant.",
        default=1,
        accepts=lambda v: v is None or is_number(v),
        form="number | null",
        sets_scale=True,
        metrics="relevance",
    ),
    Convention(
        "truth_visible",
        "Which part of the ground truth a metric sees.",
        default="all",
        values={
            "all": "all of the ground truth",
            "retrieved": "only its items that the list holds; the others do not exist",
        },
        metrics="truth",
    ),
    Convention(
        "ties",
        "How items with equal scores are ordered where a file has scores only.",
        default="item_asc",
        values={
            "input": "in the order of the rows",
            "item_asc": "by item, ascending: integers as numbers, text by code point",
            "item_desc": "by item, descending: integers as numbers, text by code point",
            "item_text_asc": "by item as text, ascending: 10 comes before 2",
            "item_text_desc": "by item as text, descending: 2 comes before 10",
            "given": "scores are ignored: the rank column, or else the order of the rows",
            "average": "the expected value over all orders, after copies are handled",
            "error": "ties raise an error",
        },
        sets_ranking=True,
        metrics="every",
    ),
    Convention(
        "duplicates",
        "What happens to an item that occurs twice in one user's list.",
        default="error",
        values={
            "keep": "copies stay, and each counts where the metric counts copies",
            "first": "later copies are misses and keep their ranks; "
            "metrics beyond accuracy skip them",
            "drop": "later copies are removed and the list closes up",
            "error": "duplicates raise an error",
        },
        sets_ranking=True,
        metrics="every",
    ),
    Convention(
        "score_dtype",
        "The precision in which scores are compared.",
        default="float64",
        values={"float64": "as they are", "float32": "rounded to single precision first"},
        sets_ranking=True,
        metrics="every",
    ),
    Convention(
        "precision_denominator",
        "What precision divides the hits by.",
        default="k",
        values={
            "k": "the cutoff k; without one the items in the list",
            "len": "the items in the list, at most k",
            "min_k_relevant": "min(k, relevant items); without a cutoff the relevant items",
            "min_len_relevant": "min(items in the list up to k, relevant items)",
        },
    ),
    Convention(
        "precision_aggregate",
        "How precision is averaged.",
        default="macro",
        values={
            "macro": "mean of the users' precisions",
            "micro": "all hits over the sum of all denominators",
        },
        metrics=("P",),
    ),
    Convention(
        "recall_denominator",
        "What recall divides the hits by.",
        default="relevant",
        values={
            "relevant": "the relevant items",
            "min_k_relevant": "min(k, relevant items); without a cutoff the relevant items",
        },
    ),
    Convention(
        "f1_aggregate",
        "Where the harmonic mean of precision and recall is taken.",
        default="per_user",
        values={
            "per_user": "per user, then averaged",
            "of_means": "of mean precision and mean recall",
        },
        metrics=("F1",),
    ),
    Convention(
        "hit_kind",
        "What Hit counts.",
        default="indicator",
        values={"indicator": "1 if there is any hit", "count": "the number of hits"},
    ),
    Convention(
        "ap_denominator",
        "What average precision divides its sum by.",
        default="min_k_relevant",
        values={
            "relevant": "the relevant items",
            "min_k_relevant": "min(k, relevant items); without a cutoff the relevant items",
            "hits": "the hits in the top k",
            "k": "the cutoff k; without one the items in the list",
            "min_len_relevant": "min(items in the list up to k, relevant items)",
        },
    ),
    Convention(
        "ap_sum_over",
        "Over which ranks average precision sums the precisions.",
        default="hits",
        values={"hits": "the ranks of the hits", "all_ranks": "all ranks up to k"},
    ),
    Convention(
        "rr_cutoff",
        "Whether reciprocal rank looks beyond the cutoff.",
        default="k",
        values={"k": "only the top k count", "none": "the whole list counts, whatever k"},
    ),
    Convention(
        "gain",
        "The gain of a grade; a grade that is not relevant has gain 0.",
        default="linear",
        values={
            "binary": "1",
            "linear": "the grade",
            "exp2": "2^grade - 1",
            "exp2_above_threshold": "2^(grade - relevance_threshold + 1) - 1",
        },
        accepts=mapping_of({"map": _is_gain_map}),
        form="{map: {grade: gain, …}}",
        forms={"map": "as the map says"},
    ),
    Convention(
        "discount",
        "The weight of a gain at rank i.",
        default={"log": 2},
        accepts=mapping_of(
            {
                "log": lambda b: is_number(b) and b > 1,
                "jk": lambda b: is_number(b) and b > 1,
                "halflife": lambda a: is_number(a) and a > 1,
                "geometric": lambda p: is_number(p) and 0 < p < 1,
            }
        ),
        form="{log: b} | {jk: b} | {halflife: a} | {geometric: p}",
        forms={
            "log": "ln b / ln(i + 1)",
            "jk": "1 / max(1, log_b i), so that the first b ranks are not discounted",
            "halflife": "2^(-(i - 1) / (a - 1)), so that the weight is 1/2 at rank a",
            "geometric": "p^(i - 1)",
        },
    ),
    Convention(
        "ideal",
        "The list that nDCG divides by.",
        default="truth_at_k",
        values={
            "truth_at_k": "the relevant items of the ground truth, best first, cut at k",
            "truth": "the relevant items of the ground truth, best first, not cut",
            "retrieved_at_k": "the relevant items among the top k, best first",
            "retrieved": "the relevant items of the whole list, best first, cut at k",
            "full_k": "k items of gain 1, however many there are; needs gain: binary",
            "truth_at_min_k_len": "as truth_at_k, cut at the length of the list if that is shorter",
            "truth_given_order_at_k": "the relevant items in the order of the ground truth's "
            "rows, cut at k",
        },
    ),
    Convention(
        "rbp_gain",
        "The gain of a grade in RBP.",
        default="binary",
        values={"binary": "1", "linear": "the grade"},
    ),
    Convention(
        "rbp_norm",
        "What RBP's discounted sum is multiplied by.",
        default="one_minus_p",
        values={
            "one_minus_p": "1 - p, one over the sum of all weights of an infinite list",
            "sum_weights": "1 / (the sum of the first k weights)",
            "none": "1",
        },
    ),
    Convention(
        "err_max_grade",
        "The highest grade of ERR's scale: a grade g satisfies with probability (2^g - 1) / 2^max.",
        default=4,
        accepts=lambda v: is_number(v) and 0 < v <= MAX_GRADE,
        form=f"number > 0, up to {MAX_GRADE}",
        sets_scale=True,
    ),
    Convention(
        "hlu_neutral",
        "The grade of utility 0 in half-life utility; "
        "a higher grade has the difference as its utility.",
        default=0,
        accepts=is_number,
        form="number",
        sets_scale=True,
    ),
    Convention(
        "hlu_norm",
        "What half-life utility is divided by.",
        default="ideal",
        values={"ideal": "the utility of the relevant items, best first", "none": "1"},
    ),
    Convention(
        "user_coverage_kind",
        "When a user counts as covered.",
        default="any",
        values={"any": "the list holds an item", "full": "the list holds at least k items"},
    ),
    Convention(
        "novelty_population",
        "What an item's training users are divided by, for its self-information.",
        default="users",
        values={
            "users": "the training users: the share who know the item",
            "interactions": "the interactions: the item's share of them",
        },
    ),
    Convention(
        "novelty_norm",
        "Whether novelty is scaled to its largest value.",
        default="none",
        values={"none": "in bits", "log2_users": "divided by log2 of the training users"},
    ),
    Convention(
        "novelty_denominator",
        "What novelty divides the sum over the list by.",
        default="len",
        values={
            "len": "the items in the list, at most k",
            "k": "the cutoff k; without one the items in the list",
        },
        omits_default=True,
    ),
    Convention(
        "cold_item",
        "What an item without a training user adds to novelty.",
        default="one_user",
        values={
            "one_user": "as if one user had had it",
            "skip": "it is left out of sum and divisor",
            "zero": "it is left out of the sum only",
        },
    ),
    Convention(
        "longtail_head",
        "The share of the interactions that the most popular items, the head, hold; "
        "all others are the tail.",
        default=0.8,
        accepts=lambda v: is_number(v) and 0 < v <= 1,
        form="number in (0, 1]",
    ),
    Convention(
        "ild_distance",
        "The distance between two items' features.",
        default="cosine",
        values={
            "cosine": "1 - cosine similarity",
            "jaccard": "1 - common categories / categories of either",
            "hamming": "the number of categories that only one of the two has",
        },
    ),
    Convention(
        "ild_one_item",
        "The diversity of a list of one item.",
        default="undefined",
        values={"undefined": "undefined: there is no pair", "zero": "0"},
        omits_default=True,
    ),
    Convention(
        "serendipity_kind",
        "What makes a relevant item a surprise.",
        default="popularity",
        values={
            "popularity": "a better rank than its popularity gives it",
            "history": "little similarity to the user's history",
        },
    ),
    Convention(
        "calibration_alpha",
        "How much of the history is mixed into the list's distribution, "
        "so that no category is missing.",
        default=0.01,
        accepts=lambda v: is_number(v) and 0 < v < 1,
        form="number in (0, 1)",
    ),
    Convention(
        "coverage_items",
        "The items that coverage divides by.",
        default="catalogue",
        values={
            "catalogue": "the items of the catalogue",
            "train": "the items with a training user",
        },
    ),
    Convention(
        "gini_items",
        "The items among which the Gini index measures inequality.",
        default="catalogue",
        values={
            "catalogue": "all items of the catalogue, recommended or not",
            "recommended": "the recommended items",
        },
    ),
    Convention(
        "entropy_base",
        "The logarithm of the entropy.",
        default=2,
        values={"e": "nats"},
        accepts=lambda v: v == BINARY_LOGARITHM and not isinstance(v, bool),
        form="2",
    ),
    Convention(
        "entropy_norm",
        "What the entropy is divided by.",
        default="none",
        values={"none": "1", "recommended_items": "the number of distinct recommended items"},
    ),
)
