"""`ppi` on simulated queries: intervals cover the true mean, better judges are worth more.

benchmarks/SIMULATIONS.md has all judges, sizes of samples and values. The first run of each judge
goes through `concord.ppi` there and here.
"""

from benchmarks.simulated_judges import Cell, simulate

RUNS = 60
SAMPLED = 50
VALUES = ("nDCG", "RR", "difference, 50% differ")


def test_intervals_cover_and_the_worth_grows_with_the_judge() -> None:
    judges = ("useless", "wrong for 20%", "perfect")
    cells = [simulate(RUNS, SAMPLED, judge, queries=400) for judge in judges]

    for values in VALUES:
        of_values = [each[values] for each in cells]
        assert all(cell.tested == RUNS for cell in of_values)
        assert all(cell.covered >= 0.87 * RUNS for cell in of_values)
        useless, good, perfect = map(_worth, of_values)
        assert 0.93 * SAMPLED < useless < 1.2 * SAMPLED
        assert 1.2 * SAMPLED < good < perfect
        assert perfect > 4 * SAMPLED


def _worth(cell: Cell) -> float:
    return cell.labels / cell.tested
