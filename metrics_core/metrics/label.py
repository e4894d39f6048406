"""Label: a metric with parameters and cutoff, such as `RBP(p=0.8)@20`; parsing and suggestions."""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass, replace

from concord.metrics_core.conventions.conventions import ANY_CUTOFF, Conventions
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.errors import UnknownMetricError
from concord.metrics_core.metrics.catalogue import (
    AMBIGUOUS_NAMES,
    METRIC,
    SET_MEASURES,
    SPELLINGS,
    find_metric,
    normalise,
)
from concord.metrics_core.metrics.custom_metric import (
    find_own_metric,
    load_metrics,
    metric_digests,
    split_file_label,
)
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds, Metric

MAX_LENGTH = 100  # characters of a label
MAX_K = 1_000_000  # lists are read up to this rank
JUDGED_ONLY = "judged_only"
_COMMON_PARAMETERS = ("rel", JUDGED_ONLY)  # of all metrics of lists and ground truth
# Other tools write the cutoff as in `ndcg_at_10`, `ndcg_cut_10`, `map_cut.10` and `P_5`.
_LABEL = re.compile(
    r"(?P<name>[A-Za-z0-9][\w-]*?)(\((?P<args>[^()]*)\))?((@|(_at|_cut)?[_.])(?P<k>[0-9]+)(?P<fraction>\.[0-9]+)?)?",
    re.ASCII,
)
_NUMBER = re.compile(r"^[0-9]+(\.[0-9]+)?$")
_PARTS = re.compile(r"(?P<name>[^()]*?)(?P<inside>\([^()]*\))?(?P<rest>[^()]*)")
_CUTOFF = re.compile(
    r"(?P<name>[^@]*?)(?:\s*@\s*|[\s_.-]*(?:at|cut|top)?[\s_.-]*)(?P<k>[0-9]{1,9}|k)"
)
_MIN_SIMILARITY = 0.75  # of difflib: typing errors, not other words
VALUE_CONVENTIONS = preset("standard")  # under which NaN is a user who does not count
_value_labels: dict[str, "Label"] = {}  # of params.yaml, by their text


@dataclass(frozen=True)
class Label:
    """A metric with its parameters and cutoff, written as `AP(rel=2)@100`.

    Attributes
    ----------
    metric : Metric
        The metric.
    k : int or None
        Cutoff; None for the whole list.
    arguments : tuple of (str, float)
        Values of its parameters, by name.
    """

    metric: Metric
    k: int | None
    arguments: tuple[tuple[str, float], ...]

    @property
    def name(self) -> str:
        """Name of the metric, without parameters and cutoff."""
        return self.metric.name

    @property
    def stem(self) -> str:
        """Label without its cutoff."""
        arguments = ",".join(
            f"{name}={'true' if name == JUDGED_ONLY else f'{value:.15g}'}"
            for name, value in self.arguments
        )
        return f"{self.name}({arguments})" if arguments else self.name

    def __str__(self) -> str:
        return self.stem if self.k is None else f"{self.stem}@{self.k}"

    def with_cutoff(self, k: int) -> "Label":
        """Return the label with cutoff k."""
        return Label(self.metric, k, self.arguments)

    @property
    def override_key(self) -> str:
        """Key of `overrides` for this label, in addition to the metric's name."""
        return self.name if self.k is None else self.name + ANY_CUTOFF

    def conventions(self, conventions: Conventions) -> Conventions:
        """Return the conventions of this label, without overrides.

        `rel` replaces the relevance threshold; no convention changes values of another tool.
        """
        if self.metric.is_of_values:
            return VALUE_CONVENTIONS
        label_conventions = conventions.for_key(self.override_key)
        rel = dict(self.arguments).get("rel")
        if rel is None:
            return label_conventions
        return replace(label_conventions, relevance_threshold=rel)

    def bounds(self, conventions: Conventions) -> Bounds:
        """Return the lowest and the highest value; infinite with inverse propensity weights."""
        is_weighted = conventions.propensity is not None and self.metric.family == "accuracy"
        return UNBOUNDED if is_weighted else self.metric.range

    def depth(self, conventions: Conventions) -> int | None:
        """Return the rank up to which the metric reads lists; None if it reads whole lists."""
        own = self.conventions(conventions)
        reads_all = {"RR": own.rr_cutoff == "none", "nDCG": own.ideal == "retrieved"}
        return None if reads_all.get(self.name) else self.k

    def ranking_number(self, conventions: Conventions) -> int:
        """Return the index of this label's ranking in `Conventions.rankings`."""
        return conventions.rankings.index(self.conventions(conventions).ranking)

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters that the metric's function takes."""
        return {name: value for name, value in self.arguments if name not in _COMMON_PARAMETERS}

    @property
    def judged_only(self) -> bool:
        """True if items without a judgement are removed from the lists."""
        return JUDGED_ONLY in dict(self.arguments)


