"""The package rbo: extrapolated rank-biased overlap of pairs of lists."""

from adapter import Value, run
from rbo import RankingSimilarity


def measure(case):
    """Yield the pairs as users, by their number."""
    pairs = enumerate(case["pairs"])
    values = {n: RankingSimilarity(a, b).rbo_ext(p=case["p"]) for n, (a, b) in pairs}
    yield Value("rbo", "rbo", values, None)


if __name__ == "__main__":
    run(measure, read=dict)
