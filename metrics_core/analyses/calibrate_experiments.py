"""Past A/B experiments, and the offline differences of their models."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from concord.metrics_core.data.argument_types import Data
from concord.metrics_core.data.text_rows import Row, read_text_rows
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.metrics_core.metrics.judged import Floats
from concord.metrics_core.results.calibration import PINNED, SkippedExperiment, SkipReason
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import or_nan

REQUIRED_COLUMNS = ("experiment", "control", "treatment")
_SUFFIXES = ("_se", "_low", "_high")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?")
_COLUMNS_FIX = (
    f"write the columns {', '.join(REQUIRED_COLUMNS)} and one per online metric, "
    "separated by commas"
)
Key = tuple[str, str]  # label, definition
Side = tuple[str, Comparison]  # a model and its comparison


@dataclass(frozen=True)
class Lift:
    """Effect of a treatment on an online metric, in the metric's unit; higher is better.

    Attributes
    ----------
    value : float
        Estimate.
    se : float or None
        Standard error.
    low, high : float or None
        Interval.
    """

    value: float
    se: float | None = None
    low: float | None = None
    high: float | None = None

    def is_settled(self, z: float) -> bool:
        """True if the interval excludes 0. A lift without standard error or interval is exact."""
        if self.value == 0:
            return False
        if self.se is not None:
            return abs(self.value) > z * self.se
        if self.low is not None and self.high is not None:
            return self.low > 0 or self.high < 0
        return True


@dataclass(frozen=True)
class Experiment:
    """A past A/B experiment.

    Attributes
    ----------
    name : str
        Name of the experiment.
    control, treatment : str
        `model` or `model@revision`.
    lifts : mapping of str to Lift
        Lift of each online metric that was measured.
    location : str
        Row of the file or frame, for messages.
    """

    name: str
    control: str
    treatment: str
    lifts: Mapping[str, Lift]
    location: str


def load_experiments(data: Data) -> tuple[Experiment, ...]:
    """Return the experiments of a frame or a CSV file.

    Raises
    ------
    InputError
        If the table is invalid; all problems at once.
    """
    table = read_text_rows(data, "experiments", _COLUMNS_FIX)
    raise_problems([*_column_problems(table.names, table.location), *table.problems])
    return _parse_experiments(table.names, table.rows, table.location)


def _parse_experiments(
    names: Sequence[str], rows: Sequence[Row], location: str
) -> tuple[Experiment, ...]:
    if not rows:
        raise refuse(location, "has no experiment", "write one experiment per row")
    online = [name for name in names if name not in REQUIRED_COLUMNS and not _lift_of(name, names)]
    experiments: list[Experiment] = []
    problems: list[Problem] = []
    for row_location, cells in rows:
        problems += _name_problems(row_location, cells, [each.name for each in experiments])
        lifts = dict(_parse_lifts(row_location, cells, online, problems))
        name, control, treatment = (cells[column] for column in REQUIRED_COLUMNS)
        experiments.append(Experiment(name, control, treatment, lifts, row_location))
    raise_problems(problems)
    return tuple(experiments)


def _lift_of(name: str, names: Iterable[str]) -> str:
    """Return `ctr` for `ctr_se` if there is a column `ctr`, else an empty string."""
    bases = [name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)]
    return bases[0] if bases and bases[0] in set(names) - set(REQUIRED_COLUMNS) else ""


def _column_problems(names: Sequence[str], location: str) -> Iterator[Problem]:
    for name in REQUIRED_COLUMNS:
        if name not in names:
            yield Problem(location, f"has no column {name}, only {', '.join(names)}", _COLUMNS_FIX)
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            problem = f"has {names.count(name)} columns named {name!r}"
            yield Problem(location, problem, "use each column name once")
        if not name:
            yield Problem(location, "has a column without a name", "name it, or delete it")
    online = [name for name in names if name not in REQUIRED_COLUMNS]
    if not online:
        yield Problem(location, "has no online metric", _COLUMNS_FIX)
    for name in online:
        if name.endswith(_SUFFIXES) and not _lift_of(name, names):
            problem = f"has {name} without the column of its lift"
            yield Problem(location, problem, "name the lift's column without the suffix")
        suffixes = [suffix for suffix in _SUFFIXES if name + suffix in names]
        if suffixes not in ([], ["_se"], ["_low", "_high"]):
            problem = f"has {', '.join(name + suffix for suffix in suffixes)} for {name}"
            fix = f"write {name}_se, or both {name}_low and {name}_high, or neither"
            yield Problem(location, problem, fix)


def _name_problems(
    location: str, cells: Mapping[str, str], earlier: Sequence[str]
) -> Iterator[Problem]:
    for name in REQUIRED_COLUMNS:
        if not cells[name]:
            yield Problem(f"{location}: {name}", "is empty", "fill it in")
    if cells["experiment"] and cells["experiment"] in earlier:
        problem = f"{cells['experiment']!r} occurs in two rows"
        yield Problem(f"{location}: experiment", problem, "use each name once")
    if cells["control"] and cells["control"] == cells["treatment"]:
        problem = f"control and treatment are both {cells['control']!r}"
        yield Problem(location, problem, "name the two models that were compared")


def _parse_lifts(
    location: str, cells: Mapping[str, str], online: Iterable[str], problems: list[Problem]
) -> Iterator[tuple[str, Lift]]:
    """Yield the lift of each online metric; an empty cell means that it was not measured."""
    for name in online:
        numbers = {
            suffix: _parse_number(location, name + suffix, cells, problems)
            for suffix in ("", *_SUFFIXES)
        }
        value, se, low, high = numbers.values()
        cell = f"{location}: {name}"
        if value is None:
            filled = [name + suffix for suffix in _SUFFIXES if numbers[suffix] is not None]
            if filled and not cells[name]:
                problem = f"is empty, but {filled[0]} is not"
                problems.append(Problem(cell, problem, "fill in both, or neither"))
            continue
        if se is not None and se <= 0:
            fix = "write a number above 0, or leave the cell empty"
            problems.append(Problem(f"{cell}_se", f"is {se:g}", fix))
        if (low is None) != (high is None):
            problem = "has only one end of an interval"
            problems.append(Problem(cell, problem, "fill in both, or neither"))
        elif low is not None and high is not None and not low <= value <= high:
            problem = f"{value:g} is not between {low:g} and {high:g}"
            problems.append(Problem(cell, problem, "check the three numbers"))
        yield name, Lift(value, se, low, high)


def _parse_number(
    location: str, name: str, cells: Mapping[str, str], problems: list[Problem]
) -> float | None:
    text = cells.get(name, "").replace("−", "-")
    if not text:
        return None
    if _NUMBER.fullmatch(text):
        return float(text)
    fix = (
        "write a number such as 0.8 or -1.2e-3, in one unit per column and without %; "
        "leave cells empty that were not measured"
    )
    problems.append(Problem(f"{location}: {name}", f"{text!r} is not a number", fix))
    return None


@dataclass(frozen=True)
class OfflineDifferences:
    """Offline differences of the experiments that can be used.

    Attributes
    ----------
    keys : tuple of (str, str)
        Label and definition of each row.
    experiments : tuple of Experiment
        Experiment of each column.
    differences : (keys, experiments) float64
        Treatment minus control, with the sign such that higher is better; NaN if undefined.
    skipped : tuple of SkippedExperiment
        Experiments that cannot be used, with the reason.
    """

    keys: tuple[Key, ...]
    experiments: tuple[Experiment, ...]
    differences: Floats
    skipped: tuple[SkippedExperiment, ...]


def split_revision(name: str, models: Sequence[str]) -> tuple[str, str]:
    """Return model and revision of `als@v1.2`; the revision is "" for a current model."""
    model, _, revision = name.partition("@")
    return (name, "") if name in models or not revision else (model, revision)


def offline_differences(
    experiments: Sequence[Experiment], comparisons: Mapping[str, Comparison]
) -> OfflineDifferences:
    """Return the offline differences of all labels, the current labels first.

    Parameters
    ----------
    experiments : sequence of Experiment
        Past experiments.
    comparisons : mapping of str to Comparison
        Comparison of each revision; that of "" is the current one.

    Returns
    -------
    OfflineDifferences
        Differences of the usable experiments, and the skipped ones.

    Raises
    ------
    InputError
        If a model or a revision is unknown.
    """
    pairs = _resolve_models(experiments, comparisons)
    skipped: dict[int, SkipReason] = {
        i: reason
        for i, ((_, control), (_, treatment)) in enumerate(pairs)
        if (reason := _skip_reason(control, treatment))
    }
    usable = [i for i in range(len(pairs)) if i not in skipped]
    fingerprints = {i: pairs[i][0][1].conventions.fingerprint for i in usable}
    for most_common, _ in Counter(fingerprints.values()).most_common(1):
        skipped |= {i: "unlike_other_experiments" for i in usable if fingerprints[i] != most_common}
        usable = [i for i in usable if i not in skipped]
    columns = [_differences(*pairs[i]) for i in usable]
    first = next(iter(comparisons.values()))
    ordered = dict.fromkeys((label, PINNED) for label in first.labels)
    ordered |= dict.fromkeys(key for column in columns for key in column)
    keys = tuple(key for key in ordered if any(key in column for column in columns))
    values = [[column.get(key, np.nan) for column in columns] for key in keys]
    return OfflineDifferences(
        keys,
        tuple(experiments[i] for i in usable),
        np.array(values, dtype=np.float64).reshape(len(keys), len(usable)),
        tuple(SkippedExperiment(experiments[i].name, skipped[i]) for i in sorted(skipped)),
    )


def _resolve_models(
    experiments: Sequence[Experiment], comparisons: Mapping[str, Comparison]
) -> list[tuple[Side, Side]]:
    problems: list[Problem] = []
    pairs = []
    for each in experiments:
        sides = []
        for role, name in (("control", each.control), ("treatment", each.treatment)):
            current = comparisons[""].models if "" in comparisons else ()
            model, revision = split_revision(name, current)
            comparison = comparisons.get(revision)
            if comparison is None:
                problem = (
                    f"{name!r} names the revision {revision!r}, but `comparisons` has no such key"
                )
                fix = "pass the comparison of that revision"
            elif model not in comparison.models:
                suffix = f" of {revision}" if revision else ""
                problem = f"{model!r} is not among the models{suffix}"
                fix = f"name one of: {', '.join(comparison.models)}"
            else:
                sides.append((model, comparison))
                continue
            problems.append(Problem(f"{each.location}: {role}", problem, fix))
        pairs.append(tuple(sides))
    raise_problems(problems)
    return [(control, treatment) for control, treatment in pairs]


def _skip_reason(control: Comparison, treatment: Comparison) -> SkipReason | None:
    """Return the reason why two comparisons are not comparable; None if they are."""
    if control is treatment:
        return None
    if control.conventions.fingerprint != treatment.conventions.fingerprint:
        return "conventions_differ"
    hashes = [_truth_hashes(each) for each in (control, treatment)]
    if None in hashes:
        return "truths_unknown"
    return "truths_differ" if hashes[0] != hashes[1] else None


def _truth_hashes(comparison: Comparison) -> dict[str, str] | None:
    """Return the hash of each fold's ground truth; None if one is unknown."""
    truths = comparison.provenance.truths
    hashes = {each.role: each.sha256 for each in truths if each.sha256 is not None}
    return hashes if truths and len(hashes) == len(truths) else None


def _differences(control: Side, treatment: Side) -> dict[Key, float]:
    """Return the gain of the treatment in every label and definition; higher is better."""
    control_means = dict(_means(*control))
    differences = {}
    for key, mean in _means(*treatment):
        sign = 1 if treatment[1].metric(key[0]).higher_is_better else -1
        difference = sign * (mean - control_means.get(key, np.nan))
        if np.isfinite(difference):
            differences[key] = float(difference)
    return differences


def _means(model: str, comparison: Comparison) -> Iterator[tuple[Key, float]]:
    """Yield the means of all labels, and those of primary labels in the panel's definitions."""
    for label in comparison.labels:
        yield (label, PINNED), or_nan(comparison.score(model, label).mean)
    for entry in comparison.panel:
        for definition in entry.definitions[1:]:
            yield (entry.metric, definition.name), or_nan(definition.values.get(model))