def set_value_labels(labels: Iterable[Label]) -> None:
    """Set the labels of values that another tool computed, which `parse` knows by their names."""
    _value_labels.clear()
    _value_labels.update({str(label): label for label in labels})


def parse(text: str, *, allow_missing_cutoff: bool = False) -> Label:
    """Return the label for a text such as `nDCG@10`, `RBP(p=0.8)@20` or `ndcg_cut_10`.

    Names and cutoffs may be written as other tools write them, see `Metric.aliases`.

    Parameters
    ----------
    text : str
        Name, parameters in parentheses and cutoff.
    allow_missing_cutoff : bool, default=False
        True if a cutoff is added later, so that a metric that needs one may lack it.

    Raises
    ------
    ValueError
        If the metric (UnknownMetricError) or a parameter is unknown, a parameter is missing or out
        of range, or the metric takes no cutoff.
    """
    if not isinstance(text, str):
        raise _invalid(text, "must be a text such as 'nDCG@10'")
    if len(text) > MAX_LENGTH:
        msg = f"metric {text[:40]!r}…: is longer than {MAX_LENGTH} characters"
        raise ValueError(msg)
    if text in _value_labels:
        return _value_labels[text]
    if (file_and_label := split_file_label(text)) is not None:
        file, text = file_and_label
        names = load_metrics(file)
        if metric_name(text) not in names:
            raise _invalid(text, f"{file} has no such metric; it has {', '.join(names)}")
        return parse(text, allow_missing_cutoff=allow_missing_cutoff)
    match = _match(text)
    if match is None:
        hint = _suggestion(text) or "such as nDCG@10 or RBP(p=0.8)@20"
        separator = "; " if hint.startswith("did") else ", "
        raise _invalid(text, f"write it as name, parameters, cutoff{separator}{hint}")
    name = match["name"]
    metric = METRIC.get(name) or find_own_metric(name) or find_metric(name)
    if metric is None:
        meanings = AMBIGUOUS_NAMES.get(normalise(name), ())
        problem = "has several meanings" if len(meanings) > 1 else "is unknown"
        hint = _suggestion(text)
        msg = f"metric {text!r}: {name!r} {problem}{'; ' if hint else ''}{hint}"
        raise UnknownMetricError(msg)
    if match["fraction"]:
        raise _invalid(text, "cutoffs are whole numbers")
    k = None if match["k"] is None else int(match["k"])
    if k is not None and normalise(name) in SET_MEASURES:
        raise _invalid(text, f"{name} reads the whole list; write {metric.name}@{k}")
    if problem := _cutoff_problem(metric, k, allow_missing_cutoff=allow_missing_cutoff):
        raise _invalid(text, problem)
    return Label(metric, k, _parse_arguments(text, metric, match["args"] or ""))


def _invalid(text: str, problem: str) -> ValueError:
    return ValueError(f"metric {text!r}: {problem}")


def _match(text: str) -> re.Match[str] | None:
    """Return name, arguments and cutoff k of a label; None if it has another form."""
    return _LABEL.fullmatch(text.replace(" ", ""))


