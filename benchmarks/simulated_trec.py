"""Type I error on per-topic scores of TREC runs, beside published rates of the same tests.

`python -m benchmarks.simulated_trec FOLDER` prints this part alone; `make simulations` reads the
folder from the variable CONCORD_TREC. The data are not part of this repository.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import concord
from benchmarks.simulated import Floats
from benchmarks.tabulated import generator, markdown_table, rate
from concord.metrics_core.metrics.judged import Ints
from concord.metrics_core.results.comparison_parts import Difference

FOLDER = "CONCORD_TREC"  # environment variable
ALPHA = 0.05
RUNS, AT_ONCE = 1_000, 250  # of each row; in one comparison
FEWEST = 10  # topics on which a pair of runs differs
TOPICS = (25, 50, 100)
MEASURES = {  # label -> file of the scores, name in the files of published rates
    "AP": ("adhoc8_ap.csv", "ap"),
    "P@10": ("adhoc8_p10.csv", "p10"),
    "RR": ("adhoc8_rr.csv", "rr"),
    "nDCG@20": ("web2013_ndcg20.csv", "ndcg20"),
}
PUBLISHED = {"t": 0.0013193972, "wilcoxon": 0.003445188}
Null = Callable[[np.random.Generator, Floats, Floats, Ints], tuple[Floats, Floats]]

HEADING = "## TREC runs, beside published error rates"
_SOURCE = (
    "Scores and published rates: J. Urbano, H. Lima and A. Hanjalic, Statistical Significance "
    "Testing in Information "
    "Retrieval, SIGIR 2019, repository julian-urbano/sigir2019-statistical, data under CC BY-SA "
    "4.0."
)


def trec_runs() -> list[str]:
    """The worked example of the study, and type I error rates beside the published ones."""
    head = [HEADING, ""]
    folder = os.environ.get(FOLDER)
    if folder is None or not Path(folder).is_dir():
        return [
            *head,
            f"Not run: the variable {FOLDER} names no folder with the data. {_SOURCE}",
            "Put adhoc8_ap.csv, adhoc8_p10.csv, adhoc8_rr.csv and web2013_ndcg20.csv (a row a "
            "topic, a column a run) there,",
            "and type_1/type_1_<measure>_<topics>.csv (rates by level `alpha` and test).",
        ]
    return [*head, _SOURCE, "", *_example(Path(folder)), "", *_type_one(Path(folder))]


PARTS = (trec_runs,)


def _example(folder: Path) -> list[str]:
    scores = pl.read_csv(folder / MEASURES["AP"][0])
    a, b = (scores[name].to_numpy() for name in ("run125", "run126"))
    pair = _compared(["AP"], [(a, b)])[0]
    rows = [
        ("paired t", f"{PUBLISHED['t']:.10f}", _p(pair.p, 10)),
        ("Wilcoxon", f"{PUBLISHED['wilcoxon']:.6f}", _p(pair.p_wilcoxon, 6)),
    ]
    return [
        "Their worked example, systems 125 and 126 of TREC-8 ad hoc, average precision on 50 "
        "topics, two-sided p by",
        "`concord.compare_values`. Wilcoxon's p is exact here, and by the normal approximation "
        "there.",
        "",
        *markdown_table(("test", "published", "here"), rows, text_columns=1),
    ]


def _type_one(folder: Path) -> list[str]:
    rows = []
    for number, (measure, (file, name)) in enumerate(MEASURES.items()):
        scores = pl.read_csv(folder / file).to_numpy()
        for n in TOPICS:
            published = pl.read_csv(folder / "type_1" / f"type_1_{name}_{n}.csv")
            is_alpha = (pl.col("alpha") - ALPHA).abs() < 1e-9  # noqa: PLR2004 - rounding
            published_rates = published.filter(is_alpha).row(0, named=True)
            own_rates = [
                _rates(scores, n, null, seed)
                for seed, null in ((number, _swapped), (number, _centred))
            ]
            cells = [
                cell
                for test in ("t", "w")
                for cell in (
                    f"{published_rates[f'{test}2']:.1%}",
                    *(each[test] for each in own_rates),
                )
            ]
            rows.append(
                (
                    measure,
                    str(n),
                    *cells,
                    f"{published_rates['p2']:.1%}",
                    f"{published_rates['s2']:.1%}",
                    f"{published_rates['b2']:.1%}",
                )
            )
    published_only = ("permutation", "sign test", "bootstrap")
    head = (
        "measure",
        "topics",
        *(
            f"{test}, {how}"
            for test in ("t", "Wilcoxon")
            for how in ("published", "swapped", "centred")
        ),
        *(f"{test}, published" for test in published_only),
    )
    return [
        f"Type I error at {ALPHA:.0%}, two-sided. Published: systems simulated by models fitted "
        "to TREC runs. Here: a",
        f"random pair of runs that differ on at least {FEWEST} topics, and topics drawn with "
        "replacement, given to",
        "`concord.compare_values` under two null hypotheses.",
        "*Swapped*: on each topic the two scores change places with probability 1/2, so "
        "differences are symmetric.",
        "*Centred*: the mean difference is taken from one of the systems, so the mean is 0 and "
        "the skew of real differences",
        f"stays. {RUNS:,} draws a rate. Under 30 topics that differ, as with 25 topics, the p "
        "beside that of t is that of sign flips here.",
        "Where no test is made, nothing is found. The permutation of all topics, the sign test "
        "and the bootstrap are no tests of",
        "Concord. Wilcoxon's test asks whether differences are symmetric, so it "
        "errs where they are skewed.",
        "",
        "Changed: there is no max-T, so its p and its error rates are gone.",
        "",
        *markdown_table(head, rows, text_columns=1),
    ]


def _rates(scores: Floats, n: int, null: Null, seed: int) -> dict[str, str]:
    """Return each test's rate of significant differences of two systems with equal means."""
    drawn = [_drawn(generator(seed, n, run), scores, n, null) for run in range(RUNS)]
    tested: list[Difference] = []
    for start in range(0, RUNS, AT_ONCE):
        some = drawn[start : start + AT_ONCE]
        tested += _compared([f"draw {start + i}" for i in range(len(some))], some, resamples=99)
    return {
        "t": _rate([each.p for each in tested]),
        "w": _rate([each.p_wilcoxon for each in tested]),
    }


