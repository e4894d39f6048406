"""An error analysis as text: counts, example users, items; also the sentences of its page."""

import json
import math
from collections.abc import Iterator

from concord.metrics_core.analyses.cases.result import Cases, ExampleUser, JudgedItem, RankedItem
from concord.metrics_core.results.text_format import group_values, join_names
from concord.reports.text import numbers
from concord.reports.text.blocks import Block, Heading, TextTable

DIGITS = 3  # of users' values
MAX_JUDGED = 12  # judged items of a user that are shown at once
RELEVANT, BELOW = "\N{BLACK CIRCLE}", "\N{WHITE CIRCLE}"


def describe(cases: Cases) -> Iterator[Block]:
    """Yield the counts, the example users and the items."""
    yield Heading(headline(cases))
    yield counts(cases)
    yield from notes(cases)
    if text := thresholds(cases):
        yield f"{RELEVANT} relevant ({text}), {BELOW} in the ground truth, but below that"
    for number, user in enumerate(cases.cases, 1):
        yield ""
        first_metric = f"{cases.labels[0]} {difference(user.difference)}"
        yield Heading(f"{number}. {unit(cases)} {user.user}: {first_metric}")
        yield user_facts(cases, user)
        yield from _user_tables(cases, user)
    if cases.item_cases:
        yield ""
        yield Heading(item_headline(cases))
        yield _item_table(cases)


def _user_tables(cases: Cases, user: ExampleUser) -> Iterator[Block]:
    rows = [
        row
        for each in user.metric_values
        for row in (
            (each.label, cases.a, value(each.value_a), each.reason_a),
            ("", cases.b, value(each.value_b), each.reason_b),
        )
    ]
    yield TextTable(("metric", "model", "value", "how it comes about"), rows)
    visible_items = best_ranked_first(user)[:MAX_JUDGED]
    if visible_items:
        header = ("ground truth", "grade", f"rank by {cases.a}", f"rank by {cases.b}")
        judged = [
            (_item(x.item, x.title), grade(cases, x), rank(x.rank_a), rank(x.rank_b))
            for x in visible_items
        ]
        yield TextTable(header, judged)
        if more := len(user.judged) - len(visible_items):
            yield f"… and {more:,} more"
    a, b = ({each.rank: each for each in items} for items in (user.list_a, user.list_b))
    lists = [(str(r), _list_item(a.get(r)), _list_item(b.get(r))) for r in sorted({*a, *b})]
    yield TextTable(("rank", cases.a, cases.b), lists)


def _list_item(item: RankedItem | None) -> str:
    if item is None:
        return ""
    symbol = RELEVANT if item.relevant else " " if item.grade is None else BELOW
    return f"{symbol} {_item(item.item, item.title)}"


def _item(item: str, title: str | None) -> str:
    return item if title is None else f"{title} ({item})"


def _item_table(cases: Cases) -> TextTable:
    a, b = cases.a, cases.b
    header = "item", "relevant to", f"recall {a}", f"recall {b}", f"exposure {a}", f"exposure {b}"
    rows = [
        (
            _item(each.item, each.title),
            numbers.count(each.n_relevant),
            *map(numbers.share, (each.recall_a, each.recall_b, each.exposure_a, each.exposure_b)),
        )
        for each in cases.item_cases
    ]
    return TextTable(header, rows)


def unit(cases: Cases) -> str:
    """Return `user` or `request`."""
    return cases.who.removesuffix("s")


def headline(cases: Cases) -> str:
    """Return the number of users whose value is worse with `a` than with `b`."""
    label, worse = cases.labels[0], "lower" if cases.higher_is_better else "higher"
    users = f"{cases.n_behind:,} of {cases.n_users:,} {cases.who}"
    return f"{users} have a {worse} {label} with {cases.a} than with {cases.b}"


def counts(cases: Cases) -> str:
    """Return the numbers of users with a better and an equal value, and the mean overlap.

    The overlap is known if the examples are of one side, for which all lists are read.
    """
    better = "higher" if cases.higher_is_better else "lower"
    n_equal = cases.n_users - cases.n_behind - cases.n_ahead
    text = f"{cases.n_ahead:,} a {better} one, {n_equal:,} the same"
    if cases.both_sides:
        return text
    jaccard, rbo = (numbers.number(each, 2) for each in (cases.jaccard, cases.rbo))
    overlap = f"{cases.jaccard_name} {jaccard}, {cases.rbo_name} {rbo}"
    return f"{text}. Mean overlap of the lists: {overlap}"


