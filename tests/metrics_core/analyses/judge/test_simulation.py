"""Judging by weight on simulated search: bounds hold the truth, and fewer judgements decide."""

from benchmarks.simulated_judging import CHOICES, judgements_needed


def test_judging_by_weight_decides_earlier_and_bounds_hold_the_truth() -> None:
    needed = {
        name: [judgements_needed("nDCG@10", seed, choose, queries=6, batch=10) for seed in range(3)]
        for name, choose in CHOICES.items()
    }
    assert all(are_right for results in needed.values() for _, are_right in results)
    total = {name: sum(n for n, _ in results) for name, results in needed.items()}
    assert total["weight"] < total["depth"] < total["random"]
