"""Data quality: warnings on the evaluation, what was found in each model's lists, and the facts of the ground truth."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.reports.text.numbers import count, join_first, share

_MAX_NAMES = 4  # models of one warning
_SIGNS = {
    "sampled_candidates": "sampled candidates",
    "train_items_recommended": "items from the train in the lists",
    "future_items": "items from the future in the lists",
    "truth_in_train": "truth inside the train",
    "user_sets_differ": "models with other users",
    "ties_at_cutoff": "ties across the cutoff in lists that scores order",
}
_TRUTH_WORDS = {
    "path": "File",
    "format": "Format",
    "rows": "Rows",
    "users": "Users",
    "items": "Items",
}


def models_of(warning: DataWarning) -> str:
    """Return the first models that a warning concerns; empty if it concerns all."""
    return join_first(warning.models, _MAX_NAMES)


def no_signs(comparison: Comparison) -> str:
    """Return what the checks looked for without a finding; empty if nothing was checked."""
    signs = [words for kind, words in _SIGNS.items() if kind in comparison.checked]
    return f"No sign of {', of '.join(signs)}." if signs else ""


@dataclass(frozen=True)
class Cell:
    """A count, its share or policy, and whether a reader should notice it."""

    text: str
    detail: str
    notable: bool
    value: float | None


def columns(comparison: Comparison) -> list[str]:
    """Return the headers of the table of models."""
    if not comparison.has_lists:
        return ["Users with a row", "Users without a row"]
    k, units = comparison.main_cutoff, "Requests" if comparison.unit else "Users"
    return [
        f"{units} with a list",
        f"{units} without a list",
        f"Lists shorter than {k}",
        "Tied rows",
        "Duplicates",
        "Rank against score",
        f"Judged in the top {k}",
    ]


def cells(comparison: Comparison, lists: str) -> list[Cell]:
    """Return the cells of one model's lists, in the order of the columns."""
    quality = comparison.quality[lists]
    users, k, units = quality["users"], str(comparison.main_cutoff), _units(quality)
    n = users["evaluated"]
    missing = users["without_list" if comparison.has_lists else "missing"]
    present = Cell(count(n - missing), f"of {count(n)}", notable=False, value=n - missing)
    if not comparison.has_lists:
        return [present, _part(missing, n)]
    judged, disagreements = quality["judged_share"].get(k), quality["rank_score_disagreements"]
    return [
        present,
        _part(missing, n),
        _part(users["shorter_than"].get(k), n),
        *(
            _notable(each["rows"], f"{count(each['users'])} {units}; {each['policy']}")
            for each in (quality["ties"], quality["duplicates"])
        ),
        _notable(disagreements["users"], units),
        Cell(share(judged), "", notable=False, value=judged),
    ]


def _part(n: int | None, total: int) -> Cell:
    return _notable(n, share(n / total) if n and total else "")


def _notable(n: int | None, detail: str) -> Cell:
    return Cell(count(n), detail if n else "", bool(n), n)


def _units(quality: Mapping[str, Any]) -> str:
    """Return what a table counts under `users`."""
    return "requests" if "unit" in quality else "users"


def notes(comparison: Comparison) -> list[tuple[str, str]]:
    """Return everything a reader should notice before trusting a difference: (table, sentence)."""
    quality = comparison.quality
    known = [name for name in [*comparison.ranked_lists, "truth"] if name in quality]
    return [
        (name, note)
        for name in known
        for note in [*_missing_users(quality[name]), *quality[name].get("notes", [])]
    ]


def _missing_users(quality: Mapping[str, Any]) -> Iterator[str]:
    users = quality.get("users")
    if not isinstance(users, Mapping):
        return
    missing, unit, noun = users.get("missing"), "user", "row"  # of given values
    if not missing:
        missing, noun = users.get("without_list"), "list"
        unit = f"evaluated {_units(quality).removesuffix('s')}"
    if missing:
        n = users["evaluated"]
        have = f"{unit} has" if missing == 1 else f"{unit}s have"
        yield f"{count(missing)} of {count(n)} {have} no {noun} ({share(missing / n)})."


def all_present(comparison: Comparison) -> str:
    """Return what is in order if there is nothing to report."""
    noun = "a list from" if comparison.has_lists else "a row in the values of"
    return f"every evaluated user has {noun} every model"


def evaluated_users(comparison: Comparison) -> int | None:
    """Return the number of users that models were evaluated on."""
    users = (comparison.quality[model]["users"] for model in comparison.lists)
    return max((each["evaluated"] for each in users), default=None)


def truth_facts(comparison: Comparison) -> list[tuple[str, str]]:
    """Return words and values that describe the ground truth."""
    truth = comparison.quality.get("truth", {})
    unit, grades, duplicates = (truth.get(key) for key in ("unit", "grades", "duplicates"))
    words = _TRUTH_WORDS | ({"users": "Requests"} if unit else {})
    facts = [(word, _plain(truth[key])) for key, word in words.items() if key in truth]
    if unit:
        facts.append(("A request is named by", ", ".join(unit)))
    facts = [(word, "in memory" if fact == "held" else fact) for word, fact in facts]
    if folds := truth.get("folds"):
        facts.append(("Folds", ", ".join(folds)))
    if isinstance(grades, Mapping):
        facts.append(("Grades", ", ".join(f"{grade}: {_plain(n)}" for grade, n in grades.items())))
    if isinstance(duplicates, Mapping):
        facts.append(("Duplicates", f"{_plain(duplicates['rows'])} rows; {duplicates['policy']}"))
    return facts


def _plain(value: Any) -> str:
    return count(value) if isinstance(value, int) else str(value)
