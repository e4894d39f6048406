"""The toy example of Krichene & Rendle (KDD 2020): three recommenders, five users, 10,000 items.

python examples/published/krichene_rendle.py

Each user has one relevant item. Its rank is that of the paper; the published means are in
krichene_rendle.csv.
"""

from pathlib import Path

import concord as cc

N_ITEMS = 10_000
RANKS = {
    "A": [100, 100, 100, 100, 100],
    "B": [40, 40, 8437, 9266, 4482],
    "C": [212, 2, 743, 5342, 1548],
}
PUBLISHED = Path(__file__).with_suffix(".csv")


def main() -> None:
    """Print the published means beside those of Concord."""
    others = [f"i{number}" for number in range(1, N_ITEMS)]
    models = {
        name: {
            f"u{user}": [*others[: rank - 1], "relevant", *others[rank - 1 :]]
            for user, rank in enumerate(ranks)
        }
        for name, ranks in RANKS.items()
    }
    judged = {"relevant": 1, **dict.fromkeys(others, 0)}  # AUC compares judged items
    print(cc.verify(models, {f"u{user}": judged for user in range(5)}, PUBLISHED))


if __name__ == "__main__":
    main()
