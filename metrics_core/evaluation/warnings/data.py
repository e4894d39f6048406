"""Warnings about the ground truth, the train and ids."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from concord.metrics_core.conventions.conventions import OPTIONAL, Conventions
from concord.metrics_core.conventions.data_conventions import ExcludedPairs
from concord.metrics_core.conventions.presets import CUSTOM, preset
from concord.metrics_core.data.list_batches import length_summary
from concord.metrics_core.errors import SettingNames, as_argument
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.diagnostics import OWN_ID_DEPTH, TrainOverlap
from concord.metrics_core.evaluation.model_result import (
    EvaluationData,
    ModelResult,
    Models,
    results_by_list,
)
from concord.metrics_core.files import NO_FOLD
from concord.metrics_core.metrics.scope import depends_on
from concord.metrics_core.results.comparison_parts import DataWarning, Severity

SERIOUS_SHARE = 0.01  # of rows or users, from which a warning is serious
MIN_USERS = 10  # for a pattern in their lists
_MIN_GRADES = 4  # distinct grades of a rating scale, whose low ratings are dislikes
STAR_MAXIMA = (4, 10)  # of scales of ratings
_LIKED = 0.8  # of the highest rating: lowest rating of an item that a user liked
_GRADED = ("gain", "err_max_grade", "hlu_neutral")  # conventions of metrics that read grades
_LOWEST = 0.2  # of the highest rating: a threshold that excludes almost nothing
_OWN_SHARE, _NEARLY_ALL = 0.1, 0.9  # of the users who list their own id, with and without words
_TIMES_DEPTH = 2  # items for each of the first ranks, of which chance brings few
_MIN_LENGTH = 5  # items of each user in a truth that looks like ranked lists


def severity_of_rows(rows: int, of_rows: int) -> Severity:
    """Return the severity of a warning on some rows of a table."""
    return "serious" if rows / of_rows >= SERIOUS_SHARE else "notice"


def grade_warnings(
    grades: Collection[float], config: EvaluationConfig, *, is_search: bool
) -> Iterator[DataWarning]:
    """Yield a warning if fractions do not count as relevant, or nearly all grades of a scale do.

    Parameters
    ----------
    grades : collection of float
        The distinct grades of the ground truth; empty if there are too many.
    config : EvaluationConfig
        With the relevance threshold; overrides of single metrics are deliberate.
    is_search : bool
        True for words of search, whose grades are no ratings.
    """
    if not _uses_threshold(config):
        return
    threshold = config.conventions.relevance_threshold
    are_ratings = not is_search and _are_ratings(grades)
    fractions = [grade for grade in grades if 0 < grade < 1]
    if fractions and threshold == 1 and max(grades) >= 1 and not are_ratings:
        lowest = min(fractions)
        setting = _threshold_setting(config, lowest)
        extremes = {"lowest": lowest, "highest": max(fractions), "setting": setting}
        yield DataWarning("fractions_irrelevant", "notice", (), extremes)
    if len(grades) < _MIN_GRADES:
        return
    lowest, highest = min(grades), max(grades)
    details: dict[str, Any] = {"lowest": lowest, "highest": highest, "threshold": threshold}
    if are_ratings and (threshold is None or threshold <= max(lowest, _LOWEST * highest)):
        details["setting"] = _threshold_setting(config, least_liked(highest))
        yield DataWarning("low_threshold", "notice", (), details)
    elif threshold is not None and lowest >= threshold:
        yield DataWarning("all_relevant", "notice", (), details)


def _uses_threshold(config: EvaluationConfig) -> bool:
    """True if a label uses the general threshold; without a threshold, gains are the grades."""
    conventions = config.conventions
    threshold = conventions.relevance_threshold
    counts_gains = threshold is None and conventions.gain != "binary"
    return any(
        depends_on(label.metric, "relevance_threshold")
        and label.conventions(conventions).relevance_threshold == threshold
        and not (counts_gains and any(depends_on(label.metric, name) for name in _GRADED))
        for label in config.labels
    )


def _threshold_setting(config: EvaluationConfig, threshold: float) -> str:
    """Return the setting of a threshold, as one can paste it if conventions are a preset's.

    It has the other conventions that the preset leaves open, apart from pairs, which have no text.
    """
    conventions = config.conventions
    if (
        config.settings.write is not as_argument
        or conventions.preset == CUSTOM
        or isinstance(conventions.exclude, ExcludedPairs)
    ):
        return config.settings.name("conventions", "relevance_threshold", value=threshold)
    default = {**OPTIONAL, **preset(conventions.preset).as_dict()}
    values = {**conventions.as_dict(), "own_metrics": {}, "relevance_threshold": threshold}
    changed = "".join(f", {name}={v!r}" for name, v in values.items() if v != default[name])
    return f'`conventions=cc.preset("{conventions.preset}"{changed})`'


def none_relevant_warnings(config: EvaluationConfig, data: EvaluationData) -> Iterator[DataWarning]:
    """Yield a warning if no grade of the ground truth reaches the relevance threshold."""
    threshold, highest = config.conventions.relevance_threshold, data.highest_grade()
    if threshold is not None and highest is not None and highest < threshold:
        details = {
            "setting": config.settings.location("conventions", "relevance_threshold"),
            "column_setting": config.settings.of_table("columns", "grade", value="rating"),
            "threshold": threshold,
            "highest": highest,
        }
        yield DataWarning("nobody_relevant", "serious", (), details)


def least_liked(highest: float) -> int:
    """Return the lowest rating of an item that a user liked, on a scale up to `highest`."""
    return math.ceil(_LIKED * highest)


def _are_ratings(grades: Collection[float]) -> bool:
    """True if the scale is one of stars: it has no 0, which graded judgements have."""
    min_stars, max_stars = STAR_MAXIMA
    return bool(grades) and min(grades) > 0 and min_stars <= max(grades) <= max_stars


@dataclass(frozen=True)
class Lengths:
    """How many items users have in a table."""

    users: int
    shortest: float
    median: float
    longest: float

    @classmethod
    def from_counts(cls, counts: Mapping[int, int]) -> "Lengths":
        """Summarise how many users have each number of items."""
        return cls(sum(counts.values()), *length_summary(counts))

    @property
    def is_like_ranked_lists(self) -> bool:
        """True if all users have equally many items, and not few."""
        return self.users >= MIN_USERS and self.shortest == self.longest >= _MIN_LENGTH

    def is_like_truth(self, length: float) -> bool:
        """True if most lists have at most half of `length` items, and lengths differ or are 1."""
        varies = self.longest == 1 or self.shortest < self.longest
        return varies and 2 * self.median <= length


def swapped_tables_warnings(models: Models, data: EvaluationData) -> Iterator[DataWarning]:
    """Yield a warning if a model's lists look like ground truth, and ground truth like lists."""
    truth_of_fold: dict[str, Lengths] = {}
    for model, result in models.items():
        for lists in result.replicate_results:
            if lists.quality["has_scores"] or not _is_ungraded(lists, data):
                continue
            fold = lists.quality.get("fold", NO_FOLD)
            if fold not in truth_of_fold:
                truth_of_fold[fold] = Lengths.from_counts(data.users_by_items(lists))
            truth = truth_of_fold[fold]
            shortest, median, longest = (
                lists.quality["list_length"][name] for name in ("min", "median", "max")
            )
            lengths = Lengths(0, shortest, median, longest)
            if truth.is_like_ranked_lists and lengths.is_like_truth(truth.longest):
                details = {
                    "truth_length": int(truth.longest),
                    "shortest": shortest,
                    "median": median,
                    "longest": longest,
                }
                yield DataWarning("swapped_tables", "serious", (model,), details)
                return


