"""What makes an evaluation doubtful, told from the files alone: the most serious first, each with what to do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.comparing.choices import Choices
from pipeline.comparing.data_warnings import data_warnings
from pipeline.comparing.evaluations import Evaluation, read_json
from pipeline.comparing.id_warnings import id_warnings
from pipeline.comparing.phrases import counted, listed, percent
from pipeline.comparing.warning import MATTERS, NOTICE, SERIOUS, Row, warning
from pipeline.params.model import Params

FEWEST = 10  # users, before a pattern in their lists says anything


def warning_rows(
    params: Params, choices: Choices, evaluations: Mapping[str, Evaluation]
) -> list[Row]:
    """Warnings on the lists of models, on train and truth, and on how they fit together."""
    found = _Found(params, choices.main_k, evaluations)
    rows = [
        *found.sampled(),
        *found.in_train(),
        *found.future(),
        *data_warnings(params),
        *id_warnings(evaluations),
        *found.different_users(),
        *found.judged(),
        *found.tied(),
        *found.short(),
    ]
    return sorted(rows, key=lambda row: row["severity"] != SERIOUS)


@dataclass(frozen=True)
class _Found:
    """The counts that the evaluations left, at cutoff k."""

    params: Params
    k: int | None
    evaluations: Mapping[str, Evaluation]

    def sampled(self) -> Iterator[Row]:
        """Lists of one length that hold all that their users wanted, yet not all items."""
        who = [model for model, each in self.evaluations.items() if _looks_sampled(each)]
        if who:
            length = self.evaluations[who[0]].full_lists["length"]
            yield warning(
                "sampled_candidates",
                SERIOUS,
                who,
                f"Every list has {counted(length, 'item')} and holds every relevant item of its user: the candidates "
                "look sampled, and metrics on samples can put models in another order than metrics on all items.",
                "rank all items of the catalogue, or at least say in the title that candidates were sampled",
            )

    def in_train(self) -> Iterator[Row]:
        shares = self._shares("in_train")
        who = [model for model, share in shares.items() if share > 0]
        if not who:
            return
        uneven = min(shares.values()) < MATTERS <= max(shares.values())
        most = max(shares, key=shares.__getitem__)
        but = " Others leave them out, so the comparison is uneven." if uneven else ""
        yield warning(
            "train_items_recommended",
            SERIOUS if uneven else NOTICE,
            who,
            f"Lists hold items that their user already has in the train: up to {percent(shares[most])} of the "
            f"top {self.k} ({most}).{but}",
            "leave out what users know, or let all models repeat it",
        )

    def future(self) -> Iterator[Row]:
        shares = self._shares("future")
        who = [model for model, share in shares.items() if share > 0]
        if who:
            most = max(shares, key=shares.__getitem__)
            yield warning(
                "future_items",
                SERIOUS,
                who,
                f"Lists hold items that the train first has after the last row of their user in the truth: up to "
                f"{percent(shares[most])} of the top {self.k} ({most}). A model could not have known them then.",
                "train on what happened before the truth, with one split time for all users",
            )

    def different_users(self) -> Iterator[Row]:
        users = {model: each.summary["users"] for model, each in self.evaluations.items()}
        lacking = {m: n["without_list"] for m, n in users.items() if n.get("without_list")}
        sets = {e.summary.get("validity", {}).get("users") for e in self.evaluations.values()}
        if not lacking or len(sets) == 1:
            return
        most = max(lacking, key=lacking.__getitem__)
        share = lacking[most] / users[most]["evaluated"]
        alike = len(set(lacking.values())) == 1
        who = (
            listed(list(lacking))
            if alike
            else f"{counted(len(lacking), 'model')}, most of all {most},"
        )
        have = "has" if len(lacking) == 1 else "have"
        upto = "" if alike else "up to "
        yield warning(
            "user_sets_differ",
            SERIOUS if share >= MATTERS else NOTICE,
            list(lacking),
            f"Not all models have lists for the same users: {who} {have} none for {upto}"
            f"{counted(lacking[most], 'user')} ({percent(share)}), and `user_no_recs: {self.params.pinned.user_no_recs}` decides what they count.",
            "give every model a list for every user",
        )

    def judged(self) -> Iterator[Row]:
        """Told only where the truth also knows what is not relevant: else the share judged is the precision."""
        least = self.params.pinned.relevance_threshold
        truth = read_json(Path(self.params.results.quality) / "truth.json")
        grades = truth.get("grades") or {}
        if least is None or all(float(grade) >= least for grade in grades):
            return
        shares = {
            model: each.summary["judged_share"].get(str(self.k))
            for model, each in self.evaluations.items()
        }
        known = {model: share for model, share in shares.items() if share is not None}
        if known and min(known.values()) < 0.5:  # noqa: PLR2004 - most of the list is unknown
            fewest, most = (f(known, key=known.__getitem__) for f in (min, max))
            yield warning(
                "few_judged",
                NOTICE,
                [],
                f"Of the top {self.k}, {percent(known[fewest])} ({fewest}) to {percent(known[most])} ({most}) is "
                "judged; what is not counts as not relevant.",
                "read means as lower bounds; Bpref and `judged_only` look at judged items alone",
            )

    def tied(self) -> Iterator[Row]:
        """Told only of files whose order is that of the scores: with ranks no tie has to be broken."""
        counts = {
            model: (each.at_cutoff(self.k).get("tied", 0), each.summary["users"]["evaluated"])
            for model, each in self.evaluations.items()
            if each.quality.get("order") == "score"
        }
        shares = {m: tied / users for m, (tied, users) in counts.items() if users}
        who = [model for model, share in shares.items() if share >= MATTERS]
        if who:
            most = max(who, key=shares.__getitem__)
            yield warning(
                "ties_at_cutoff",
                NOTICE,
                who,
                f"Scores tie across rank {self.k} for up to {percent(shares[most])} of the users ({most}): "
                f"`ties: {self.params.pinned.ties}` decides which item is in the list.",
                "write scores with more digits; `ties: average` counts all orders alike",
            )

    def short(self) -> Iterator[Row]:
        """At the main cutoff, or else at the first at which some end."""
        cutoffs = sorted(self.params.evaluation.ks, key=lambda k: (k != self.k, k))
        k = next((k for k in cutoffs if any(self._shorter_than(k).values())), None)
        if k is not None:
            shares = self._shorter_than(k)
            who = [model for model, share in shares.items() if share > 0]
            most = max(who, key=shares.__getitem__)
            yield warning(
                "short_lists",
                NOTICE,
                who,
                f"Lists end before rank {k} for up to {percent(shares[most])} of the users ({most}).",
                "leave longer lists on disk, or choose smaller cutoffs",
            )

    def _shorter_than(self, k: int) -> dict[str, float]:
        """Of the users who are evaluated."""
        return {
            model: each.summary["users"].get("shorter_than", {}).get(str(k), 0)
            / max(each.summary["users"]["evaluated"], 1)
            for model, each in self.evaluations.items()
        }

    def _shares(self, count: str) -> dict[str, float]:
        """Of the places that are shown; nothing where it was not counted."""
        at_k = {model: each.at_cutoff(self.k) for model, each in self.evaluations.items()}
        return {
            model: found[count] / found["shown"]
            for model, found in at_k.items()
            if found.get(count) is not None and found["shown"]
        }


def _looks_sampled(evaluation: Evaluation) -> bool:
    full = evaluation.full_lists
    if not full or full["with_relevant"] < FEWEST:
        return False
    of_one_length = full["longest"] == full["users"]
    holds_all = full["holding_all"] == full["with_relevant"]
    return bool(of_one_length and holds_all and full["length"] < evaluation.quality["items"])
