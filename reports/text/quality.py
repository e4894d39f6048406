"""Data quality: warnings, the state of each model's lists, and facts of the ground truth."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.results.text_format import group_values, join_names
from concord.reports.text.numbers import count, join_first, number, share
from concord.reports.text.warnings import acknowledgement_text

_MAX_NAMES = 4  # models of one warning
_MISSING_USERS = {"user_sets_differ", "few_lists"}  # codes of warnings
_CHECKS = {  # code of a warning -> words
    "sampled_candidates": "sampled candidates",
    "train_items_recommended": "known items in the lists",
    "split_not_by_time": "a split that is not by time",
    "truth_in_train": "ground truth in the training set",
    "user_sets_differ": "models with different users",
    "ties_at_cutoff": "tied scores across the cutoff",
}
_TRUTH_NAMES = {
    "path": "File",
    "format": "Format",
    "rows": "Rows",
    "users": "Users",
    "items": "Items",
}


def model_names(warning: DataWarning) -> str:
    """Return the first models that a warning concerns; empty if it concerns all."""
    return join_first(warning.models, _MAX_NAMES)


@dataclass(frozen=True)
class Finding:
    """A defect of the data with the names of the tables that have it; `fix` may be empty.

    `acknowledged`: why it is accepted; empty if it is not.
    """

    names: str
    sentence: str
    fix: str = ""
    is_serious: bool = False
    acknowledged: str = ""


def findings(comparison: Comparison) -> list[Finding]:
    """Return the warnings, one finding for each other defect, and what is acknowledged.

    A prominent warning of users without a list is left out: the page begins with it. Ties are one
    finding, which replaces their notice if it says how far a mean can move.
    """
    ties = list(_ties(comparison))
    says_more = any(each.fix for each in ties)
    warnings = [
        Finding(_warning_names(each), each.sentence, each.fix, each.severity == "serious")
        for each in comparison.warnings
        if not each.is_acknowledged
        and not (each.is_prominent and each.code in _MISSING_USERS)
        and not (says_more and each.code == "ties_at_cutoff")
    ]
    acknowledged = [
        Finding(_warning_names(each), each.sentence, acknowledged=acknowledgement_text(each))
        for each in comparison.warnings
        if each.is_acknowledged
    ]
    tables = group_values((f"{note.removesuffix('.')}.", name) for name, note in _notes(comparison))
    notes = [Finding(join_first(names, _MAX_NAMES), note) for note, names in tables.items()]
    return [*warnings, *ties, *notes, *acknowledged]


def _tied_rows(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return how many rows have equal scores, and what happens to them; empty if none have.

    Parameters
    ----------
    tables : mapping
        Name -> quality of recommendations.
    """
    ties = {name: table["ties"] for name, table in tables.items() if table.get("ties")}
    tied = {name: each for name, each in ties.items() if each["rows"]}
    if not tied:
        return ""
    counts = [
        f"{format_count(each['rows'], 'row')} of {format_count(each['users'], 'user')}"
        + (f" ({name})" if len(tied) > 1 else "")
        for name, each in tied.items()
    ]
    policy = next(each["policy"] for each in tied.values())
    how = "averages over their orders" if policy == "average" else "ordered them"
    listed = join_first(counts, _MAX_NAMES)
    return f"{listed} tie with another of the same list; `ties: {policy}` {how}"


def _ties(comparison: Comparison) -> Iterator[Finding]:
    """Yield the finding on equal scores: how many there are, and how far a mean can move.

    Models whose range is a warning of its own have no range here.
    """
    tables = {name: comparison.quality[name] for name in comparison.ranked_lists}
    text = _tied_rows(tables)
    if not text:
        return
    warned = {name for x in comparison.warnings if x.code == "tie_range" for name in x.models}
    primary = [each for each in comparison.ties if each.label in comparison.primary]
    ranges = []
    for each in primary:
        digits = comparison.decimals[each.label]
        low, high = number(each.low, digits), number(each.high, digits)
        if low != high and each.model not in warned:
            ranges.append(f"{each.label} of {each.model} between {low} and {high}")
    names = [name for name, table in tables.items() if table.get("ties", {}).get("rows")]
    fix = ""
    if ranges:
        text += f". In other orders a primary mean moves: {join_names(ranges)}"
        fix = "write scores with more digits; `ties: average` averages over all orders"
    elif primary and not warned:
        text += ". No other order moves a primary mean by a digit that is shown"
    yield Finding(join_first(names, _MAX_NAMES), f"{text}.", fix)