def _is_ungraded(lists: ModelResult, data: EvaluationData) -> bool:
    qualities = data.truth_qualities
    quality = qualities[NO_FOLD if NO_FOLD in qualities else lists.quality["fold"]]
    return list(quality["grades"] or ()) == ["1"]


def train_warnings(overlap: TrainOverlap | None, settings: SettingNames) -> Iterator[DataWarning]:
    """Yield warnings on a train that does not fit the ground truth."""
    if overlap is None:
        return
    if not overlap.shares_users:
        yield unrelated_train_warning(settings, shares_items=overlap.shares_items)
    if overlap.rows:
        yield truth_in_train_warning(overlap.rows, overlap.truth_rows, overlap.users)


def unrelated_train_warning(settings: SettingNames, *, shares_items: bool) -> DataWarning:
    """Return the warning on a train that has no user of the ground truth.

    A notice if it shares most items: users may be held out, as strong generalisation asks.
    """
    severity: Severity = "notice" if shares_items else "serious"
    details = {"setting": settings.name("background", "train"), "shares_items": shares_items}
    return DataWarning("unrelated_train", severity, (), details)


def truth_in_train_warning(rows: int, of_rows: int, users: int) -> DataWarning:
    """Return the warning on rows of the ground truth whose user has the item in the train."""
    details = {"rows": rows, "of_rows": of_rows, "users": users}
    return DataWarning("truth_in_train", severity_of_rows(rows, of_rows), (), details)


