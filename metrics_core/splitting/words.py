"""What a split should be known by beside its numbers, in words."""

from collections.abc import Iterator, Mapping
from typing import Any

from concord.metrics_core.checking.problems import in_words
from concord.metrics_core.splitting.methods import ColdItems, HeldOutUsers, LeaveLastOut, Method


def notes_of(method: Method, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Sentences on a manifest: who has no truth, what ties, what leaks, what is cold, what was taken before."""
    counts = manifest["counts"]
    if isinstance(method, HeldOutUsers):
        yield _by_chance("user", method.share, counts)
    if isinstance(method, ColdItems) and not method.newest:
        yield _by_chance("item", method.share, counts)
    if isinstance(method, (LeaveLastOut, HeldOutUsers)):
        yield from _of_last(method, counts)
    if late := counts["train_rows_from_the_first_of_truth_on"]:
        share = late / manifest["files"]["train.parquet"]["rows"]
        yield f"{100 * share:.3g} % of train happened when the truth had begun: models learn from what came after it (Ji et al. 2023); global-time does not leak"
    if counts["truth_users_without_history"]:
        users = in_words(counts["truth_users_without_history"], "user")
        yield f"{users} of the truth ({in_words(counts['truth_rows_of_these_users'], 'row')}) have no earlier interaction: kept"
    if counts["truth_items_unknown_to_train"]:
        items = in_words(counts["truth_items_unknown_to_train"], "item")
        yield f"{items} of the truth ({in_words(counts['truth_rows_of_these_items'], 'row')}) are unknown to train: kept"
    if pairs := counts["truth_pairs_taken_before"]:
        yield f"{in_words(pairs, 'row')} of the truth are items that the user took before: models that leave out what was taken cannot hit them; `repeats` first keeps first times only"
    if tied := counts.get("items_tied_at_the_cut"):
        yield f"{in_words(tied, 'item')} of train are as new as the oldest in the truth: {manifest['ties'].partition(': ')[2]}"


def _by_chance(kind: str, share: float, counts: Mapping[str, Any]) -> str:
    held_out, of = counts[f"held_out_{kind}s"], counts[f"{kind}s"]
    return (
        f"{held_out:,} of {in_words(of, kind)} ({100 * held_out / of:.3g} %) are held out: the share {share:g} is the chance of "
        f"each {kind}, by a hash of seed and id; an exact share would move {kind}s from one side to the other as data grow"
    )


def _of_last(method: LeaveLastOut | HeldOutUsers, counts: Mapping[str, Any]) -> Iterator[str]:
    if few := counts["users_with_too_few"]:
        where = "train" if isinstance(method, LeaveLastOut) else "history"
        yield f"{in_words(few, 'user')} with at most {in_words(method.last, 'interaction')} have no truth: all of theirs is in {where}"
    if tied := counts["users_tied_at_the_cut"]:
        yield f"{in_words(tied, 'user')} took items on both sides of the cut at one time: which came last is not known"
