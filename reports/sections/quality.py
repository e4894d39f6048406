"""What was found in the data, as rows of counts: one per model, and the facts of the truth."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from concord.metrics_core.results.comparison import Comparison
from concord.reports.writing.numbers import count, share

_TRUTH_WORDS = {
    "path": "File",
    "format": "Format",
    "rows": "Rows",
    "users": "Users",
    "items": "Items",
}


@dataclass(frozen=True)
class Found:
    """A count, what it is of (a share, a policy) and whether a reader should notice it."""

    text: str
    beside: str
    notable: bool
    value: float | None


def columns(comparison: Comparison) -> list[str]:
    if not comparison.has_lists:
        return ["Users with a row", "Users without a row"]
    k, whose = comparison.main_cutoff, "Requests" if comparison.unit else "Users"
    return [
        f"{whose} with a list",
        f"{whose} without a list",
        f"Lists shorter than {k}",
        "Tied rows",
        "Duplicates",
        "Rank against score",
        f"Judged in the top {k}",
    ]


def found_in(comparison: Comparison, lists: str) -> list[Found]:
    quality = comparison.quality[lists]
    if not comparison.has_lists:
        return _rows_of_values(quality["users"])
    users, k = quality["users"], str(comparison.main_cutoff)
    evaluated = users["evaluated"]
    with_list = evaluated - users["without_list"]
    judged = quality["judged_share"].get(k)
    return [
        Found(count(with_list), f"of {count(evaluated)}", False, with_list),
        _part(users["without_list"], evaluated),
        _part(users["shorter_than"].get(k), evaluated),
        _under_policy(quality["ties"], _whose(quality)),
        _under_policy(quality["duplicates"], _whose(quality)),
        _users_only(quality["rank_score_disagreements"]["users"], _whose(quality)),
        Found(share(judged), "", False, judged),
    ]


def _rows_of_values(users: Mapping[str, int]) -> list[Found]:
    evaluated, missing = users["evaluated"], users["missing"]
    present = Found(
        count(evaluated - missing), f"of {count(evaluated)}", False, evaluated - missing
    )
    return [present, _part(missing, evaluated)]


def _part(n: int | None, of: int) -> Found:
    return Found(count(n), share(n / of) if n and of else "", bool(n), n)


def _whose(quality: Mapping[str, Any]) -> str:
    """What a table counts under `users`."""
    return "requests" if "unit" in quality else "users"


def _under_policy(finding: Mapping[str, Any], whose: str) -> Found:
    n = finding["rows"]
    beside = f"{count(finding['users'])} {whose}; {finding['policy']}" if n else ""
    return Found(count(n), beside, bool(n), n)


def _users_only(n: int, whose: str) -> Found:
    return Found(count(n), whose if n else "", bool(n), n)


def warnings(comparison: Comparison) -> list[tuple[str, str]]:
    """Everything a reader should notice before trusting a difference: (whose, sentence)."""
    quality = comparison.quality
    known = [name for name in [*comparison.ranked_lists, "truth"] if name in quality]
    return [
        (name, note)
        for name in known
        for note in [*_counted(quality[name]), *quality[name].get("notes", [])]
    ]


def _counted(quality: Mapping[str, Any]) -> list[str]:
    users = quality.get("users")
    if not isinstance(users, Mapping):
        return []
    if n := users.get("missing"):  # of values that were given
        evaluated = users["evaluated"]
        are = "user has" if n == 1 else "users have"
        return [f"{count(n)} of {count(evaluated)} {are} no row ({share(n / evaluated)})."]
    if not users.get("without_list"):
        return []
    n, evaluated = users["without_list"], users["evaluated"]
    one = _whose(quality).removesuffix("s")
    are = f"{one} has" if n == 1 else f"{one}s have"
    return [f"{count(n)} of {count(evaluated)} evaluated {are} no list ({share(n / evaluated)})."]


def nothing_found(comparison: Comparison) -> str:
    """What is in order where there is nothing to report."""
    held = "a list from" if comparison.has_lists else "a row in the values of"
    return f"every evaluated user has {held} every model"


def evaluated_users(comparison: Comparison) -> int | None:
    """The users that every model was evaluated on."""
    users = (comparison.quality[model]["users"] for model in comparison.lists)
    return max((each["evaluated"] for each in users), default=None)


def truth_facts(comparison: Comparison) -> list[tuple[str, str]]:
    truth = comparison.quality.get("truth", {})
    facts = [(word, _plain(truth[key])) for key, word in _TRUTH_WORDS.items() if key in truth]
    if unit := truth.get("unit"):
        facts = [("Requests" if word == "Users" else word, fact) for word, fact in facts]
        facts.append(("A request is named by", ", ".join(unit)))
    facts = [(word, "in memory" if fact == "held" else fact) for word, fact in facts]
    if folds := truth.get("folds"):
        facts.append(("Folds", ", ".join(folds)))
    grades = truth.get("grades")
    if isinstance(grades, Mapping):
        facts.append(("Grades", ", ".join(f"{grade}: {_plain(n)}" for grade, n in grades.items())))
    duplicates = truth.get("duplicates")
    if isinstance(duplicates, Mapping):
        facts.append(("Duplicates", f"{_plain(duplicates['rows'])} rows; {duplicates['policy']}"))
    return facts


def _plain(value: Any) -> str:
    return count(value) if isinstance(value, int) else str(value)