def time_signs(overlap: TrainOverlap | None) -> dict[str, dict[str, int]]:
    """Return the signs in ground truth and train of a split that is not by time, by name."""
    if overlap is None:
        return {}
    signs: dict[str, dict[str, int]] = {}
    if overlap.users_before_train:
        signs["truth_before_train"] = {"users": overlap.users_before_train}
    for kind, (rows, users, items) in overlap.born_after.items():
        if rows:
            counts = {"rows": rows, "of_rows": overlap.truth_rows, "users": users, "items": items}
            signs[f"{kind}s_born_after"] = counts
    return signs


def split_warning(signs: Mapping[str, Mapping[str, Any]], settings: SettingNames) -> DataWarning:
    """Return the warning on a split that is not by one time for all users.

    Parameters
    ----------
    signs : dict
        Numbers of each sign: `truth_before_train` (`users`), `items_born_after` and
        `users_born_after` (`rows` of the ground truth whose item or user first occurs in train
        later), `future_items` (`share` of the top k that first occurs after the ground truth).
    settings : SettingNames
        Names of the settings in remedies.
    """
    share = max(
        each["rows"] / each["of_rows"] if "rows" in each else each.get("share", 0.0)
        for each in signs.values()
    )
    entry = {"reason": "…", "up_to": f"{math.ceil(100 * share)}%"}
    setting = settings.name("acknowledge", value={"split_not_by_time": entry})
    is_serious = "future_items" in signs or share >= SERIOUS_SHARE
    details = {"parts": signs, "share": share, "setting": setting}
    return DataWarning("split_not_by_time", "serious" if is_serious else "notice", (), details)


def id_warnings(models: Models, settings: SettingNames) -> Iterator[DataWarning]:
    """Yield warnings on files that are the same, and on ids that do not match."""
    yield from _same_files(models)
    matches = {model: result.summary.get("id_match", {}) for model, result in models.items()}
    for column, kind in (("users", "user"), ("items", "item")):
        similar = _positive(
            {m: each.get(column, {}).get("alike", 0) for m, each in matches.items()}
        )
        if similar:
            most = max(similar, key=similar.__getitem__)
            details = {"kind": kind, "ids": similar[most], "model": most}
            yield DataWarning("spelled_otherwise", "serious", tuple(similar), details)
    unmatched = tuple(m for m in models if has_no_common_item(models[m]) and m not in similar)
    if unmatched:
        listed, known = matches[unmatched[0]]["items"].get("example", (None, None))
        details = {"listed": listed, "known": known}
        yield DataWarning("no_common_item", "serious", unmatched, details)
    padded = tuple(m for m, each in matches.items() if "padding" in each.get("items", {}))
    if padded:
        details = {"item": matches[padded[0]]["items"]["padding"]}
        yield DataWarning("padding_item", "notice", padded, details)
    rows = _positive({m: each.get("unknown_items") or 0 for m, each in matches.items()})
    if rows:
        most = max(rows, key=rows.__getitem__)
        setting = settings.name("input", "unknown_items", value="keep")
        details = {"rows": rows[most], "model": most, "setting": setting}
        yield DataWarning("not_in_catalogue", "notice", tuple(rows), details)