def notes(cases: Cases) -> list[str]:
    """Return the filters on users, users that are no examples, and replicates of models."""
    segment = f" of segment {cases.segment}" if cases.segment else ""
    item = f" with item {cases.item} in the ground truth or in a list" if cases.item else ""
    filters = [f"Only {cases.who}{segment}{item}"] if segment or item else []
    replicates = [
        f"{name} is the first replicate of {model}"
        for name, model in ((cases.a, cases.model_a), (cases.b, cases.model_b))
        if name != model
    ]
    without = []
    if n := cases.n_without_list:
        who = cases.who if n > 1 else unit(cases)
        lists = f"a list from {cases.a} or {cases.b}"
        without = [f"The examples leave out {n:,} {who} without {lists}"]
    if n := cases.n_without_value:
        who = cases.who if n > 1 else unit(cases)
        without.append(f"{n:,} {who} without a value from {cases.a} or {cases.b} are left out")
    return filters + without + (["; ".join(replicates)] if replicates else [])


def thresholds(cases: Cases) -> str:
    """Return the smallest relevant grade by metric: `grade 4 or higher for R@20`."""
    labels = group_values((x, label) for label, x in cases.thresholds.items() if x is not None)
    return "; ".join(
        f"grade {numbers.exact(threshold)} or higher for {join_names(names)}"
        for threshold, names in labels.items()
    )


def user_facts(cases: Cases, user: ExampleUser) -> str:
    """Return interactions in train, segments and overlap of a user."""
    facts = [] if user.n_train is None else [_train(user.n_train)]
    facts += [f"{name}: {segment}" for name, segment in user.segments.items()]
    facts.append(f"{cases.jaccard_name} {numbers.number(user.jaccard, 2)}")
    facts.append(f"{cases.rbo_name} {numbers.number(user.rbo, 2)}")
    return "; ".join(facts)


def _train(n: int) -> str:
    return "not in train" if n == 0 else f"{n:,} interaction{'s' * (n > 1)} in train"


def value(number: float | None) -> str:
    """Return a user's value of a metric."""
    return numbers.number(number, DIGITS)


def difference(number: float) -> str:
    """Return the difference of a user's two values."""
    return numbers.signed(number, DIGITS)


def grade(cases: Cases, item: JudgedItem) -> str:
    """Return the grade, with thresholds it does not reach: `2, below the threshold of R@20 (4)`."""
    text = numbers.exact(item.grade)
    if not item.below:
        return text
    smallest = sorted({cases.thresholds[label] or 0.0 for label in item.below})
    labels = f" of {join_names(item.below)}" if len(item.below) < len(cases.labels) else ""
    return f"{text}, below the threshold{labels} ({', '.join(map(numbers.exact, smallest))})"


def hits(user: ExampleUser) -> str:
    """Return the number of relevant items in both lists: `0 / 3`."""
    return " / ".join(str(sum(x.relevant for x in items)) for items in (user.list_a, user.list_b))


def rank(number: int | None) -> str:
    """Return the rank in a list; a dash if the list lacks the item."""
    return numbers.MISSING if number is None else str(number)


def ranks(cases: Cases, item: JudgedItem) -> str:
    """Return the item's rank in both lists."""
    if item.rank_a is None and item.rank_b is None:
        return "in neither list"
    return f"rank by {cases.a} {rank(item.rank_a)}, by {cases.b} {rank(item.rank_b)}"


def best_ranked_first(user: ExampleUser) -> list[JudgedItem]:
    """Return the judged items by their better rank; items in neither list are last."""

    def best_rank(item: JudgedItem) -> float:
        return min(item.rank_a or math.inf, item.rank_b or math.inf)

    return sorted(user.judged, key=best_rank)


def segments_json(user: ExampleUser) -> str:
    """Return the user's segments as JSON, such as `["channel=app"]`, for the filter of the page."""
    return json.dumps([f"{name}={segment}" for name, segment in user.segments.items()])


def item_headline(cases: Cases) -> str:
    """Return the heading of the table of items."""
    lists = f"in the top {cases.k}" if cases.k is not None else "in the lists"
    if cases.item is not None:
        return f"Recall and exposure of the item {lists}"
    a, b = cases.a, cases.b
    return f"Items that {a} finds less often than {b} {lists}, the largest differences first"
