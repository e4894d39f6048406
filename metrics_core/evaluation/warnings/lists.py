"""Warnings about recommendations; all warnings on an evaluation."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from concord.metrics_core.conventions.conventions import Candidates, Conventions
from concord.metrics_core.data.tables import read_column
from concord.metrics_core.data.units import users_of_units
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.evaluation.diagnostics import TrainOverlap
from concord.metrics_core.evaluation.model_result import (
    EvaluationData,
    ModelResult,
    Models,
)
from concord.metrics_core.evaluation.sampled_candidates import GAMMA, UNBIASED
from concord.metrics_core.evaluation.score import is_weighted_sum, uses_user_table
from concord.metrics_core.evaluation.ties import NOT_BY_ID
from concord.metrics_core.evaluation.warnings.data import (
    MIN_USERS,
    SERIOUS_SHARE,
    empty_truth_warnings,
    grade_warnings,
    has_no_common_item,
    id_warnings,
    own_id_warnings,
    rewritten_id_warnings,
    severity_of_rows,
    split_warning,
    split_warnings,
    swapped_tables_warnings,
    time_signs,
    train_warnings,
)
from concord.metrics_core.results.comparison_parts import DataWarning, Severity, most_serious_first

_MANY_MISSING = 0.5  # of the users without a list: `user_no_recs` dominates the mean
_FEW_JUDGED = 0.5  # of the top k
_MOSTLY_CONSTANT = 0.5  # of the lists of at least two items
_HEAVY_SHARE, _MAX_HEAVY = 10, 10  # heavy users: a tenth of all, at most ten
# Keys of the inverse propensities in a model's summary.
_WEIGHTS = ("rows", "effective", "largest", "clipped")


def unit_word(conventions: Conventions) -> str:
    """Return the unit that is evaluated: `user` or `request`."""
    return "user" if conventions.unit_mean is None else "request"


def evaluation_warnings(
    config: EvaluationConfig, models: Models, data: EvaluationData, overlap: TrainOverlap | None
) -> list[DataWarning]:
    """Return all warnings on recommendations, ground truth and train, the most serious first.

    `overlap` is that of train and ground truth.
    """
    conventions = config.conventions
    is_search = data.words is not None
    swapped = [*swapped_tables_warnings(models, data)]
    in_place = {m: each for m, each in models.items() if all(m not in w.models for w in swapped)}
    constant = [*constant_score_warnings(config, models)]
    varied = {m: each for m, each in models.items() if all(m not in w.models for w in constant)}
    warnings = [
        *constant,
        *_several_lists(models),
        *split_warnings(data, config.settings),
        *_counted_duplicates(config, models),
        *_sampled_candidates(config, models, data),
        *_train_items(config, models),
        *_split(config, models, overlap),
        *train_warnings(overlap, config.settings),
        *grade_warnings(_grades(data), config, is_search=is_search),
        *id_warnings(models, config.settings),
        *rewritten_id_warnings(models, data),
        *empty_truth_warnings(data),
        *own_id_warnings(models, data, conventions),
        *swapped,
        *_missing_lists(models, data, conventions),
        *_heavy_users(data, conventions),
        *_propensity_weights(models),
        *_unobserved_users(config, models, data),
        *_disagreeing_dcg(config, models),
        *_few_judged(config, models, data),
        *_ties(config, varied),
        *_short_lists(config, in_place),
    ]
    return most_serious_first(warnings)


def checked_codes(config: EvaluationConfig, models: Models, data: EvaluationData) -> list[str]:
    """Return the codes of the warnings that were checked in all models.

    Ties are checked only if scores order a list.
    """
    results = list(models.values())
    at_k = [result.at_cutoff(config.main_cutoff) for result in results]
    is_checked = {
        "sampled_candidates": config.conventions.candidates is None
        and (data.items is not None or data.train is not None)
        and all(result.full_lists.get("with_relevant", 0) >= MIN_USERS for result in results),
        "train_items_recommended": all(counts.get("in_train") is not None for counts in at_k),
        "split_not_by_time": all(counts.get("future") is not None for counts in at_k),
        "truth_in_train": data.train is not None,
        "user_sets_differ": len(results) > 1,
        "constant_scores": any(result.quality.get("order") == "score" for result in results),
        "ties_at_cutoff": config.main_cutoff is not None
        and any(result.quality.get("order") == "score" for result in results),
    }
    return [code for code, checked in is_checked.items() if checked]


def _several_lists(models: Models) -> Iterator[DataWarning]:
    """Yield a warning for models whose users seem to have several lists, read as one.

    It is a notice if no list repeats an item: a column may name the source of each item.
    """
    for model, result in models.items():
        qualities = (each.quality for each in result.replicate_results)
        if quality := next((each for each in qualities if "several_lists" in each), None):
            severity: Severity = "serious" if quality["duplicates"]["rows"] else "notice"
            details = {**quality["several_lists"], "model": model}
            yield DataWarning("several_lists", severity, (model,), details)


def _counted_duplicates(config: EvaluationConfig, models: Models) -> Iterator[DataWarning]:
    """Yield a warning if lists hold copies that a metric counts, or that push its hits down."""
    conventions = config.conventions
    metrics = [
        label.metric
        for label in config.labels
        if label.conventions(conventions).duplicates == "keep"
    ]
    are_counted = any(metric.counts_copies for metric in metrics)
    if not are_counted and all(metric.family != "accuracy" for metric in metrics):
        return
    lists = {
        model: max((each.quality for each in result.replicate_results), key=_share_with_copies)
        for model, result in models.items()
    }
    shares = {model: _share_with_copies(quality) for model, quality in lists.items()}
    names = tuple(model for model, share in shares.items() if share > 0)
    if names:
        quality = lists[max(shares, key=shares.__getitem__)]
        rows, n_users = (quality["duplicates"][name] for name in ("rows", "users"))
        details = {**largest_share(shares), "rows": rows, "n_users": n_users}
        details |= {"unit": unit_word(conventions), "counted": are_counted}
        details["setting"] = config.settings.convention_fix("duplicates", "drop or first")
        severity = severity_of_rows(n_users, quality["users"])
        yield DataWarning("duplicates_counted", severity, names, details)


def _share_with_copies(quality: Mapping[str, Any]) -> float:
    """Return the share of the lists that hold an item more than once."""
    return float(quality["duplicates"]["users"] / max(quality["users"], 1))


def _sampled_candidates(
    config: EvaluationConfig, models: Models, data: EvaluationData
) -> Iterator[DataWarning]:
    """Yield a warning if candidates are declared as sampled, or look sampled.

    They look sampled if lists of one length hold all relevant items but not the whole catalogue.
    Without a catalogue or train, they may be all items, or the items of a first ranking stage.
    """
    if config.conventions.candidates is not None:
        candidates = Candidates.from_mapping(config.conventions.candidates)
        details = {
            "negatives": candidates.negatives,
            "others": candidates.others,
            "gamma": GAMMA,
            "unbiased": UNBIASED,
        }
        yield DataWarning("sampled_corrected", "notice", (), details)
        return
    full = [model for model, result in models.items() if _holds_all_relevant(result)]
    n_items = data.n_known_items() if full and data.truths_differ() else 0
    names = tuple(model for model in full if models[model].full_lists["length"] < n_items)
    if names:
        details = {"length": models[names[0]].full_lists["length"], "n_items": n_items}
        yield DataWarning("sampled_candidates", "serious", names, details)


def _holds_all_relevant(result: ModelResult) -> bool:
    """True if lists for enough users have one length and hold all relevant items."""
    full = result.full_lists
    if not full or full["with_relevant"] < MIN_USERS:
        return False
    is_one_length = full["longest"] == full["users"]
    return bool(is_one_length and full["holding_all"] == full["with_relevant"])


def _train_items(config: EvaluationConfig, models: Models) -> Iterator[DataWarning]:
    shares = _shares_at_cutoff(config, models, "in_train")
    names = tuple(model for model, share in shares.items() if share > 0)
    if names:
        is_uneven = min(shares.values()) < SERIOUS_SHARE <= max(shares.values())
        details = {**largest_share(shares), "k": config.main_cutoff, "uneven": is_uneven}
        severity: Severity = "serious" if is_uneven else "notice"
        yield DataWarning("train_items_recommended", severity, names, details)


def _split(
    config: EvaluationConfig, models: Models, overlap: TrainOverlap | None
) -> Iterator[DataWarning]:
    """Yield one warning on all signs of a split that is not by time."""
    signs: dict[str, dict[str, Any]] = {**time_signs(overlap)}
    shares = _shares_at_cutoff(config, models, "future")
    if any(shares.values()):
        signs["future_items"] = {**largest_share(shares), "k": config.main_cutoff}
    if signs:
        yield split_warning(signs, config.settings)


def largest_share(shares: Mapping[str, float]) -> dict[str, str | float]:
    """Return the details `model` and `share` of the model with the largest share."""
    model = max(shares, key=shares.__getitem__)
    return {"model": model, "share": shares[model]}


def _shares_at_cutoff(config: EvaluationConfig, models: Models, count: str) -> dict[str, float]:
    """Return a count's share of the recommendations in the top k, by model; omit missing counts."""
    at_k = {model: result.at_cutoff(config.main_cutoff) for model, result in models.items()}
    return {
        model: counts[count] / counts["shown"]
        for model, counts in at_k.items()
        if counts.get(count) is not None and counts["shown"]
    }