def has_no_common_item(result: ModelResult) -> bool:
    """True if no item of the lists is in the ground truth."""
    items = result.summary.get("id_match", {}).get("items", {})
    return bool(items.get("listed")) and not items["known"]


def _positive(counts: Mapping[str, int]) -> dict[str, int]:
    return {model: count for model, count in counts.items() if count}


def _same_files(models: Models) -> Iterator[DataWarning]:
    by_hash: dict[str, list[str]] = {}
    for model, result in models.items():
        if sha256 := result.quality.get("sha256"):
            by_hash.setdefault(sha256, []).append(model)
    for names in by_hash.values():
        if len(names) > 1:
            yield DataWarning("same_file", "serious", tuple(names), {})


def empty_truth_warnings(data: EvaluationData) -> Iterator[DataWarning]:
    """Yield a warning if a file or frame of the ground truth has empty lists."""
    n_lists = sum(quality.get("empty_lists", 0) for quality in data.truth_qualities.values())
    if n_lists:
        yield DataWarning("empty_truth", "notice", (), {"lists": n_lists})


def split_warnings(data: EvaluationData, settings: SettingNames) -> Iterator[DataWarning]:
    """Yield a warning if the ground truth has rows of other splits than the test set."""
    found = (quality.get("several_splits") for quality in data.truth_qualities.values())
    if where := next(filter(None, found), None):
        setting = settings.name("data", "truth", "where", value=where)
        (column,) = where
        details = {"column": column, "setting": setting}
        yield DataWarning("several_splits", "serious", (), details)


def rewritten_id_warnings(models: Models, data: EvaluationData) -> Iterator[DataWarning]:
    """Yield a warning if ids that end in `.0` were read as whole numbers."""
    tables = [
        *((None, fold, quality) for fold, quality in data.truth_qualities.items()),
        *((name, "", lists.quality) for name, lists in results_by_list(models).items()),
    ]
    columns = [
        {"lists": lists, "fold": fold, "column": column, "rows": rewritten["rows"]}
        for lists, fold, quality in tables
        for column, rewritten in quality.get("ids_rewritten", {}).items()
    ]
    if columns:
        first = next(q["ids_rewritten"] for *_, q in tables if q.get("ids_rewritten"))
        example = next(iter(first.values()))["example"]
        names = tuple(
            model
            for model, result in models.items()
            if any("ids_rewritten" in lists.quality for lists in result.replicate_results)
        )
        details = {"example": example, "columns": columns}
        yield DataWarning("ids_rewritten", "notice", names, details)


def own_id_warnings(
    models: Models, data: EvaluationData, conventions: Conventions
) -> Iterator[DataWarning]:
    """Yield a warning if users list the item with their own id, and it is not judged.

    With words of search, queries may be documents. Without them, ids of users and items may be
    equal by chance, unless nearly all users list their own id among many items.
    """
    if conventions.exclude == "same_id":
        return
    validity = {model: result.summary.get("validity", {}) for model, result in models.items()}
    n_own = {model: counts.get("own_ids", 0) for model, counts in validity.items()}
    n_users = {model: result.summary["users"]["evaluated"] for model, result in models.items()}
    shares = {m: n / n_users[m] for m, n in n_own.items() if n >= MIN_USERS}

    def is_no_chance(model: str) -> bool:
        n_items = models[model].summary["id_match"]["items"]["listed"]
        return shares[model] >= _NEARLY_ALL and n_items >= _TIMES_DEPTH * OWN_ID_DEPTH

    names = tuple(m for m in shares if shares[m] >= _OWN_SHARE and (data.words or is_no_chance(m)))
    if names:
        most = max(names, key=shares.__getitem__)
        details = {"model": most, "share": shares[most], "users": n_own[most]}
        details |= {"of_users": n_users[most], "k": OWN_ID_DEPTH}
        yield DataWarning("own_id_listed", "notice", names, details)
