"""Repeated use of one truth: how often a useless list wins, and its gain on a fresh truth."""

from collections.abc import Callable

import numpy as np

from benchmarks.simulated import Floats
from benchmarks.tabulated import Row, generator, markdown_table, rate
from concord.metrics_core.stats.adjustment import chance_of_false_winner, reuse_severity
from concord.metrics_core.stats.paired_test import UserValues, paired_test

ALPHA = 0.05
USERS, RUNS = 300, 1_000
COUNTS = (1, 2, 5, 14, 28, 60)  # comparisons; a notice from 5, serious from 28
HIT_RATE, SHARED = 0.4, 0.7
CHANGED = 0.2  # of the users, by a small change of a list
_GAINS = 1 / np.log2(np.arange(2, 12))  # of one hit at each rank
Draw = Callable[[np.random.Generator, int], Floats]  # (1 + variants, users): the baseline first


def useless_variants() -> list[str]:
    """One variant per comparison, none better than the baseline: is the best one called better?"""
    kinds: dict[str, Draw] = {"small changes": _small_changes, "models of their own": _own_models}
    rows = [(name, *_tried(draw, count)) for name, draw in kinds.items() for count in COUNTS]
    head = (
        "variants",
        "comparisons",
        "one is called better",
        "1 - (1 - alpha / 2)^m",
        "alpha / 2 whatever m",
        "what is said",
        "lead of the best",
        "on a fresh truth",
        "called better there",
    )
    return [
        "## One truth, asked again and again",
        "",
        f"A baseline and variants that are as good, {USERS} users, a variant a comparison, "
        f"{RUNS:,} runs a row: how often one of",
        f"them is called better. A small change alters the values of {CHANGED:.0%} of the users, "
        "so that the differences of variants are",
        "nearly independent, and 1 - (1 - alpha / 2)^m nearly reached; models of their own share "
        "the luck of the baseline,",
        "and stay well below it. Who reads each verdict as if it were the only one (alpha / 2) is "
        "wrong 18-fold after 28 small",
        "changes. The lead of the best was made by choosing it: on other users it is gone.",
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


def built_from_winners() -> list[str]:
    """Each variant is a small change of the last; it is kept if it looked better by any amount."""
    rows: list[Row] = []
    for count in COUNTS:
        won = confirmed = 0
        for run in range(RUNS):
            (champion, baseline), fresh = _climbed(generator(15, count, run), count)
            won += _better(champion, baseline)
            confirmed += _better(*fresh)
        limit = chance_of_false_winner(count, ALPHA)
        rows.append((f"{count}", rate(won, RUNS), f"{limit:.1%}", rate(confirmed, RUNS)))
    head = (
        "changes tried",
        "the last is called better",
        "1 - (1 - alpha / 2)^m",
        "on a fresh truth",
    )
    return [
        "## Lists made of what won",
        "",
        "Useless small changes again, each of the list that is best so far; what looks better by "
        "any amount is kept. One single",
        "test in the end, of the last list against the first. This truth chose every step, so the "
        "formula for lists that were",
        "made without it is no limit here: the warning says `and more`. (One change is tested "
        "where it was kept only.)",
        "",
        *markdown_table(head, rows),
    ]


PARTS = (useless_variants, built_from_winners)


def _tried(draw: Draw, count: int) -> Row:
    won = confirmed = 0
    lead, again = [], []
    for run in range(RUNS):
        rng = generator(14, count, run)
        values, fresh = draw(rng, count), draw(rng, count)
        best = int(np.argmax(values[1:].mean(axis=1))) + 1
        won += any(_better(each, values[0]) for each in values[1:])
        confirmed += _better(fresh[best], fresh[0])
        lead.append(float((values[best] - values[0]).mean()))
        again.append(float((fresh[best] - fresh[0]).mean()))
    chance = chance_of_false_winner(count, ALPHA)
    return (
        f"{count}",
        rate(won, RUNS),
        f"{chance:.1%}",
        f"{ALPHA / 2:.1%}",
        reuse_severity(chance) or "the count",
        f"{np.mean(lead):+.4f}",
        f"{np.mean(again):+.4f}",
        rate(confirmed, RUNS),
    )


def _climbed(
    rng: np.random.Generator, steps: int
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return the last and the first list, on the truth used for choosing and on a fresh one."""
    first, elsewhere = _drawn(rng, USERS), _drawn(rng, USERS)
    last, last_elsewhere = first, elsewhere
    for _ in range(steps):
        tried, tried_there = _with_change(rng, last), _with_change(rng, last_elsewhere)
        if tried.mean() > last.mean():
            last, last_elsewhere = tried, tried_there
    return (last, first), (last_elsewhere, elsewhere)


def _small_changes(rng: np.random.Generator, variants: int) -> Floats:
    baseline = _drawn(rng, USERS)
    return np.stack([baseline, *(_with_change(rng, baseline) for _ in range(variants))])


def _with_change(rng: np.random.Generator, values: Floats) -> Floats:
    return np.where(rng.random(USERS) < CHANGED, _drawn(rng, USERS), values)


def _own_models(rng: np.random.Generator, variants: int) -> Floats:
    """Models with the same hit probability and shared luck."""
    shape = (1 + variants, USERS)
    own_luck = np.where(rng.random(shape) < SHARED, rng.random(USERS), rng.random(shape))
    return np.where(own_luck < HIT_RATE, rng.choice(_GAINS, shape), 0.0)


def _drawn(rng: np.random.Generator, users: int) -> Floats:
    """Return nDCG@10 of users with one relevant item each."""
    return np.where(rng.random(users) < HIT_RATE, rng.choice(_GAINS, users), 0.0)


def _better(a: Floats, b: Floats) -> bool:
    test = paired_test(UserValues(a), UserValues(b), confidence=1 - ALPHA)
    return bool(test.p < ALPHA and test.difference > 0)