def _drawn(rng: np.random.Generator, scores: Floats, n: int, null: Null) -> tuple[Floats, Floats]:
    while True:
        first, second = rng.choice(scores.shape[1], 2, replace=False)
        a, b = scores[:, first], scores[:, second]
        if np.count_nonzero(a != b) >= FEWEST:
            break
    return null(rng, a, b, rng.integers(0, len(a), n))


def _swapped(rng: np.random.Generator, a: Floats, b: Floats, topics: Ints) -> tuple[Floats, Floats]:
    is_swapped = rng.integers(0, 2, len(topics)) == 1
    return np.where(is_swapped, a[topics], b[topics]), np.where(is_swapped, b[topics], a[topics])


def _centred(_: np.random.Generator, a: Floats, b: Floats, topics: Ints) -> tuple[Floats, Floats]:
    return (a - (a - b).mean())[topics], b[topics]


def _compared(
    names: list[str], drawn: list[tuple[Floats, Floats]], **options: object
) -> list[Difference]:
    """Compare each pair as a separate metric."""
    topics = {"user": np.arange(len(drawn[0][0]))}
    values = {
        model: pl.DataFrame(
            topics | {name: pair[i] for name, pair in zip(names, drawn, strict=True)}
        )
        for i, model in enumerate(("a", "b"))
    }
    result = concord.compare_values(
        values,
        baseline="b",
        primary=names[:1],
        wilcoxon=True,
        **options,  # type: ignore[arg-type]
    )
    return list(result.pairs)


def _rate(values: list[float | None]) -> str:
    return rate(sum(p is not None and p < ALPHA for p in values), len(values))


def _p(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.environ[FOLDER] = sys.argv[1]
    print("\n".join(trec_runs()))