def _cutoff_problem(metric: Metric, k: int | None, *, allow_missing_cutoff: bool) -> str:
    if k is None:
        needs_k = "k" in metric.needs and not allow_missing_cutoff
        return f"{metric.name} needs a cutoff, such as {metric.name}@10" if needs_k else ""
    if not metric.takes_k:
        return f"{metric.name} takes no cutoff"
    if k == 0:
        return "cutoffs start at 1"
    return f"cutoffs go up to {MAX_K:,}; without one the whole list counts" if k > MAX_K else ""


def _parse_arguments(text: str, metric: Metric, inside: str) -> tuple[tuple[str, float], ...]:
    arguments: dict[str, float] = {}
    # Metrics beyond accuracy read whole lists.
    common = {"rel"} if metric.family == "beyond" else _COMMON_PARAMETERS
    allowed = {*common, *metric.parameter_names}
    for part in filter(None, inside.split(",")):
        name, _, value = part.partition("=")
        is_flag = name == JUDGED_ONLY
        number = ("1" if value.lower() == "true" else "") if is_flag else value
        if name not in allowed or name in arguments or not _NUMBER.match(number):
            problem = f"{part!r} is not a parameter of {metric.name}"
            raise _invalid(text, f"{problem}; it takes {', '.join(sorted(allowed))}")
        arguments[name] = float(number)
    for name, low, high, example, default in metric.parameters:
        if default is not None:
            arguments.setdefault(name, default)
        if not low < arguments.get(name, low) < high:
            problem = f"needs {name} between {low:g} and {high:g}"
            raise _invalid(text, f"{problem}, such as {metric.name}({name}={example:g})")
    return tuple(sorted(arguments.items()))


def parse_supported(text: str, *, feature: str, also: Container[str] = ()) -> Label:
    """Return the label for a feature that supports only metrics of lists and ground truth.

    Parameters
    ----------
    text : str
        The label.
    feature : str
        Name of the feature, for the message.
    also : container of str
        Names of other metrics that the feature supports.

    Raises
    ------
    ValueError
        As `parse`, and if the metric reads more.
    """
    label = parse(text)
    of_values = label.metric.is_of_values
    if of_values or (label.metric.family == "beyond" and label.name not in also):
        reads = ", ".join(label.metric.needs) or ("values" if of_values else "all lists")
        msg = f"{label}: {feature} covers metrics of lists and truth; {label.name} reads {reads}"
        raise ValueError(msg)
    return label


def expand(metrics: Iterable[str], ks: Iterable[int]) -> list[Label]:
    """Return the label of each metric at each cutoff.

    A metric that takes no cutoff, or has one, occurs once.

    Raises
    ------
    ValueError
        As `parse`, for all metrics at once, and if a label would occur twice.
    """
    cutoffs = sorted(ks)
    labels: list[Label] = []
    problems: list[str] = []
    for text in metrics:
        try:
            label = parse(text, allow_missing_cutoff=True)
        except ValueError as error:
            problems.append(str(error))
            continue
        is_set_measure = normalise(metric_name(text)) in SET_MEASURES
        has_cutoff = label.k is not None or not label.metric.takes_k or is_set_measure
        labels += [label] if has_cutoff else [label.with_cutoff(k) for k in cutoffs]
    if duplicates := sorted(str(label) for label, n in Counter(labels).items() if n > 1):
        problems.append(
            f"metrics: {', '.join(duplicates)} is named more than once; name each metric once"
        )
    if problems:
        raise ValueError("\n".join(problems))
    return labels


def in_report_order(labels: Sequence[Label]) -> list[Label]:
    """Return labels in the catalogue's order, then custom metrics; equal metrics by cutoff."""
    order, stems = list(METRIC), [label.stem for label in labels]
    order += [label.name for label in labels if label.name not in order]
    return sorted(
        labels, key=lambda x: (order.index(x.name), stems.index(x.stem), x.k is not None, x.k or 0)
    )