def _warning_names(warning: DataWarning) -> str:
    return model_names(warning) or "the data"


def passed_checks(comparison: Comparison) -> str:
    """Return the checks that found nothing, as a sentence; empty if nothing was checked."""
    checks = [words for code, words in _CHECKS.items() if code in comparison.checked]
    return f"No sign of {', of '.join(checks)}." if checks else ""


@dataclass(frozen=True)
class Cell:
    """A count with its share or policy; `notable` if it should be noticed."""

    text: str
    detail: str
    notable: bool
    value: float | None


def columns(comparison: Comparison) -> list[str]:
    """Return the headers of the table of models."""
    if not comparison.has_lists:
        return ["Users with a value", "Users without a value"]
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
    users, k, units = quality["users"], str(comparison.main_cutoff), _unit_name(quality)
    n = users["evaluated"]
    missing = users["without_list" if comparison.has_lists else "missing"]
    present = Cell(count(n - missing), f"of {count(n)}", notable=False, value=n - missing)
    if not comparison.has_lists:
        return [present, _share_cell(missing, n)]
    judged, disagreements = quality["judged_share"].get(k), quality["rank_score_disagreements"]
    return [
        present,
        _share_cell(missing, n),
        _share_cell(users["shorter_than"].get(k), n),
        *(
            _count_cell(each["rows"], f"{count(each['users'])} {units}; {each['policy']}")
            for each in (quality["ties"], quality["duplicates"])
        ),
        _count_cell(disagreements["users"], units),
        Cell(share(judged), "", notable=False, value=judged),
    ]


def _share_cell(n: int | None, total: int) -> Cell:
    return _count_cell(n, share(n / total) if n and total else "")


def _count_cell(n: int | None, detail: str) -> Cell:
    return Cell(count(n), detail if n else "", bool(n), n)


def _unit_name(quality: Mapping[str, Any]) -> str:
    """Return the unit that a table counts under `users`."""
    return "requests" if "unit" in quality else "users"


def _notes(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Yield (table, sentence) for each defect of the tables but ties."""
    for name in [*comparison.ranked_lists, "truth"]:
        quality = comparison.quality.get(name, {})
        ties = _tied_rows({name: quality})
        for note in [*_missing_users(quality), *quality.get("notes", [])]:
            if note != ties:
                yield name, note


def _missing_users(quality: Mapping[str, Any]) -> Iterator[str]:
    users = quality.get("users")
    if not isinstance(users, Mapping):
        return
    missing, unit, noun = users.get("missing"), "user", "value"  # of a table of values
    if not missing:
        missing, noun = users.get("without_list"), "list"
        unit = f"evaluated {_unit_name(quality).removesuffix('s')}"
    if missing:
        n = users["evaluated"]
        have = f"{unit} has" if missing == 1 else f"{unit}s have"
        yield f"{count(missing)} of {count(n)} {have} no {noun} ({share(missing / n)})."


def no_defects(comparison: Comparison) -> str:
    """Return the clause for data without defects."""
    noun = "a list from" if comparison.has_lists else "a value of"
    return f"every evaluated user has {noun} every model"


def evaluated_users(comparison: Comparison) -> int | None:
    """Return the number of users that models were evaluated on."""
    users = (comparison.quality[model]["users"] for model in comparison.lists)
    return max((each["evaluated"] for each in users), default=None)


def truth_facts(comparison: Comparison) -> list[tuple[str, str]]:
    """Return names and values that describe the ground truth."""
    truth = comparison.quality.get("truth", {})
    unit, grades, duplicates = (truth.get(key) for key in ("unit", "grades", "duplicates"))
    names = _TRUTH_NAMES | ({"users": "Requests"} if unit else {})
    facts = [(name, _text(truth[key])) for key, name in names.items() if key in truth]
    if unit:
        facts.append(("Columns of a request", ", ".join(unit)))
    facts = [(name, "in memory" if fact == "held" else fact) for name, fact in facts]
    if folds := truth.get("folds"):
        facts.append(("Folds", ", ".join(folds)))
    if isinstance(grades, Mapping):
        facts.append(("Grades", ", ".join(f"{grade}: {_text(n)}" for grade, n in grades.items())))
    if isinstance(duplicates, Mapping):
        facts.append(("Duplicates", f"{_text(duplicates['rows'])} rows; {duplicates['policy']}"))
    return facts


def _text(value: Any) -> str:
    return count(value) if isinstance(value, int) else str(value)
