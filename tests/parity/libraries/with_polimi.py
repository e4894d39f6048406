"""The evaluator of Ferrari Dacrema et al. (2019), as formulas in plain Python.

The repository MaurizioFD/RecSys2019_DeepLearning_Evaluation is no package. These formulas restate its
Base/Evaluation at commit f5618c65573c5b220713775bdd56971663de9828, whose EvaluatorHoldout gave the same values on
all cases, to 2e-7: it adds in single precision. It reads sparse matrices: every item with a grade other than 0 is
relevant, nDCG alone uses the grade, and users without such an item are not evaluated.
"""

import math
from collections import Counter

from adapter import Refusal, Value, run

PRESET, MIN_DENOMINATOR = "polimi", "polimi_min_den"


def measure(case):
    """Yield values per user; F1 and the metrics of all lists as one number."""
    if any(len(set(case.items_of(user))) < len(case.items_of(user)) for user in case.lists):
        yield Refusal(PRESET, "all", "each item may occur once in a list")
        return
    judged = {user: {i: g for i, g in grades.items() if g} for user, grades in case.truth.items()}
    judged = {user: grades for user, grades in judged.items() if grades}
    for k in case.ks:
        means = {}
        for preset, name, metric in METRICS:
            users = {user: metric(case.items_of(user)[:k], judged[user]) for user in judged}
            means[preset, name] = math.fsum(users.values()) / len(users)
            yield Value(preset, f"{name}@{k}", users, means[preset, name])
        p, r = means[PRESET, "P"], means[PRESET, "R"]
        yield Value(PRESET, f"F1@{k}", None, 2 * p * r / (p + r) if p + r else 0.0)
        if case.categories is not None:
            for name, metric in OF_ALL_LISTS:
                lists = [case.items_of(user)[:k] for user in judged]
                yield Value(PRESET, f"{name}@{k}", None, metric(lists, len(case.categories), k))


def hits(items, grades):
    """Return the ranks of the relevant items of a list."""
    return [rank for rank, item in enumerate(items, 1) if item in grades]


def precision(items, grades):
    return len(hits(items, grades)) / len(items) if items else 0.0


def precision_of_reachable(items, grades):
    """Return the hits over what is smaller: the list, or the relevant items."""
    return len(hits(items, grades)) / min(len(items), len(grades)) if items else 0.0


def recall(items, grades):
    return len(hits(items, grades)) / len(grades)


def average_precision(items, grades):
    """Return the sum of the precisions at the hits, over the smaller of list and relevant items."""
    total = sum(n / rank for n, rank in enumerate(hits(items, grades), 1))
    return total / min(len(items), len(grades)) if items else 0.0


def reciprocal_rank(items, grades):
    return 1 / min(hits(items, grades), default=math.inf)


def ndcg(items, grades):
    """Return the DCG of the list over the DCG of all relevant items, whatever the cutoff."""
    ideal = discounted(sorted(grades.values(), reverse=True))
    return discounted([grades.get(item, 0) for item in items]) / ideal


def discounted(grades):
    return math.fsum((2**grade - 1) / math.log(rank + 1) for rank, grade in enumerate(grades, 1))


def item_coverage(lists, n_items, _k):
    return len(recommended(lists)) / n_items


def shannon_entropy(lists, _n_items, _k):
    counts = recommended(lists).values()
    return -math.fsum(c / sum(counts) * math.log2(c / sum(counts)) for c in counts)


def inter_list_diversity(lists, _n_items, k):
    """Return 1 - the mean number of items that two users share / k."""
    shared = sum(
        len({*a} & {*b}) for i, a in enumerate(lists) for j, b in enumerate(lists) if i != j
    )
    return 1 - shared / (len(lists) * (len(lists) - 1)) / k


def recommended(lists):
    """Return how many users got each item."""
    return Counter(item for items in lists for item in items)


METRICS = [
    (PRESET, "P", precision),  # PRECISION
    (PRESET, "R", recall),  # RECALL
    (PRESET, "Hit", lambda items, grades: len(hits(items, grades))),  # HIT_RATE
    (PRESET, "AP", average_precision),  # MAP
    (PRESET, "RR", reciprocal_rank),  # MRR
    (PRESET, "nDCG", ndcg),  # NDCG
    (MIN_DENOMINATOR, "P", precision_of_reachable),  # PRECISION_RECALL_MIN_DEN
]
OF_ALL_LISTS = [
    ("Coverage", item_coverage),  # COVERAGE_ITEM
    ("Entropy", shannon_entropy),  # SHANNON_ENTROPY
    ("Personalization", inter_list_diversity),  # DIVERSITY_MEAN_INTER_LIST
]

if __name__ == "__main__":
    run(measure)