def _missing_lists(
    models: Models, data: EvaluationData, conventions: Conventions
) -> Iterator[DataWarning]:
    """Yield a warning if models lack lists of different users, or all lack those of many users.

    With words of search, few are enough: recommenders often leave out cold users.
    """
    users = {model: result.summary["users"] for model, result in models.items()}
    missing = {
        m: counts["without_list"] for m, counts in users.items() if counts.get("without_list")
    }
    if not missing:
        return
    most = max(missing, key=missing.__getitem__)
    unit, user_no_recs = unit_word(conventions), conventions.user_no_recs
    details: dict[str, Any] = {"unit": unit, "user_no_recs": user_no_recs}
    sets = {result.summary.get("validity", {}).get("users") for result in models.values()}
    if len(sets) > 1:
        n_users = users[most]["evaluated"]
        severity = severity_of_rows(missing[most], n_users)
        details = {"without_list": missing, "n_users": n_users, **details}
        yield DataWarning("user_sets_differ", severity, tuple(missing), details)
        return
    n_users = users[most]["in_truth"]
    are_many = missing[most] / n_users >= _MANY_MISSING
    if are_many or data.words is not None:
        details = {"without_list": missing[most], "n_users": n_users, **details}
        yield DataWarning("few_lists", "serious" if are_many else "notice", (), details)


