"""The registry: one row for every convention, in the order of params.yaml.

A convention is the same question answered differently by good libraries. A parameter (`k`, `p`, `rel`)
asks another question and stands in the label of a metric instead.
"""

from collections.abc import Callable, Mapping
from typing import Any

from concord.metrics_core.conventions.convention import (
    Convention,
    Key,
    Problem,
    Value,
    is_number,
)

BINARY_LOGARITHM = 2
MAX_DIGITS = 15  # of a float64
MAX_GRADE = 1000  # of ERR: 2^1000 is still a float64
MAX_NEGATIVES = 2_000
MAX_CATALOGUE = 10_000_000


def _mapping_of(checks: Mapping[str, Callable[[Value], bool]]) -> Callable[[Value], bool]:
    """Return a check of `{word: number}`."""

    def accepts(value: Value) -> bool:
        if not isinstance(value, Mapping) or len(value) != 1:
            return False
        ((word, number),) = value.items()
        return word in checks and checks[word](number)

    return accepts


def _is_gain_map(value: Value) -> bool:
    return (
        isinstance(value, Mapping)
        and len(value) > 0
        and all(is_number(grade) and is_number(gain) and gain >= 0 for grade, gain in value.items())
    )


def _is_digits(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_DIGITS


_USER_POLICY = {
    "zero": "the value is 0",
    "one": "the value is 1",
    "drop": "the user is left out of the metric",
    "nan": "the value is undefined; `undefined` decides what the mean does",
    "error": "refused",
}

# Metrics that sum over hits, and the conventions that they need if hits count by inverse propensities.
WEIGHTED_METRICS: Mapping[str, Mapping[str, set[str]]] = {
    "P": {"precision_denominator": {"k", "len"}, "precision_aggregate": {"macro"}},
    "R": {"recall_denominator": {"relevant"}},
    "Hit": {"hit_kind": {"count"}},
    "CG": {},
    "DCG": {},
    "nDCG": {"ideal": {"truth_at_k", "truth"}},
    "RBP": {},
}

# Metrics that are corrected for sampled candidates.
CORRECTED_METRICS = ("P", "R", "F1", "Hit", "AP", "RR", "CG", "DCG", "nDCG", "Rprec", "RBP", "ERR")


def _candidates_problem(value: Mapping[str, Any]) -> Problem | None:
    negatives, catalogue = value["negatives"], value["catalogue"]
    if negatives < catalogue:
        return None
    problem = f"{negatives:,} are not less than the {catalogue:,} items of the catalogue"
    return "candidates.negatives", problem, "name how many items were ranked in all"


_PROPENSITY = (
    "{popularity: exponent, clip: p, fewest: n} | {column: items, clip: p, fewest: n} | {column: truth, …}; "
    "each [, normalised: per_user | over_all]"
)


def _propensity_problem(value: Mapping[str, Any]) -> Problem | None:
    if ("popularity" in value) != ("column" in value):
        return None
    return "propensity", "needs exactly one of popularity and column", f"write {_PROPENSITY}"


CONVENTIONS: tuple[Convention, ...] = (
    Convention(
        "relevance_threshold",
        "The lowest grade that counts as relevant; null: every row of the ground truth is relevant.",
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
            "average": "in every order alike: the expected value over all of them, once copies are settled",
            "error": "ties are refused",
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
            "first": "later copies are misses and keep their ranks; metrics beyond accuracy skip them",
            "drop": "later copies are removed and the list closes up",
            "error": "duplicates are refused",
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
        "The gain of a grade in CG, DCG and nDCG; a grade that is not relevant has gain 0.",
        default="linear",
        values={
            "binary": "1",
            "linear": "the grade",
            "exp2": "2^grade - 1",
            "exp2_above_threshold": "2^(grade - relevance_threshold + 1) - 1",
        },
        accepts=_mapping_of({"map": _is_gain_map}),
        form="{map: {grade: gain, …}}",
        forms={"map": "as the map says"},
    ),
    Convention(
        "discount",
        "The weight of a gain at rank i.",
        default={"log": 2},
        accepts=_mapping_of(
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
            "truth_given_order_at_k": "the relevant items in the order of the ground truth's rows, cut at k",
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
        "The grade of utility 0 in half-life utility; a higher grade has the difference as its utility.",
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
        "What an item's train users are divided by, for its self-information.",
        default="users",
        values={
            "users": "the train users: the share who know the item",
            "interactions": "the interactions: the item's share of them",
        },
    ),
    Convention(
        "novelty_norm",
        "Whether novelty is scaled to its largest value.",
        default="none",
        values={"none": "in bits", "log2_users": "divided by log2 of the train users"},
    ),
    Convention(
        "cold_item",
        "What an item without a train user adds to novelty.",
        default="one_user",
        values={
            "one_user": "as if one user had had it",
            "skip": "it is left out of sum and divisor",
            "zero": "it is left out of the sum only",
        },
    ),
    Convention(
        "longtail_head",
        "The share of the interactions that the most popular items, the head, hold; all others are the tail.",
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
        "How much of the history is mixed into the list's distribution, so that no category is missing.",
        default=0.01,
        accepts=lambda v: is_number(v) and 0 < v < 1,
        form="number in (0, 1)",
    ),
    Convention(
        "coverage_items",
        "The items that coverage divides by.",
        default="catalogue",
        values={"catalogue": "the items of the catalogue", "train": "the items with a train user"},
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
    Convention(
        "user_no_recs",
        "A user with relevant items who got no list.",
        default="zero",
        values=_USER_POLICY,
        metrics="truth",
    ),
    Convention(
        "user_empty_truth",
        "A user with a list and no relevant items.",
        default="nan",
        values=_USER_POLICY,
        metrics="truth",
    ),
    Convention(
        "user_recs_only",
        "A user with a list who is not in the ground truth.",
        default="drop",
        values=_USER_POLICY,
        metrics="users",
    ),
    Convention(
        "user_both_empty",
        "A user with neither list nor relevant items.",
        default="nan",
        values=_USER_POLICY,
        metrics="truth",
    ),
    Convention(
        "undefined",
        "What the mean does with users whose value is undefined (0/0).",
        default="skip",
        values={
            "skip": "they are left out and counted",
            "zero": "they count as 0",
            "propagate": "the mean is undefined as soon as one is",
        },
        metrics="users",
    ),
    Convention(
        "round",
        "Rounding of published values.",
        default=None,
        accepts=lambda v: v is None or _mapping_of({"user": _is_digits, "mean": _is_digits})(v),
        form="null | {user: digits} | {mean: digits}",
        forms={
            "user": "each user's value, to so many digits",
            "mean": "the mean, to so many digits",
        },
        metrics="every",
    ),
    Convention(
        "unit_mean",
        "Over what means are taken where a user has several lists, one for each request or session.",
        values={
            "requests": "all requests count alike",
            "users": "all users count alike: the mean of each user's mean",
        },
        metrics="users",
        describes_data=True,
    ),
    Convention(
        "candidates",
        "How the items were drawn that are ranked with the relevant one: values are corrected for it.",
        form="{negatives: 100, catalogue: 26744, sampling: uniform}",
        keys={
            "negatives": Key(
                f"how many items are ranked with the relevant one, from 1 to {MAX_NEGATIVES:,}",
                {"type": "integer", "minimum": 1, "maximum": MAX_NEGATIVES},
                is_required=True,
            ),
            "catalogue": Key(
                f"how many items a full ranking holds, from 2 to {MAX_CATALOGUE:,}",
                {"type": "integer", "minimum": 2, "maximum": MAX_CATALOGUE},
                is_required=True,
            ),
            "sampling": Key(
                "uniform: other draws have no correction",
                words={"uniform": "all sets of a user's negatives are equally likely"},
                is_required=True,
            ),
        },
        check=_candidates_problem,
        metrics=CORRECTED_METRICS,
        describes_data=True,
    ),
    Convention(
        "propensity",
        "How probably each relevant item was observed: it counts by the inverse.",
        form=_PROPENSITY,
        keys={
            "popularity": Key(
                "an exponent above 0, up to 3, such as 0.5",
                {"type": "number", "exclusiveMinimum": 0, "maximum": 3},
            ),
            "column": Key(
                "items or truth, the table with the column `propensity`",
                words={
                    "items": "propensities stand in the catalogue",
                    "truth": "propensities stand in the ground truth",
                },
            ),
            "clip": Key(
                "a propensity in (0, 1], such as 0.01; smaller ones count as this",
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                is_required=True,
            ),
            "fewest": Key(
                "the least effective number of relevant rows, from 1 on, such as 30",
                {"type": "number", "minimum": 1},
                is_required=True,
            ),
            "normalised": Key(
                "per_user or over_all, or leave it out",
                words={
                    "per_user": "each user's sum is divided by the weights of the user's relevant items; users count alike",
                    "over_all": "the sum over all users is divided by the weights of all relevant items: one ratio",
                },
            ),
        },
        check=_propensity_problem,
        metrics=tuple(WEIGHTED_METRICS),
        describes_data=True,
    ),
    Convention(
        "fairness_target",
        "Which share of the attention a group of items should have.",
        values={
            "catalogue": "the group's share of the items of the catalogue",
            "relevant": "its share of the user's relevant items that the catalogue has",
            "uniform": "the same for every group; 0 for items without one",
        },
        describes_data=True,
    ),
)
CONVENTION: Mapping[str, Convention] = {each.name: each for each in CONVENTIONS}
PRESET_CONVENTIONS = tuple(each for each in CONVENTIONS if not each.describes_data)
DATA_CONVENTIONS = tuple(each for each in CONVENTIONS if each.describes_data)
