"""Trade-offs: how often few users call the accurate model dominated, by `concord.compare`."""

import polars as pl

import concord as cc
from benchmarks.tabulated import generator, markdown_table, rate
from concord.metrics_core.results.comparison import Comparison

RUNS = 200
SIZES = (80, 300, 1_000)
# Hit rates of the model with the novel lists, whose other has one of 0.5.
RATES = {"accurate 25% better": 0.4, "accurate 2% better": 0.49, "novel 25% better": 0.625}
_ACCURATE, _NOVEL = "accurate", "novel"
_POPULAR = 30  # the first of 60 items
_SHARE = 0.95  # of the interactions with these
Lists = dict[str, list[int]]


def _tradeoffs() -> list[str]:
    rows = []
    for n in SIZES:
        cells, not_worse = [], 0
        for rate_of_novel in RATES.values():
            n_dominated = 0
            for run in range(RUNS):
                comparison = _compared(n, rate_of_novel, run)
                (tradeoff,) = comparison.tradeoffs
                dominated_by = {point.model: point.dominated_by for point in tradeoff.points}
                n_dominated += _NOVEL in dominated_by[_ACCURATE]
                if rate_of_novel == RATES["accurate 25% better"]:
                    pair = comparison.difference(_NOVEL, _ACCURATE, "nDCG@10")
                    not_worse += pair is not None and not pair.verdict.startswith("worse")
            cells.append(rate(n_dominated, RUNS))
        rows.append((f"{n:,}", *cells, rate(not_worse, RUNS)))
    return [
        "## Trade-offs: which model is dominated",
        "",
        f"Two models, {RUNS} runs a cell; the lists of one are much more novel. How often the "
        "accurate model is shown to be dominated, by",
        "their true nDCG@10 and with a minimum relevant difference of 2%: 2% better is the margin, "
        "where 2.5% is nominal. The last",
        "column is how often the novel model is not significantly worse though the other is 25% "
        "better: absence of evidence.",
        "",
        *markdown_table(("users", *RATES, "accurate 25% better: novel not worse"), rows),
    ]


def _compared(n: int, rate_of_novel: float, run: int) -> Comparison:
    rng = generator(n, run)
    truth = {f"u{i}": int(item) for i, item in enumerate(rng.integers(2 * _POPULAR, size=n))}

    def lists(hit_rate: float, first: int) -> Lists:
        """Return ten of 30 items for each user, and the relevant one early at the hit rate."""
        drawn: Lists = {}
        for user, relevant in truth.items():
            items = [*map(int, first + rng.permutation(_POPULAR)[:10])]
            drawn[user] = [item for item in items if item != relevant][:9]
            if rng.random() < hit_rate:
                drawn[user].insert(int(rng.integers(4)), relevant)
        return drawn

    models = {_ACCURATE: lists(0.5, 0), _NOVEL: lists(rate_of_novel, _POPULAR)}
    return cc.compare(
        models,
        {user: [item] for user, item in truth.items()},
        metrics=["nDCG@10", "Novelty@10"],
        primary=["nDCG@10"],
        baseline=_ACCURATE,
        train=_train(),
        min_effect="2%",
        panel=False,
        resamples=99,
    )


def _train() -> pl.DataFrame:
    """Return interactions of 100 users, most with the popular items."""
    rng, n = generator(1), 3_000
    is_popular = rng.random(n) < _SHARE
    items = rng.integers(_POPULAR, size=n) + _POPULAR * ~is_popular
    rows = pl.DataFrame({"user": [f"t{i % 100}" for i in range(n)], "item": items})
    return rows.unique(maintain_order=True)


PARTS = (_tradeoffs,)
