"""Cases in words: the same in the terminal and on the page."""

import json
import math

from concord.metrics_core.comparison.cases import Case, Cases, JudgedItem, ListedItem
from concord.metrics_core.comparison.words import listed
from concord.reports.writing import numbers

DIGITS = 4  # of users' values
SHOWN = 12  # wanted items of a user that are told at once
HIT, UNDER = "\N{BLACK CIRCLE}", "\N{WHITE CIRCLE}"


def headline(cases: Cases) -> str:
    """How many users have less with a than with b."""
    label = cases.labels[0]
    worse = "less" if cases.higher_is_better else "more"
    return f"{cases.n_behind:,} of {cases.n_users:,} {cases.who} have {worse} {label} with {cases.a} than with {cases.b}"


def asked(cases: Cases) -> str:
    """Of which users; empty where of all."""
    of = [f"segment {cases.segment}"] if cases.segment else []
    of += [f"{cases.who} where item {cases.item} was wanted or shown"] if cases.item else []
    return "; ".join(of)


def trainings(cases: Cases) -> str:
    """Which training stands for a model that was trained several times; empty where none does."""
    told = [
        f"{name} is the first training of {model}"
        for name, model in ((cases.a, cases.model_a), (cases.b, cases.model_b))
        if name != model
    ]
    return "; ".join(told)


def overlap(cases: Cases) -> str:
    """Return how many users are on the other side and, where all lists were read, how alike they are on average."""
    if cases.both_sides:
        return n_ahead(cases)
    return (
        f"{n_ahead(cases)}. The lists share {numbers.number(cases.jaccard, 2)} of their items "
        f"({cases.jaccard_name}); {cases.rbo_name} is {numbers.number(cases.rbo, 2)} on average"
    )


def n_ahead(cases: Cases) -> str:
    """The users on the other side, and those in between."""
    equal = cases.n_users - cases.n_behind - cases.n_ahead
    return f"{cases.n_ahead:,} the other way round, {equal:,} the same"


def groups(case: Case) -> str:
    """The user's groups as JSON, each as `channel=app`."""
    return json.dumps([f"{name}={group}" for name, group in case.segments.items()])


def thresholds(cases: Cases) -> str:
    """From which grade on an item is relevant, where a metric asks for it."""
    by_grade: dict[float, list[str]] = {}
    for label, least in cases.thresholds.items():
        if least is not None:
            by_grade.setdefault(least, []).append(label)
    return "; ".join(f"grade {numbers.exact(least)} on for {listed(names)}" for least, names in by_grade.items())  # fmt: skip


def value(number: float | None) -> str:
    """A user's value of a metric."""
    return numbers.number(number, DIGITS)


def difference(number: float | None) -> str:
    """The difference of two users' values."""
    return numbers.signed(number, DIGITS)


def about(cases: Cases, case: Case) -> str:
    """What is known of the user and of the two lists."""
    known = [] if case.n_train is None else [_train(case.n_train)]
    known += [f"{name}: {group}" for name, group in case.segments.items()]
    known.append(f"{cases.jaccard_name} {numbers.number(case.jaccard, 2)}")
    known.append(f"{cases.rbo_name} {numbers.number(case.rbo, 2)}")
    return "; ".join(known)


def _train(n: int) -> str:
    return "new to the train" if n == 0 else f"{n:,} interaction{'s' * (n > 1)} in the train"


def grade(cases: Cases, item: JudgedItem) -> str:
    """The grade, and whether it is too low to count: `grade 2, below the threshold of R@20 (4)`."""
    said = f"grade {numbers.exact(item.grade)}"
    if not item.below:
        return said
    least = sorted({cases.thresholds[label] or 0.0 for label in item.below})
    of = f" of {listed(item.below)}" if len(item.below) < len(cases.labels) else ""
    return f"{said}, below the threshold{of} ({', '.join(map(numbers.exact, least))})"


def rank(number: int | None) -> str:
    """The rank in a list; a dash where the list lacks the item."""
    return numbers.MISSING if number is None else str(number)


def ranks(cases: Cases, item: JudgedItem) -> str:
    """Where both lists have the item."""
    if item.rank_a is None and item.rank_b is None:
        return "in neither list"
    return f"rank by {cases.a} {rank(item.rank_a)}, by {cases.b} {rank(item.rank_b)}"


def mark(item: ListedItem) -> str:
    """Filled for a relevant item, hollow for one that was wanted too little to count."""
    return HIT if item.relevant else UNDER if item.grade is not None else ""


def found_first(case: Case) -> list[JudgedItem]:
    """What was wanted, those first that stand highest in a list; what stands in none of them last, best grade first."""
    return sorted(case.judged, key=lambda each: min(each.rank_a or math.inf, each.rank_b or math.inf))  # fmt: skip


def item_headline(cases: Cases) -> str:
    """What the table of items holds."""
    of = f"in the top {cases.k}" if cases.k is not None else "in the lists"
    if cases.item is not None:
        return f"How often the item is found and shown {of}"
    return (
        f"Items that {cases.a} finds less often than {cases.b} {of}, the largest differences first"
    )
