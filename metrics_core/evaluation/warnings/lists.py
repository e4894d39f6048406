"""Warnings about lists: sampled candidates, known and future items, ties, short lists."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from concord.metrics_core.conventions.conventions import Candidates, Conventions
from concord.metrics_core.errors import in_words
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.model_result import (
    EvaluationData,
    ModelResult,
    Models,
)
from concord.metrics_core.evaluation.sampled_candidates import GAMMA, UNBIASED
from concord.metrics_core.evaluation.score import names_users
from concord.metrics_core.evaluation.warnings.base import FEWEST, MATTERS, warned
from concord.metrics_core.evaluation.warnings.data import (
    data_warnings,
    grade_warnings,
    swapped_tables,
)
from concord.metrics_core.evaluation.warnings.ids import id_warnings, rewritten_ids
from concord.metrics_core.evaluation.warnings.users import heavy_users_of, unit_word, user_warnings
from concord.metrics_core.evaluation.warnings.weights import (
    order_warnings,
    unobserved_warnings,
    weight_warnings,
)
from concord.metrics_core.results.comparison_parts import Warned
from concord.metrics_core.results.words import percent


def evaluation_warnings(
    config: EvaluationConfig, models: Models, ground: EvaluationData
) -> list[Warned]:
    """On the lists of models, on train and truth, and on how they fit together; the most serious first."""
    found = _ListWarnings(config, config.main_cutoff, models, ground)
    every = [
        *_corrected_samples(config.conventions),
        *found.sampled(),
        *found.in_train(),
        *found.future(),
        *data_warnings(ground.train_overlap(of_requests=config.of_requests), config.settings),
        *grade_warnings(_grades(ground), config.conventions),
        *id_warnings(models, config.settings),
        *rewritten_ids(models, ground),
        *swapped_tables(models, ground),
        *user_warnings(models, config.conventions),
        *heavy_users_of(ground, config.conventions),
        *weight_warnings(models),
        *found.unobserved(),
        *order_warnings(config, models),
        *found.judged(),
        *found.tied(),
        *found.short(),
    ]
    return sorted(every, key=lambda each: each.severity != "serious")


def _corrected_samples(conventions: Conventions) -> Iterator[Warned]:
    """Yield a warning if candidates are declared as sampled, so that values are corrected."""
    if conventions.candidates is None:
        return
    candidates = Candidates.of(conventions.candidates)
    m, others = candidates.negatives, candidates.others
    yield warned(
        "sampled_corrected",
        "notice",
        [],
        f"Candidates are sampled: each list ranks the relevant item among {m:,} of {others:,} others. Values are corrected, "
        f"user by user, towards the metric of all {others + 1:,} items (Krichene and Rendle, 2020; variance weighs "
        f"{GAMMA:g}). {UNBIASED} needs no correction; all others keep a bias that no interval covers.",
        "rank all items of the catalogue where you can: no correction is as good",
    )


@dataclass(frozen=True)
class _ListWarnings:
    """The counts that the evaluations left, at cutoff k."""

    config: EvaluationConfig
    k: int | None
    models: Models
    ground: EvaluationData

    def sampled(self) -> Iterator[Warned]:
        """Return the warning on lists of one length that hold all relevant items, yet not the whole catalogue.

        Without a catalogue or a train these may be all items, or the few that a first stage left to be ranked again.
        """
        if self.config.conventions.candidates is not None:
            return
        alike = [model for model, each in self.models.items() if _holds_all_relevant(each)]
        n_items = self.ground.n_known_items() if alike and self.ground.truths_differ() else 0
        who = [m for m in alike if self.models[m].full_lists["length"] < n_items]
        if who:
            length = self.models[who[0]].full_lists["length"]
            yield warned(
                "sampled_candidates",
                "serious",
                who,
                f"Every list has {in_words(length, 'item')} of {n_items:,} and holds every relevant item of its user: the "
                "candidates look sampled, and metrics on samples can put models in another order than metrics on all items.",
                "rank all items of the catalogue, or declare them: conventions.candidates corrects what can be corrected",
            )

    def in_train(self) -> Iterator[Warned]:
        shares = self._shares("in_train")
        who = [model for model, share in shares.items() if share > 0]
        if not who:
            return
        uneven = min(shares.values()) < MATTERS <= max(shares.values())
        most = max(shares, key=shares.__getitem__)
        but = " Others leave them out, so the comparison is uneven." if uneven else ""
        yield warned(
            "train_items_recommended",
            "serious" if uneven else "notice",
            who,
            f"Lists hold items that their user already has in the train: up to {percent(shares[most])} of the "
            f"top {self.k} ({most}).{but}",
            "leave out what users know, or let all models repeat it",
        )

    def future(self) -> Iterator[Warned]:
        shares = self._shares("future")
        if any(shares.values()):
            yield future_items(shares, self.k)

    def unobserved(self) -> Iterator[Warned]:
        weighed = [each.summary.get("propensity") for each in self.models.values()]
        pinned = self.config.conventions
        yield from unobserved_warnings(
            self.config.labels,
            pinned,
            [each["unobserved"] for each in weighed if each is not None],
            named=self.ground.users is not None and names_users(pinned),
        )

    def judged(self) -> Iterator[Warned]:
        """Told only where the truth also knows what is not relevant: else the share judged is the precision."""
        least = self.config.conventions.relevance_threshold
        if least is None or all(grade >= least for grade in _grades(self.ground)):
            return
        shares = {
            model: each.summary["judged_share"].get(str(self.k))
            for model, each in self.models.items()
        }
        known = {model: share for model, share in shares.items() if share is not None}
        if known and min(known.values()) < 0.5:  # noqa: PLR2004 - most of the list is unknown
            fewest, most = (f(known, key=known.__getitem__) for f in (min, max))
            span = f"{percent(known[fewest])} ({fewest}) to {percent(known[most])} ({most})"
            if percent(known[fewest]) == percent(known[most]):
                span = percent(known[most])
            yield warned(
                "few_judged",
                "notice",
                [],
                f"Of the top {self.k}, {span} is judged; what is not counts as not relevant.",
                "read means as lower bounds; Bpref and `judged_only` look at judged items alone",
            )

    def tied(self) -> Iterator[Warned]:
        """Told only of files whose order is that of the scores: with ranks no tie has to be broken."""
        counts = {
            model: (each.at_cutoff(self.k).get("tied", 0), each.summary["users"]["evaluated"])
            for model, each in self.models.items()
            if each.quality.get("order") == "score"
        }
        shares = {m: tied / users for m, (tied, users) in counts.items() if users}
        who = [model for model, share in shares.items() if share >= MATTERS]
        if who:
            most = max(who, key=shares.__getitem__)
            yield warned(
                "ties_at_cutoff",
                "notice",
                who,
                f"Scores tie across rank {self.k} for up to {percent(shares[most])} of the {unit_word(self.config.conventions)}s ({most}): "
                f"`ties: {self.config.conventions.ties}` decides which item is in the list.",
                "write scores with more digits; `ties: average` counts all orders alike",
            )

    def short(self) -> Iterator[Warned]:
        """At the main cutoff, or else at the first at which some end."""
        cutoffs = sorted(self.config.ks, key=lambda k: (k != self.k, k))
        k = next((k for k in cutoffs if any(self._shorter_than(k).values())), None)
        if k is not None:
            shares = self._shorter_than(k)
            who = [model for model, share in shares.items() if share > 0]
            most = max(who, key=shares.__getitem__)
            yield warned(
                "short_lists",
                "notice",
                who,
                f"Lists end before rank {k} for up to {percent(shares[most])} of the {unit_word(self.config.conventions)}s ({most}).",
                "leave longer lists on disk, or choose smaller cutoffs",
            )

    def _shorter_than(self, k: int) -> dict[str, float]:
        """Of the users who are evaluated."""
        return {
            model: each.summary["users"].get("shorter_than", {}).get(str(k), 0)
            / max(each.summary["users"]["evaluated"], 1)
            for model, each in self.models.items()
        }

    def _shares(self, count: str) -> dict[str, float]:
        """Of the places that are shown; nothing where it was not counted."""
        at_k = {model: each.at_cutoff(self.k) for model, each in self.models.items()}
        return {
            model: found[count] / found["shown"]
            for model, found in at_k.items()
            if found.get(count) is not None and found["shown"]
        }


def future_items(shares: Mapping[str, float], k: int | None) -> Warned:
    """On lists, some of whose places go to items that did not exist yet; `shares`: model -> of its top k."""
    most = max(shares, key=shares.__getitem__)
    return warned(
        "future_items",
        "serious",
        [model for model, share in shares.items() if share > 0],
        f"Lists hold items that the train first has after the last row of their user in the truth: up to "
        f"{percent(shares[most])} of the top {k} ({most}). A model could not have known them then.",
        "train on what happened before the truth, with one split time for all users",
    )


def _grades(ground: EvaluationData) -> list[float]:
    """Those of the truth; none where they are too many to be counted one by one."""
    return [float(grade) for grade in ground.truth_quality.get("grades") or {}]


def _holds_all_relevant(evaluation: ModelResult) -> bool:
    """True if lists for enough users have one length and hold all relevant items."""
    full = evaluation.full_lists
    if not full or full["with_relevant"] < FEWEST:
        return False
    of_one_length = full["longest"] == full["users"]
    holds_all = full["holding_all"] == full["with_relevant"]
    return bool(of_one_length and holds_all)


def checked_kinds(config: EvaluationConfig, models: Models, ground: EvaluationData) -> list[str]:
    """The kinds of such warnings whose check was made for every model; ties only where scores order a list."""
    every = list(models.values())
    at_k = [each.at_cutoff(config.main_cutoff) for each in every]
    made = {
        "sampled_candidates": config.conventions.candidates is None
        and (ground.items is not None or ground.train is not None)
        and all(each.full_lists.get("with_relevant", 0) >= FEWEST for each in every),
        "train_items_recommended": all(each.get("in_train") is not None for each in at_k),
        "future_items": all(each.get("future") is not None for each in at_k),
        "truth_in_train": ground.train is not None,
        "user_sets_differ": len(every) > 1,
        "ties_at_cutoff": config.main_cutoff is not None
        and any(each.quality.get("order") == "score" for each in every),
    }
    return [kind for kind, was_made in made.items() if was_made]