def canonical_label(text: str) -> str:
    """Return a label as results spell it, such as `RBP(p=0.8)@10` for `RBP(p=0.80) @10`.

    Text that is not a label is returned unchanged.
    """
    try:
        return str(parse(text))
    except ValueError:
        return text


def to_result_spelling(text: str, labels: Collection[str]) -> str:
    """Return the label among `labels` that a text means; a text that means none is unchanged.

    Labels of another tool's values keep their names.
    """
    label = canonical_label(text)
    return label if label in labels and text not in labels else text


def metric_name(text: str) -> str:
    """Return the name of the metric in a label, even if there is no such metric."""
    match = _match(text.rpartition(":")[2])
    return match["name"] if match else text


def with_own_metrics(conventions: Conventions, names: Iterable[str]) -> Conventions:
    """Return the conventions with the digests of the user-defined metrics among the names."""
    own_metrics = metric_digests({*names} - {*METRIC})
    return replace(conventions, own_metrics=own_metrics) if own_metrics else conventions


def is_pooled(label: Label, conventions: Conventions) -> bool:
    """True if the mean is pooled over users instead of the mean of the users' values."""
    label_conventions = label.conventions(conventions)
    return (label.name == "P" and label_conventions.precision_aggregate == "micro") or (
        label.name == "F1" and label_conventions.f1_aggregate == "of_means"
    )


def _suggestion(text: str) -> str:
    """Return a question with the most similar labels; empty if there is none."""
    labels = []
    for label in _similar_labels(text):
        try:
            parse(label, allow_missing_cutoff=True)
        except ValueError:
            label = re.sub(r"\(.*\)", "", label)  # the parameters belong to another metric
        labels.append(repr(label))
    return f"did you mean {' or '.join(labels)}?" if labels else ""


def similar_metrics(name: str) -> tuple[str, ...]:
    """Return the metrics of the catalogue with this or a similar name, the most similar first."""
    spelling = normalise(name)
    if spelling in AMBIGUOUS_NAMES:
        return AMBIGUOUS_NAMES[spelling]
    similar = difflib.get_close_matches(spelling, SPELLINGS, n=1, cutoff=_MIN_SIMILARITY)
    return tuple(SPELLINGS[each] for each in similar)


def similar_label(text: str) -> str | None:
    """Return the label that is most similar to text such as `NDCG-at-10` or `ndgc`, or None."""
    return next(iter(_similar_labels(text)), None)


def _similar_labels(text: str) -> list[str]:
    match = _PARTS.fullmatch(text[:100].strip())
    if match is None:
        return []
    name, inside = match["name"] + match["rest"], match["inside"] or ""
    cut = None if normalise(name) in SPELLINGS else _CUTOFF.fullmatch(name)  # `F1` is a whole name
    if cut is None and "@" in name:
        return []
    labels = []
    for metric in map(METRIC.__getitem__, similar_metrics(cut["name"] if cut else name)):
        example = ",".join(f"{each.name}={each.example:g}" for each in metric.parameters)
        arguments = inside or (f"({example})" if example else "")
        k = cut["k"].strip("k").lstrip("0") if cut and metric.takes_k else ""
        labels.append(metric.name + arguments + (f"@{k}" if k else ""))
    return labels


def suggest_label(text: str, labels: Collection[str]) -> str:
    """Return a question with the most similar labels, or all known labels."""
    label = similar_label(text)
    if label in labels:
        return f"did you mean {label!r}?"
    stem = label.partition("@")[0] if label else None
    same_stem = [each for each in labels if each.partition("@")[0] == stem]
    if len(same_stem) > 1:
        options = sorted(same_stem, key=lambda each: (len(each), each))
        return f"did you mean one of {', '.join(options)}?"
    nearest = same_stem or difflib.get_close_matches(text, sorted(labels), n=1)
    return f"did you mean {nearest[0]!r}?" if nearest else f"known: {', '.join(sorted(labels))}"