def _heavy_users(data: EvaluationData, conventions: Conventions) -> Iterator[DataWarning]:
    """Yield a warning if few users of the ground truth have more than half of all requests.

    Few are a tenth of the users, at least one and at most ten: with more, intervals are valid.
    """
    if conventions.unit_mean != "requests":
        return
    requests = read_column(data.truth, "user").unique()
    counts = users_of_units(requests).value_counts()["count"].sort(descending=True)
    n_users = len(counts)
    n_heavy = min(max(n_users // _HEAVY_SHARE, 1), _MAX_HEAVY)
    n_of_heavy = int(counts.head(n_heavy).sum())
    if 2 * n_of_heavy > len(requests) and n_users > 1:
        details = {"n_heavy": n_heavy, "n_users": n_users, "share": n_of_heavy / len(requests)}
        yield DataWarning("heavy_users", "notice", (), details)


def _propensity_weights(models: Models) -> Iterator[DataWarning]:
    """Yield the counts of inverse propensities, only once if they are equal for all models."""
    weights = {}
    for model, result in models.items():
        summary = result.summary.get("propensity") or {}
        weights[model] = {name: summary.get(name) for name in _WEIGHTS}
    is_same = all(each == next(iter(weights.values())) for each in weights.values())
    for model, details in weights.items():
        if details["largest"] is not None:
            yield DataWarning("propensity", "notice", () if is_same else (model,), details)
            if is_same:
                return


def _unobserved_users(
    config: EvaluationConfig, models: Models, data: EvaluationData
) -> Iterator[DataWarning]:
    """Yield a warning if weighted sums may lack users without an observed item."""
    conventions = config.conventions
    labels = [
        str(label)
        for label in config.labels
        if is_weighted_sum(label, label.conventions(conventions))
    ]
    can_name = uses_user_table(conventions)
    weights = (result.summary.get("propensity") for result in models.values())
    if (
        labels
        and not (data.users is not None and can_name)
        and not any(each["unobserved"] for each in weights if each is not None)
    ):
        details = {
            "unit": unit_word(conventions),
            "labels": labels,
            "can_name_users": can_name,
        }
        yield DataWarning("unobserved_users", "notice", (), details)


def _disagreeing_dcg(config: EvaluationConfig, models: Models) -> Iterator[DataWarning]:
    """Yield a warning if DCG and nDCG at a cutoff order models differently, and one is primary.

    nDCG divides each user's DCG by its maximum, so that users with few relevant items weigh as much
    as those with many. Only DCG is an unbiased estimate of a model's online value.

    References
    ----------
    Jeunen, Potapov & Ustimenko (2024), KDD, 1222-1233.  doi:10.1145/3637528.3671687
    """
    labels = [str(label) for label in config.labels]
    for label in config.labels:
        ndcg, dcg = str(label), str(label).removeprefix("n")
        if label.name != "nDCG" or dcg not in labels or not {ndcg, dcg} & {*config.primary}:
            continue
        pairs = [
            [a, b]
            for a, b in combinations(models, 2)
            if _gap(models, ndcg, a, b) * _gap(models, dcg, a, b) < 0
        ]
        if pairs:
            names = tuple(dict.fromkeys(model for pair in pairs for model in pair))
            details = {"ndcg": ndcg, "dcg": dcg, "pairs": pairs}
            yield DataWarning("dcg_disagrees", "notice", names, details)


def _gap(models: Models, label: str, a: str, b: str) -> float:
    mean_a, mean_b = models[a].mean(label), models[b].mean(label)
    return 0.0 if mean_a is None or mean_b is None else mean_a - mean_b


def _few_judged(
    config: EvaluationConfig, models: Models, data: EvaluationData
) -> Iterator[DataWarning]:
    """Yield a warning if few of the top k are judged, of models that have any judged item.

    Only if the ground truth has items that are not relevant: else the share is the precision.
    Without words of search and without items that were judged as not relevant (grade 0), grades
    are ratings: a user rates few items, more of popular ones, so that shares are low and differ.
    """
    threshold, k, grades = config.conventions.relevance_threshold, config.main_cutoff, _grades(data)
    are_ratings = data.words is None and min(grades, default=0) > 0
    if threshold is None or are_ratings or all(grade >= threshold for grade in grades):
        return
    shares = {
        model: share
        for model, result in models.items()
        if (share := result.summary["judged_share"].get(str(k))) is not None
        and not has_no_common_item(result)
    }
    if shares and min(shares.values()) < _FEW_JUDGED:
        lowest, highest = (choose(shares, key=shares.__getitem__) for choose in (min, max))
        details = {
            "k": k,
            "lowest_model": lowest,
            "lowest": shares[lowest],
            "highest_model": highest,
            "highest": shares[highest],
        }
        yield DataWarning("few_judged", "notice", (), details)


def constant_score_warnings(config: EvaluationConfig, models: Models) -> Iterator[DataWarning]:
    """Yield a warning for models whose scores are equal in most lists of at least two items."""
    for model, result in models.items():
        n_constant, n_users = (result.full_lists.get(x, 0) for x in ("constant", "of_several"))
        is_by_id = (
            result.quality.get("order") == "score" and config.conventions.ties not in NOT_BY_ID
        )
        if is_by_id and n_constant > _MOSTLY_CONSTANT * n_users:
            details = {"model": model, "share": n_constant / n_users}
            details |= {"n_constant": n_constant, "n_users": n_users}
            details["unit"] = unit_word(config.conventions)
            yield DataWarning("constant_scores", "serious", (model,), details)


def _ties(config: EvaluationConfig, models: Models) -> Iterator[DataWarning]:
    """Yield a warning if scores tie across the cutoff, in lists that are ordered by score."""
    k, conventions = config.main_cutoff, config.conventions
    shares = {
        model: result.at_cutoff(k).get("tied", 0) / n_users
        for model, result in models.items()
        if result.quality.get("order") == "score"
        and (n_users := result.summary["users"]["evaluated"])
    }
    names = tuple(model for model, share in shares.items() if share >= SERIOUS_SHARE)
    if names:
        details = {
            **largest_share(shares),
            "k": k,
            "unit": unit_word(conventions),
            "ties": conventions.ties,
        }
        yield DataWarning("ties_at_cutoff", "notice", names, details)


def _short_lists(config: EvaluationConfig, models: Models) -> Iterator[DataWarning]:
    """Yield a warning on lists shorter than the main cutoff, else than the first such cutoff."""
    for k in sorted(config.ks, key=lambda k: (k != config.main_cutoff, k)):
        shares = {
            model: result.summary["users"].get("shorter_than", {}).get(str(k), 0)
            / max(result.summary["users"]["evaluated"], 1)
            for model, result in models.items()
        }
        names = tuple(model for model, share in shares.items() if share > 0)
        if names:
            details = {**largest_share(shares), "k": k, "unit": unit_word(config.conventions)}
            yield DataWarning("short_lists", "notice", names, details)
            return


def _grades(data: EvaluationData) -> list[float]:
    """Return the distinct grades of judged items; empty if there are too many."""
    return list(map(float, data.truth_quality.get("grades") or {}))
