"""Texts of warnings: for each code, what is wrong and what to do.

`metrics_core` makes a warning of a code, and of the numbers and names that its text needs
(`DataWarning.details`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.results.text_format import PERCENT, is_or_are, join_names, percent, verb
from concord.reports.text.numbers import number, with_details

Details = Mapping[str, Any]
Texts = tuple[str, str]  # what is wrong, and what to do
_MAX_COLUMNS = 4  # in one sentence


def warning_texts(warning: DataWarning) -> Texts:
    """Return what is wrong, as a sentence, and what to do.

    An unknown code, or invalid details, give a sentence of code and details, and no fix.
    """
    sentence, fix = _texts(warning)
    exceeded = exceeded_text(warning)
    return (f"{sentence} {exceeded}", fix) if exceeded else (sentence, fix)


def acknowledgement_text(warning: DataWarning) -> str:
    """Return `repeat purchases are wanted (up to 25 %)`; empty if it is not acknowledged."""
    acknowledgement = warning.acknowledgement
    if acknowledgement is None:
        return ""
    up_to = (acknowledgement.up_to or "").replace("%", PERCENT)
    return with_details(acknowledgement.reason, f"up to {up_to}" if up_to else "")


def exceeded_text(warning: DataWarning) -> str:
    """Return the sentence on an acknowledgement that no longer holds; empty if there is none."""
    acknowledged = warning.acknowledgement is not None and not warning.is_acknowledged
    return f"More than was acknowledged: {acknowledgement_text(warning)}." if acknowledged else ""


def _texts(warning: DataWarning) -> Texts:
    details = warning.details
    if texts := _TEXTS.get(warning.code):
        try:
            if callable(texts):
                return texts({**details, "models": warning.models})
            sentence, fix = texts
            values = {**details, "names": join_names(warning.models or ("all models",))}
            return sentence.format_map(values), fix.format_map(values)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            pass  # somebody edited the file
    if not details:
        return warning.code, ""
    return (
        f"{warning.code}: {join_names([f'{name} {value}' for name, value in details.items()])}",
        "",
    )


def _empty_truth(details: Details) -> Texts:
    n = details["lists"]
    return (
        f"{format_count(n, 'list')} of the ground truth {verb(n, 'is', 'are')} empty; users "
        "without another row count in no metric.",
        "name them in a dict, {user: []}, in Python if `user_empty_truth` should decide; or remove "
        "them from the file",
    )


def _fractions_irrelevant(details: Details) -> Texts:
    lowest, highest = f"{details['lowest']:g}", f"{details['highest']:g}"
    grades = f"Grades of {lowest}" + ("" if lowest == highest else f" to {highest}")
    return (
        f"{grades} are below `relevance_threshold: 1`, so these items count as not relevant.",
        f"set {details['setting']}, if they are relevant",
    )


def _low_threshold(details: Details) -> Texts:
    threshold = details["threshold"]
    setting = "null" if threshold is None else f"{threshold:g}"
    share = "every rating" if threshold is None else "nearly every rating"
    return (
        f"The grades of the ground truth, from {details['lowest']:g} to {details['highest']:g}, "
        f"look like ratings; with `relevance_threshold: {setting}` {share} counts as relevant.",
        f"set {details['setting']}, or another lowest rating of an item that the user liked",
    )


def _swapped_tables(details: Details) -> Texts:
    shortest, median, longest = (details[name] for name in ("shortest", "median", "longest"))
    lengths = f"{shortest:g} to {longest:g} items, most of them {median:g} or fewer"
    return (
        f"Every user has {format_count(details['truth_length'], 'item')} in the ground truth, "
        f"without grades, and the lists have {'one item each' if longest == 1 else lengths}, "
        "without scores: recommendations and ground truth may be swapped.",
        "check which file is which",
    )


def _holds_truth(details: Details) -> Texts:
    return (
        f"{_perfect(details)}. It probably saw the ground truth, or ranked judged items only.",
        "check that it was trained without the ground truth, and that it ranked all items",
    )


def _perfect(details: Details) -> str:
    users = format_count(details["n_users"], "user")
    return (
        f"For {percent(details['share'])} of {users} with several relevant items, "
        f"{join_names(details['models'])} has nothing else at the top of the list"
    )


def _perfect_for_some(details: Details) -> Texts:
    return (
        f"{_perfect(details)}, the others for at most {percent(details['others'])}: it may have "
        "seen a part of the ground truth.",
        "look for rows of the ground truth in its training data and its features",
    )


def _no_better_than_chance(details: Details) -> Texts:
    hits = format_count(details["hits"], "relevant item")
    return (
        f"The top {details['k']} of {join_names(details['models'])} hold {hits}, and chance brings "
        f"{details['expected']:,.0f}: its ids may be shuffled, or the model does not work.",
        "look at the list of a user you know; check the table that maps the model's ids, and that "
        "train and ground truth are not swapped",
    )


def _far_below_popular(details: Details) -> Texts:
    models, (mean, popular) = details["models"], (details[name] for name in ("mean", "popular"))
    least = "" if len(models) == 1 else "as little as "
    return (
        f"{join_names(models)} {verb(len(models), 'has', 'have')} {details['label']} "
        f"{least}{mean:.3g}, less than half of what the most popular items have, {popular:.3g}: "
        "ids may be shuffled, or the model does not work.",
        "look at the list of a user you know, and check the table that maps the model's ids",
    )


def _foreign_ids(details: Details) -> Texts:
    kind, example = details["kind"], details["example"]
    such = f", such as {example!r}" if example is not None else ""
    where = "in no other list and not in the training set" if kind == "item" else "unknown"
    return (
        f"Nearly all {kind}s of {join_names(details['models'])} are {where}{such}: its ids seem to "
        "be those of another system.",
        "translate its ids to those of the ground truth",
    )


def _swapped_split(details: Details) -> Texts:
    return (
        f"The training set has {format_count(details['rows'], 'row')}, far fewer than the "
        f"ground truth with {details['truth_rows']:,}: they may be swapped.",
        "check which file is which",
    )


def _unrelated_train(details: Details) -> Texts:
    if details.get("shares_items"):
        return (
            "No user of the ground truth occurs in the training set, but most of their items do: "
            "the users are new to models that learned from this training set.",
            "if the models also learned from these users, add their earlier interactions to the "
            "training set",
        )
    return (
        "No user of the ground truth occurs in the training set: these models may have learned "
        "from other data.",
        f"give your own table as {details['setting']}, or none",
    )


def _split_not_by_time(details: Details) -> Texts:
    parts = "; ".join(_SPLIT_PARTS[name](part) for name, part in details["parts"].items())
    return (
        f"The split is not by one time for all users: {parts}. Models learned from the future.",
        "train on rows before the ground truth, with one split time for all users; or acknowledge "
        f"it with your reason where models are compared: {details['setting']}",
    )


def _truth_in_train(details: Details) -> Texts:
    return (
        f"{_truth_rows(details)} of {format_count(details['users'], 'user')} also occur in the "
        "training set. Models that never recommend known items cannot find them; other models "
        "have seen the answer.",
        "split so that each pair of user and item is in only one of the two",
    )


def _items_born_after(part: Details) -> str:
    have, items = verb(part["rows"], "has", "have"), format_count(part["items"], "item")
    return f"{_truth_rows(part)} {have} {items} whose first training row is later"


def _users_born_after(part: Details) -> str:
    are, users = verb(part["rows"], "is", "are"), format_count(part["users"], "user")
    return f"{_truth_rows(part)} {are} of {users} whose first training row is later"


def _truth_rows(details: Details) -> str:
    rows = details["rows"]
    share = percent(rows / details["of_rows"])
    return f"{format_count(rows, 'row')} of the ground truth ({share})"


def _truth_before_train(part: Details) -> str:
    users = format_count(part["users"], "user")
    return f"the ground truth of {users} begins before their training data end"


def _ids_rewritten(details: Details) -> Texts:
    columns, example = details["columns"], details["example"]
    column_texts = [
        f"{each['column']} in {format_count(each['rows'], 'row')} of {_table(each)}"
        for each in columns[:_MAX_COLUMNS]
    ]
    if len(columns) > _MAX_COLUMNS:
        column_texts.append(format_count(len(columns) - _MAX_COLUMNS, "more column"))
    return (
        f"Ids that end in `.0` are read as whole numbers, such as {example!r} as "
        f"{example[:-2]!r}: {join_names(column_texts)}.",
        "write these ids as whole numbers in all tables",
    )


def _table(column: Details) -> str:
    if column["lists"] is not None:
        return str(column["lists"])
    fold = f" of fold {column['fold']}" if column["fold"] else ""
    return f"the ground truth{fold}"


def _several_lists(details: Details) -> Texts:
    columns = join_names([*map(repr, details["columns"])])
    return (
        f"{columns} may separate several lists of a user ({details['model']}), which are read as "
        "one list.",
        details["setting"],
    )


def _spelled_otherwise(details: Details) -> Texts:
    return (
        f"Up to {format_count(details['ids'], details['kind'])} of the lists ({details['model']}) "
        "differ from ids of the ground truth only in capitals or leading zeros, so they do not "
        "match.",
        "write ids in the same way in all files",
    )


def _own_id_listed(details: Details) -> Texts:
    return (
        f"{details['users']:,} of {format_count(details['of_users'], 'user')} have the item with "
        f"their own id in the top {details['k']} ({details['model']}); it is not judged, and "
        "counts as not relevant.",
        "if each is the query itself, leave it out: `data.exclude: same_id`, in Python "
        "`exclude` of `cc.preset`",
    )


def _no_common_item(details: Details) -> Texts:
    listed, known = details.get("listed"), details.get("known")
    example = (
        "" if known is None else f": {listed!r} is in the lists, {known!r} in the ground truth"
    )
    return (
        f"No recommended item occurs in the ground truth, for any user{example}.",
        "write the same ids in both, not those of parts of an item, such as chunks",
    )


def _not_in_catalogue(details: Details) -> Texts:
    return (
        f"Up to {format_count(details['rows'], 'row')} of the lists ({details['model']}) have "
        f"items that are not in the catalogue; {details['setting']} accepts them. Coverage and "
        "Gini of the catalogue leave them out.",
        "add them to the catalogue, or remove them from the lists",
    )


def _duplicates_counted(details: Details) -> Texts:
    rows = format_count(details["rows"], "row")
    units = format_count(details["n_users"], details["unit"])
    effect = (
        "counts each copy as a further hit: values are too high, even above 1."
        if details.get("counted", True)  # missing in results of older versions
        else "leaves copies in place, and they push later hits down: values may be too low."
    )
    return (
        f"Lists hold copies of an item: up to {rows} of {units} ({details['model']}). "
        f"`duplicates: keep` {effect}",
        f"{details['setting']}, or list each item once; copies are often chunks of one document",
    )


def _sampled_corrected(details: Details) -> Texts:
    others = details["others"]
    return (
        "Candidates are sampled: each list ranks the relevant item among "
        f"{details['negatives']:,} of {others:,} others. Values are corrected, user by user, "
        f"towards the metric of all {others + 1:,} items (Krichene and Rendle, 2020; weight of the "
        f"variance {details['gamma']:g}). {details['unbiased']} needs no correction; all other "
        "metrics stay biased, and no interval covers the bias.",
        "rank all items of the catalogue if you can: no correction is as good",
    )


def _sampled_candidates(details: Details) -> Texts:
    return (
        f"Every list has {format_count(details['length'], 'item')} of {details['n_items']:,} and "
        "has every relevant item of its user: the candidates look sampled, and metrics on sampled "
        "candidates can rank models differently from metrics on all items.",
        "rank all items of the catalogue, or declare the sampling: conventions.candidates corrects "
        "the metrics that can be corrected",
    )


def _order_not_identifiable(details: Details) -> Texts:
    pairs, bounds = details["pairs"], details["bounds"]
    means = [f"{model} {low:.3g} to {high:.3g}" for model, (low, high) in bounds.items()]
    is_every_pair = len(pairs) == len(bounds) * (len(bounds) - 1) // 2
    models = "any two models" if is_every_pair and len(pairs) > 1 else _pairs(pairs)
    return (
        f"The order of {models} at {details['label']} is not identifiable from "
        f"{details['negatives']:,} sampled negatives: the full rankings that are consistent with "
        f"these lists have means of {join_names(means)} ({percent(details['confidence'])} "
        "confidence for all models together).",
        "rank all items, or draw far more negatives; a verdict here compares corrected values "
        "with their bias",
    )


def _pairs(pairs: Sequence[Sequence[str]]) -> str:
    return join_names([f"{a} and {b}" for a, b in pairs])


def _train_items_recommended(details: Details) -> Texts:
    uneven = " Other models leave them out: the comparison is unfair." if details["uneven"] else ""
    return (
        "Lists have items that the user already has in the training set: up to "
        f"{_top_share(details)}.{uneven}",
        "let all models leave out known items, or let all recommend them",
    )


def _future_items(part: Details) -> str:
    return (
        f"lists have items whose first training row is after the user's ground truth, up to "
        f"{_top_share(part)}"
    )


_SPLIT_PARTS: Mapping[str, Callable[[Details], str]] = {
    "future_items": _future_items,
    "items_born_after": _items_born_after,
    "truth_before_train": _truth_before_train,
    "users_born_after": _users_born_after,
}


def _top_share(details: Details) -> str:
    return f"{percent(details['share'])} of the top {details['k']} ({details['model']})"


def _few_judged(details: Details) -> Texts:
    low, high = percent(details["lowest"]), percent(details["highest"])
    span = f"{low} ({details['lowest_model']}) to {high} ({details['highest_model']})"
    return (
        f"Of the top {details['k']}, {high if low == high else span} is judged; unjudged items "
        "count as not relevant.",
        "`concord judge`, in Python `concord.search.judge`, shows what their grades can change; "
        "Bpref and `judged_only` use judged items only",
    )


def _constant_scores(details: Details) -> Texts:
    return (
        f"All scores of a list are equal for {percent(details['share'])} of the {details['unit']}s "
        f"of {details['model']} with at least two items: the ids decide the order.",
        "count the distinct scores of some lists in the file; usual causes are a scorer that "
        "failed to load, an untrained model, and one default score for all items",
    )


def _tie_range(details: Details) -> Texts:
    ranges = [
        f"{label} is between {number(low, 3)} and {number(high, 3)}"
        for label, low, high in details["ranges"]
    ]
    return (
        f"{details['model']}: {join_names(ranges)}, by the order of equal scores.",
        "count the distinct scores of some lists; usual causes are constant, rounded, clipped or "
        "integer scores, and float16. Write scores with more digits; `ties: average` averages "
        "over all orders",
    )


def _ties_at_cutoff(details: Details) -> Texts:
    return (
        f"Scores tie across rank {details['k']} for {_unit_share(details)}: "
        f"`ties: {details['ties']}` decides which item is in the list.",
        "write scores with more digits; `ties: average` averages over all orders",
    )


def _sample_not_random(details: Details) -> Texts:
    model, versus = details["model"], details["versus"]
    sampled, others = (number(details[side], 3) for side in ("sampled", "others"))
    what = model if versus is None else f"{model} minus {versus}"
    return (
        f"The sample does not look random: by the judge, {details['label']} of {what} is "
        f"{sampled} on the {details['n_sampled']:,} sampled users and {others} on the "
        f"{details['n_others']:,} others. Fewer than 1 of 1,000 random samples deviate so far in "
        f"any of the {details['n_checks']:,} means and differences that were checked. So the "
        "estimates may be far off, and their intervals do not hold.",
        "decide nothing by them. Draw users at random from all users and let people judge their "
        "lists, or let the judge grade all users in the same way",
    )


def _same_lists(details: Details) -> Texts:
    return (
        f"{join_names(details['models'])} have the same lists for {percent(details['share'])} of "
        f"the users{_up_to(details)}: one model under two names, or a copy for an A/A test.",
        "give each model its own file, unless the copy is wanted",
    )


def _one_list(details: Details) -> Texts:
    (model,) = details["models"]
    return (
        f"{model} has one list for {percent(details['share'])} of {details['n_users']:,} users"
        f"{_up_to(details)}: usual for the most popular items, a fault in a personal model.",
        "if it should be personal, check the features and ids of users that it was given",
    )


def _up_to(details: Details) -> str:
    return "" if details["k"] is None else f", up to rank {details['k']}"


def _short_lists(details: Details) -> Texts:
    return (
        f"Lists end before rank {details['k']} for {_unit_share(details)}.",
        "write longer lists, or choose smaller cutoffs",
    )


def _unit_share(details: Details) -> str:
    return f"up to {percent(details['share'])} of the {details['unit']}s ({details['model']})"


def _user_sets_differ(details: Details) -> Texts:
    return _values_missing(details) if "without_values" in details else _lists_missing(details)


def _values_missing(details: Details) -> Texts:
    n_users, missing = details["n_users"], details["without_values"]
    lacking = [
        f"{model} lacks values for {format_count(n, 'user')}" for model, n in missing.items()
    ]
    share = f" ({percent(max(missing.values()) / n_users)})" if len(missing) == 1 else ""
    return (
        f"Not all models have values for the same users: of {n_users:,}, "
        f"{join_names(lacking)}{share}. "
        "Each mean covers the users with a value of that model; each difference covers the users "
        "with values of both.",
        "give every model a value for every user, also where it failed",
    )


def _value_users_differ(details: Details) -> Texts:
    missing, others = details["without_values"], details["not_evaluated"]
    lacking, unread = (max(each, key=each.__getitem__) for each in (missing, others))
    parts = []
    if n := missing[lacking]:
        share = percent(n / details["n_users"])
        parts.append(f"{lacking} lacks values of {format_count(n, 'evaluated user')} ({share})")
    if n := others[unread]:
        parts.append(f"{unread} has values of {format_count(n, 'other user')}")
    return (
        "Values next to the lists are of other users than are evaluated: at worst, "
        f"{join_names(parts)}. Each mean covers the evaluated users with a value of that model; "
        "each difference covers those with values of both.",
        "give every model a value for every evaluated user, and no others",
    )


def _lists_missing(details: Details) -> Texts:
    missing, models, unit = (details[name] for name in ("without_list", "models", "unit"))
    most = max(missing, key=missing.__getitem__)
    n = format_count(missing[most], unit)
    if len(set(missing.values())) == 1:
        lacking = f"{join_names(models)} {verb(len(models), 'has', 'have')} none for {n}"
    else:
        n_models = format_count(len(models), "model")
        lacking = f"{n_models}, above all {most}, have none for up to {n}"
    return (
        f"Not all models have lists for the same {unit}s: {lacking} "
        f"({percent(missing[most] / details['n_users'])}), and "
        f"`user_no_recs: {details['user_no_recs']}` decides how they count.",
        f"give every model a list for every {unit}",
    )


def _few_lists(details: Details) -> Texts:
    missing, n_users, unit = details["without_list"], details["n_users"], details["unit"]
    return (
        f"{format_count(missing, unit)} of {n_users:,} in the ground truth "
        f"({percent(missing / n_users)}) {verb(missing, 'has', 'have')} no list, and "
        f"`user_no_recs: {details['user_no_recs']}` decides how they count.",
        f"make lists for all {unit}s of the ground truth, unless the model returned nothing for "
        "them",
    )


def _heavy_users(details: Details) -> Texts:
    n_heavy = details["n_heavy"]
    heavy, verb = ("The user", "has") if n_heavy == 1 else (f"The {n_heavy} users", "have")
    return (
        f"{heavy} with most requests, of {details['n_users']:,}, {verb} "
        f"{percent(details['share'])} of all requests: means over requests depend on few users, "
        "and their intervals can be too narrow.",
        "compare with the mean over users (`unit_mean: users`), or evaluate more users",
    )


def _propensity(details: Details) -> Texts:
    n_clipped = details["clipped"]
    are = verb(n_clipped, "is", "are")
    clipped = f"; {format_count(n_clipped, 'weight')} {are} clipped" if n_clipped else ""
    return (
        "Hits are weighted by inverse propensities: the effective sample size of "
        f"{format_count(details['rows'], 'relevant row')} is {details['effective']:,.1f}, and the "
        f"largest weight is {percent(details['largest'])} of the sum{clipped}. No interval covers "
        "errors of the propensities or the bias of clipping.",
        "if few rows dominate, evaluate more users. A higher `conventions.propensity.clip` adds "
        "bias that may turn the order of models: compare the order under several values",
    )


def _unobserved_users(details: Details) -> Texts:
    unit = details["unit"]
    name = "name all users in the table `users`, or " if details["can_name_users"] else ""
    return (
        f"Every {unit} with a list has an observed relevant item. If lists were made only for "
        f"{unit}s with observations, means of {join_names(details['labels'])} may be too high: "
        f"the other {unit}s, with value 0, are missing.",
        f"{name}give lists for all {unit}s that the models serve",
    )


def _dcg_disagrees(details: Details) -> Texts:
    return (
        f"{details['ndcg']} and {details['dcg']} rank {_pairs(details['pairs'])} differently: nDCG "
        "gives users with few relevant items the same weight as users with many.",
        "if the sum over all users counts, as in an online experiment, decide by " + details["dcg"],
    )


def _direction_unclear(details: Details) -> Texts:
    metrics = details["metrics"]
    return (
        f"{join_names(metrics)} {is_or_are(metrics)} assumed to be better if higher, but metrics "
        "of such a name are usually better if lower.",
        f"set the direction, such as higher_is_better={dict.fromkeys(metrics, False)}; verdicts "
        "depend on it",
    )


def _outlying_training(details: Details) -> Texts:
    labels, baseline = details["labels"], details["baseline"]
    value, low, high = (
        number(details[name], details["digits"]) for name in ("value", "low", "high")
    )
    basis = "" if baseline is None else f" by the difference to {baseline}"
    return (
        f"{details['lists']} is far from the other replicates of "
        f"{join_names(details['models'])}{basis} on {join_names(labels)}: {value} on {labels[0]}, "
        f"the others {low if low == high else f'{low} to {high}'}. If training runs sometimes "
        "fail, intervals over replicates are too narrow.",
        "look into this training run, and train more replicates",
    )


_TEXTS: Mapping[str, Texts | Callable[[Details], Texts]] = {
    "all_relevant": (
        "Every grade of the ground truth, from {lowest:g} to {highest:g}, reaches "
        "`relevance_threshold: {threshold:g}`: every rated item counts as relevant.",
        "raise the threshold, if low grades mean that the user did not like the item",
    ),
    "below_popular": (
        "No model beats the most popular items on {label}: {popular:.3g}, and the best model has "
        "{mean:.3g}.",
        "tune the models; the most popular items need none",
    ),
    "constant_scores": _constant_scores,
    "dcg_disagrees": _dcg_disagrees,
    "direction_unclear": _direction_unclear,
    "duplicates_counted": _duplicates_counted,
    "empty_truth": _empty_truth,
    "far_below_popular": _far_below_popular,
    "few_judged": _few_judged,
    "few_lists": _few_lists,
    "foreign_ids": _foreign_ids,
    "fractions_irrelevant": _fractions_irrelevant,
    "heavy_users": _heavy_users,
    "holds_truth": _holds_truth,
    "ids_rewritten": _ids_rewritten,
    "low_threshold": _low_threshold,
    "near_ceiling": (
        "{names} has {label} {mean:.2g}, where {ceiling:.2g} is the best possible and the next "
        "model has {others:.2g}: it may have seen the ground truth.",
        "look for the relevant items of some users in its training data",
    ),
    "no_better_than_chance": _no_better_than_chance,
    "no_common_item": _no_common_item,
    "nobody_relevant": (
        "{setting} is {threshold:g}, and the highest grade of the ground truth is {highest:g}: no "
        "user has a relevant item.",
        "lower it, or name the column of the grades: {column_setting}",
    ),
    "not_in_catalogue": _not_in_catalogue,
    "one_list": _one_list,
    "order_not_identifiable": _order_not_identifiable,
    "outlying_training": _outlying_training,
    "own_id_listed": _own_id_listed,
    "padding_item": (
        "Lists of {names} hold the item {item}, and the ground truth has no such id. If it fills "
        "short lists, it counts as an item that nobody wants.",
        "leave its rows out where the lists are made",
    ),
    "perfect_for_some": _perfect_for_some,
    "propensity": _propensity,
    "same_file": (
        "{names} are the same file, byte for byte.",
        "name the file of each model, or remove the copies",
    ),
    "same_lists": _same_lists,
    "sample_not_random": _sample_not_random,
    "sampled_candidates": _sampled_candidates,
    "sampled_corrected": _sampled_corrected,
    "sampled_unfit": (
        "No ranking of {catalogue:,} items gives the sampled ranks of {names} if {negatives:,} "
        "negatives are drawn uniformly: their corrected values of {label} are meaningless.",
        "check whether negatives were drawn by popularity, and whether conventions.candidates "
        "describes the sampling",
    ),
    "several_lists": _several_lists,
    "several_splits": (
        "The ground truth has rows of several splits, which {column!r} names, and all of them "
        "count.",
        "read one: {setting}",
    ),
    "short_lists": _short_lists,
    "spelled_otherwise": _spelled_otherwise,
    "split_not_by_time": _split_not_by_time,
    "swapped_split": _swapped_split,
    "swapped_tables": _swapped_tables,
    "tie_range": _tie_range,
    "ties_at_cutoff": _ties_at_cutoff,
    "train_items_recommended": _train_items_recommended,
    "truth_in_train": _truth_in_train,
    "unobserved_users": _unobserved_users,
    "unrelated_train": _unrelated_train,
    "user_sets_differ": _user_sets_differ,
    "value_users_differ": _value_users_differ,
}
