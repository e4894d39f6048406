"""What is told of lists that rank the relevant item among sampled candidates: what was corrected, and what stays open."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from concord.metrics_core.checking.id_types import share_id_types
from concord.metrics_core.checking.relations import files, schema, view
from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evaluated import Evaluated, Ground, Models
from concord.metrics_core.comparing.warnings.warned import warned
from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.comparison.words import listed, percent
from concord.metrics_core.conventions.candidates import Candidates
from concord.metrics_core.metrics.catalogue import Label
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.scoring.sampled.bounds import bounds, fit, grid
from concord.metrics_core.scoring.sampled.corrected import UNBIASED, of_full_ranks
from concord.metrics_core.scoring.sampled.correction import GAMMA

_RANKS = """
SELECT grade, rank, count(*) FROM lists JOIN truth USING (user, item)
WHERE coalesce(grade >= $least, TRUE) GROUP BY grade, rank ORDER BY grade, rank
"""
Counts = Mapping[float, Mapping[int, int]]  # grade of the relevant item -> sampled rank -> users
Bounds = tuple[float, float]
TOP = 100  # full ranks that a bound tells apart one by one, at least


def sampling_warnings(asked: Asked, models: Models, ground: Ground) -> Iterator[Warned]:
    """Nothing where all items were ranked; else what was corrected, and the pairs whose order is not identifiable."""
    if asked.conventions.candidates is None:
        return
    candidates = Candidates.of(asked.conventions.candidates)
    yield _corrected(candidates)
    counted: dict[tuple[float | None, int], dict[str, Counts]] = {}
    for label in asked.of_primary:
        if label.name == UNBIASED:
            continue
        least = label.conventions(asked.conventions).relevance_threshold
        key = least, label.ranking_number(asked.conventions)
        if key not in counted:
            counted[key] = {m: _counts(each, ground, *key) for m, each in models.items()}
        yield from _Found(asked, models, candidates, counted[key]).of_label(label)


def _corrected(candidates: Candidates) -> Warned:
    m, others = candidates.negatives, candidates.others
    return warned(
        "sampled_corrected",
        "notice",
        [],
        f"Candidates are sampled: each list ranks the relevant item among {m:,} of {others:,} others. Values are corrected, "
        f"user by user, towards the metric of all {others + 1:,} items (Krichene and Rendle, 2020; variance weighs "
        f"{GAMMA:g}). {UNBIASED} needs no correction; all others keep a bias that no interval covers.",
        "rank all items of the catalogue where you can: no correction is as good",
    )


def _counts(evaluated: Evaluated, ground: Ground, least: float | None, ranking: int) -> Counts:
    """Of all trainings of a model together."""
    counts: dict[float, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for single in evaluated.each:
        tables = {"lists": single.lists, "truth": ground.truth_of(single)}
        with ground.connecting(files(tables.values())) as connection:
            for name, table in tables.items():
                view(connection, f"{name}_table", table)
            chosen = "SELECT * FROM lists_table"
            if "ranking" in schema(single.lists):
                chosen += f" WHERE ranking = {ranking}"
            connection.execute(f"CREATE VIEW lists_chosen AS {chosen}")
            share_id_types(connection, {"lists": "lists_chosen", "truth": "truth_table"})
            for grade, rank, users in connection.execute(_RANKS, {"least": least}).fetchall():
                counts[grade][rank] += users
    return counts


@dataclass(frozen=True)
class _Found:
    """counts : model -> its users by grade and sampled rank of their relevant item."""

    asked: Asked
    models: Models
    candidates: Candidates
    counts: Mapping[str, Counts]

    def of_label(self, label: Label) -> Iterator[Warned]:
        of_models = {model: self._bounds(label, model) for model in self.models}
        unfit = [model for model, each in of_models.items() if each is None]
        if unfit:
            yield warned(
                "sampled_unfit",
                "serious",
                unfit,
                f"No ranking of {self.candidates.catalogue:,} items gives the sampled ranks of {listed(unfit)} if "
                f"{self.candidates.negatives:,} negatives are drawn uniformly: corrected values of {label} mean nothing there.",
                "see whether negatives were drawn by popularity, and whether conventions.candidates says what was done",
            )
        known = {model: each for model, each in of_models.items() if each is not None}
        open_pairs = [(a, b) for a, b in combinations(known, 2) if _overlap(known[a], known[b])]
        if open_pairs:
            yield self._open(label, known, open_pairs)

    def _open(
        self, label: Label, known: Mapping[str, Bounds], pairs: Sequence[tuple[str, str]]
    ) -> Warned:
        who = [model for model in known if any(model in pair for pair in pairs)]
        spans = listed([f"{model} {low:.3g} to {high:.3g}" for model, (low, high) in known.items()])
        every = len(pairs) == len(known) * (len(known) - 1) // 2
        named = listed([f"{a} and {b}" for a, b in pairs])
        whose = "any two models" if every and len(known) > 2 else named  # noqa: PLR2004 - a pair
        return warned(
            "order_not_identifiable",
            "serious",
            who,
            f"The order of {whose} at {label} is not identifiable from {self.candidates.negatives:,} sampled negatives: "
            f"full rankings that fit these lists, at {percent(self.asked.confidence)} confidence for all models at once, "
            f"have means of {spans}.",
            "rank all items, or draw far more negatives; a verdict here compares corrected values, bias included",
        )

    def _bounds(self, label: Label, model: str) -> Bounds | None:
        """Of the mean over all full rankings that fit, of users with a list; None: none fits.

        Where the label differs by the grade of the relevant item, each grade has bounds of its own.
        """
        own, candidates = label.conventions(self.asked.conventions), self.candidates
        ranks = grid(max(label.k or 0, TOP), candidates)
        aims = {g: of_full_ranks(label, own, g, ranks, candidates) for g in self.counts[model]}
        parts = _pooled(self.counts[model], aims, candidates.negatives)
        users = sum(float(counts.sum()) for _, counts in parts)
        alpha = self.asked.alpha / (len(self.models) * max(len(parts), 1))
        trainings = len(self.models[model].each)
        low = high = 0.0
        for aim, counts in parts:
            fitting = fit(counts, round(float(counts.sum()) / trainings), candidates, alpha)
            found = bounds(aim, ranks, fitting)
            if found is None:
                return None
            share = float(counts.sum()) / users
            low, high = low + share * found[0], high + share * found[1]
        return low, high


def _pooled(
    counts: Counts, aims: Mapping[float, Floats], negatives: int
) -> list[tuple[Floats, Floats]]:
    """Value by full rank and users by sampled rank, of each group of grades that a label values alike."""
    parts: list[tuple[Floats, Floats]] = []
    for grade, aim in aims.items():
        users = np.zeros(negatives + 1)
        for rank, count in counts[grade].items():
            users[rank - 1] = count
        alike = [n for n, (known, _) in enumerate(parts) if np.allclose(known, aim, rtol=1e-12)]
        if alike:
            parts[alike[0]] = parts[alike[0]][0], parts[alike[0]][1] + users
        else:
            parts.append((aim, users))
    return parts


def _overlap(one: Bounds, other: Bounds) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]
