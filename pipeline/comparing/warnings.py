"""What makes an evaluation doubtful, told from the files alone: the most serious first, each with what to do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metrics_core.locked import connect
from pipeline.comparing.choices import Choices
from pipeline.comparing.evaluations import Evaluation, read_json
from pipeline.comparing.phrases import counted, percent
from pipeline.params import Params
from pipeline.threads import thread_settings

Row = dict[str, Any]
SERIOUS, NOTICE = "serious", "notice"
FEWEST = 10  # users, before a pattern in their lists says anything
MATTERS = 0.01  # a share that a reader must know of

_TWICE = """
SELECT count(*), count(DISTINCT CAST(user AS VARCHAR)) FROM truth
SEMI JOIN train ON CAST(truth.user AS VARCHAR) = CAST(train.user AS VARCHAR)
               AND CAST(truth.item AS VARCHAR) = CAST(train.item AS VARCHAR)
"""
_SHARED = """
SELECT count(*) FROM (SELECT CAST(user AS VARCHAR) AS user FROM truth
                      SEMI JOIN train ON CAST(truth.user AS VARCHAR) = CAST(train.user AS VARCHAR) LIMIT 1)
"""
_OVERLAPPING = """
SELECT count(*) FROM (SELECT CAST(user AS VARCHAR) AS user, min(time) AS began FROM truth GROUP BY ALL)
JOIN (SELECT CAST(user AS VARCHAR) AS user, max(time) AS ended FROM train GROUP BY ALL) USING (user)
WHERE began < ended
"""


def warning_rows(
    params: Params, choices: Choices, evaluations: Mapping[str, Evaluation]
) -> list[Row]:
    """Warnings on the lists of models, on train and truth, and on how they fit together."""
    found = _Found(params, choices.main_k, evaluations)
    rows = [
        *found.sampled(),
        *found.in_train(),
        *found.future(),
        *_on_data(params),
        *found.different_users(),
        *found.judged(),
        *found.tied(),
        *found.short(),
    ]
    return sorted(rows, key=lambda row: row["severity"] != SERIOUS)


def _row(kind: str, severity: str, who: Sequence[str], sentence: str, fix: str) -> Row:
    return {"kind": kind, "severity": severity, "who": list(who), "sentence": sentence, "fix": fix}


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
            length = self.evaluations[who[0]].summary["validity"]["full_lists"]["length"]
            yield _row(
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
        yield _row(
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
            yield _row(
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
        yield _row(
            "user_sets_differ",
            SERIOUS if share >= MATTERS else NOTICE,
            list(lacking),
            f"Not all models have lists for the same users: {most} has none for {counted(lacking[most], 'user')} "
            f"({percent(share)}), and `user_no_recs: {self.params.pinned.user_no_recs}` decides what they count.",
            "give every model a list for every user, or see the segments for those whom all models know",
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
            yield _row(
                "few_judged",
                NOTICE,
                [],
                f"Of the top {self.k}, {percent(known[fewest])} ({fewest}) to {percent(known[most])} ({most}) is "
                "judged; what is not counts as not relevant.",
                "read means as lower bounds; Bpref and `judged_only` look at judged items alone",
            )

    def tied(self) -> Iterator[Row]:
        counts = {
            model: (self._at_k(each).get("tied", 0), each.summary["users"]["evaluated"])
            for model, each in self.evaluations.items()
        }
        shares = {m: tied / users for m, (tied, users) in counts.items() if users}
        who = [model for model, share in shares.items() if share >= MATTERS]
        if who:
            most = max(who, key=shares.__getitem__)
            yield _row(
                "ties_at_cutoff",
                NOTICE,
                who,
                f"Scores tie across rank {self.k} for up to {percent(shares[most])} of the users ({most}): "
                f"`ties: {self.params.pinned.ties}` decides which item is in the list.",
                "write scores with more digits; `ties: average` counts all orders alike",
            )

    def short(self) -> Iterator[Row]:
        shares = {
            model: each.summary["users"].get("shorter_than", {}).get(str(self.k), 0)
            / max(each.summary["users"]["evaluated"], 1)
            for model, each in self.evaluations.items()
        }
        who = [model for model, share in shares.items() if share > 0]
        if who:
            most = max(who, key=shares.__getitem__)
            yield _row(
                "short_lists",
                NOTICE,
                who,
                f"Lists end before rank {self.k} for up to {percent(shares[most])} of the users ({most}).",
                "leave longer lists on disk, or choose smaller cutoffs",
            )

    def _at_k(self, evaluation: Evaluation) -> Mapping[str, Any]:
        by_cutoff = evaluation.summary.get("validity", {}).get("by_cutoff", {})
        found: Mapping[str, Any] = by_cutoff.get(str(self.k), {})
        return found

    def _shares(self, count: str) -> dict[str, float]:
        """Of the places that are shown; nothing where it was not counted."""
        at_k = {model: self._at_k(each) for model, each in self.evaluations.items()}
        return {
            model: found[count] / found["shown"]
            for model, found in at_k.items()
            if found.get(count) is not None and found["shown"]
        }


def _looks_sampled(evaluation: Evaluation) -> bool:
    full = evaluation.summary.get("validity", {}).get("full_lists", {})
    if not full or full["with_relevant"] < FEWEST:
        return False
    of_one_length = full["longest"] == full["users"]
    holds_all = full["holding_all"] == full["with_relevant"]
    return bool(of_one_length and holds_all and full["length"] < evaluation.quality["items"])


def _on_data(params: Params) -> Iterator[Row]:
    """What train and truth say of each other."""
    if "train" not in params.background:
        return
    files = {name: Path(params.results.data) / f"{name}.parquet" for name in ("train", "truth")}
    with connect(reads=files.values(), config=thread_settings()) as connection:
        for name, path in files.items():
            connection.read_parquet(str(path)).create_view(name)
        rows, users = connection.execute(_TWICE).fetchall()[0]
        (total,) = connection.execute("SELECT count(*) FROM truth").fetchall()[0]
        timed = all("time" in connection.view(name).columns for name in ("train", "truth"))
        (shared,) = connection.execute(_SHARED).fetchall()[0]
        overlapping = connection.execute(_OVERLAPPING).fetchall()[0][0] if timed else 0
    if not shared:
        yield _row(
            "unrelated_train",
            SERIOUS,
            [],
            "No user of the truth stands in the train: is it what these models learned from?",
            "name your own files under `background:`, or write `background: {}`",
        )
    if rows:
        yield _row(
            "truth_in_train",
            SERIOUS if rows / total >= MATTERS else NOTICE,
            [],
            f"{counted(rows, 'row')} of the truth ({percent(rows / total)}) of {counted(users, 'user')} stand in the "
            "train too: models that leave out what users know cannot find them, others have learned the answer.",
            "split so that a pair of user and item is in one of the two",
        )
    if overlapping:
        yield _row(
            "truth_before_train",
            NOTICE,
            [],
            f"The truth of {counted(overlapping, 'user')} begins before their train ends: the split is not by time.",
            "split by time where the model will meet the future",
        )
