"""The catalogue: one row a metric, in report order, and the grammar of labels such as `RBP(p=0.8)@20`."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from concord.metrics_core.conventions.conventions import ANY_CUTOFF, Conventions
from concord.metrics_core.conventions.registry import CONVENTION
from concord.metrics_core.conventions.validation import nearest
from concord.metrics_core.metrics import accuracy, agreement, beyond, exposure, fairness
from concord.metrics_core.metrics.metric import UNBOUNDED, Bounds, Metric
from concord.metrics_core.metrics.own import digests, known_metrics, load, of_file, own_metric
from concord.metrics_core.metrics.spelling import label_meant, metric_meant

_LABEL = re.compile(r"^(?P<name>[A-Za-z0-9]+)(\((?P<args>[^()]*)\))?(@(?P<k>[0-9]+))?$")
_NUMBER = re.compile(r"^[0-9]+(\.[0-9]+)?$")
LONGEST = 100  # characters of a label
MOST_K = 1_000_000  # no list is read further
INFINITE = float("inf")
JUDGED_ONLY = "judged_only"
_EVERYWHERE = ("rel", JUDGED_ONLY)  # the parameters of every metric of lists and truth


def _beyond(name: str, function: Callable[..., Any], source: str, **how: Any) -> Metric:
    return Metric(name, function, source, family="beyond", of_list=True, **how)


CATALOGUE: tuple[Metric, ...] = (
    Metric("P", accuracy.precision, "van Rijsbergen 1979", expects_ties=True),
    Metric("R", accuracy.recall, "van Rijsbergen 1979", expects_ties=True),
    Metric("F1", accuracy.f1, "van Rijsbergen 1979", expects_ties=True),
    Metric("Hit", accuracy.hit, "Deshpande & Karypis 2004", expects_ties=True),
    Metric("AP", accuracy.average_precision, "Buckley & Voorhees 2000", expects_ties=True),
    Metric(
        "RR",
        accuracy.reciprocal_rank,
        "Kantor & Voorhees 2000",
        expects_ties=True,
        counts_copies=False,
    ),
    Metric(
        "CG",
        accuracy.cumulated_gain,
        "Järvelin & Kekäläinen 2000",
        high=INFINITE,
        expects_ties=True,
    ),
    Metric("DCG", accuracy.dcg, "Järvelin & Kekäläinen 2002", high=INFINITE, expects_ties=True),
    Metric("nDCG", accuracy.ndcg, "Järvelin & Kekäläinen 2002", expects_ties=True),
    Metric(
        "Rprec", accuracy.r_precision, "Buckley & Voorhees 2000", takes_k=False, expects_ties=True
    ),
    Metric(
        "RBP",
        accuracy.rank_biased_precision,
        "Moffat & Zobel 2008",
        takes=(("p", 0.0, 1.0),),
        expects_ties=True,
    ),
    Metric("ERR", accuracy.expected_reciprocal_rank, "Chapelle et al. 2009"),
    Metric(
        "Bpref", agreement.bpref, "Buckley & Voorhees 2004", reads_judged=True, counts_copies=False
    ),
    Metric(
        "HLU",
        agreement.half_life_utility,
        "Breese et al. 1998",
        takes=(("halflife", 1.0, INFINITE),),
        reads_judged=True,
        counts_copies=False,
    ),
    Metric("AUC", agreement.auc, "Hanley & McNeil 1982", reads_judged=True, counts_copies=False),
    Metric(
        "Judged",
        agreement.judged_share,
        "MacAvaney et al. 2022",
        reads_judged=True,
        counts_copies=False,
    ),
    *(
        Metric(
            name,
            function,
            source,
            family="agreement",
            low=low,
            reads_judged=True,
            of_list=True,
            counts_copies=False,
        )
        for name, function, source, low in (
            ("Spearman", agreement.spearman, "Spearman 1904", -1.0),
            ("Kendall", agreement.kendall, "Kendall 1945", -1.0),
            ("FCP", agreement.concordant_pairs, "Koren & Sill 2011", 0.0),
        )
    ),
    _beyond(
        "Coverage",
        exposure.coverage,
        "Ge et al. 2010",
        of_catalogue=True,
        counts_copies=False,
    ),
    _beyond("UserCoverage", beyond.user_coverage, "Shani & Gunawardana 2011"),
    _beyond("Novelty", beyond.novelty, "Zhou et al. 2010", needs=("train",), high=INFINITE),
    _beyond(
        "ARP",
        beyond.average_popularity,
        "Yin et al. 2012",
        needs=("train",),
        high=INFINITE,
        higher_is_better=False,
    ),
    _beyond("LongTail", beyond.long_tail, "Abdollahpouri et al. 2017", needs=("train",)),
    _beyond(
        "Gini",
        exposure.gini,
        "Fleder & Hosanagar 2009",
        of_catalogue=True,
        counts_copies=False,
        higher_is_better=False,
    ),
    _beyond(
        "Entropy",
        exposure.entropy,
        "Shannon 1948",
        of_catalogue=True,
        high=INFINITE,
        counts_copies=False,
    ),
    _beyond(
        "ILD",
        beyond.intra_list_diversity,
        "Ziegler et al. 2005",
        needs=("features",),
        high=INFINITE,
    ),
    _beyond(
        "Serendipity",
        beyond.serendipity,
        "Murakami et al. 2008",
        needs=("train",),
        reads_relevant=True,
    ),
    _beyond(
        "Personalization",
        exposure.personalization,
        "Zhou et al. 2010",
        of_catalogue=True,
        counts_copies=False,
        needs=("k",),
    ),
    _beyond(
        "Calibration",
        beyond.calibration,
        "Steck 2018",
        needs=("train", "features"),
        high=INFINITE,
        higher_is_better=False,
    ),
    _beyond(
        "PopCorr",
        beyond.popularity_correlation,
        "Zhu et al. 2021",
        needs=("train",),
        low=-1.0,
        higher_is_better=False,
    ),
    _beyond(
        "AWRF",
        fairness.attention_fairness,
        "Sapiezynski et al. 2019",
        needs=("groups",),
        reads_relevant=True,
    ),
    *(
        _beyond(
            name,
            function,
            "Diaz et al. 2020",
            needs=("groups", "k"),
            reads_relevant=True,
            high=high,
            higher_is_better=name == "EER",
        )
        for name, function, high in (
            ("EED", fairness.disparity, 1.0),
            ("EER", fairness.relevance, 1.0),
            ("EEL", fairness.loss, 2.0),
        )
    ),
)

METRIC: Mapping[str, Metric] = {metric.name: metric for metric in CATALOGUE}


@dataclass(frozen=True)
class Label:
    """A metric with its parameters and cutoff, as it is written: `AP(rel=2)@100`."""

    metric: Metric
    k: int | None
    arguments: tuple[tuple[str, float], ...]

    @property
    def name(self) -> str:
        """The metric's name, without parameters and cutoff."""
        return self.metric.name

    @property
    def stem(self) -> str:
        """The label without its cutoff: what a curve over k belongs to."""
        inside = ",".join(f"{name}={_argument(name, value)}" for name, value in self.arguments)
        return f"{self.name}({inside})" if inside else self.name

    def __str__(self) -> str:
        return self.stem if self.k is None else f"{self.stem}@{self.k}"

    def at(self, k: int) -> "Label":
        """The same label at cutoff k."""
        return Label(self.metric, k, self.arguments)

    @property
    def override_key(self) -> str:
        """What `overrides` may call this label, beside the metric's name."""
        return self.name if self.k is None else self.name + ANY_CUTOFF

    def conventions(self, pinned: Conventions) -> Conventions:
        """The conventions of this label, without overrides; `rel` in the label is its relevance threshold."""
        own = pinned.of(self.override_key)
        rel = dict(self.arguments).get("rel")
        return own if rel is None else replace(own, relevance_threshold=rel)

    def bounds(self, pinned: Conventions) -> Bounds:
        """The lowest and the highest value; none where relevant items count by inverse propensities."""
        is_weighed = pinned.propensity is not None and self.metric.family == "accuracy"
        return UNBOUNDED if is_weighed else self.metric.range

    def ranking_number(self, pinned: Conventions) -> int:
        """Which of the rankings this label reads."""
        return pinned.rankings.index(self.conventions(pinned).ranking)

    @property
    def parameters(self) -> dict[str, float]:
        """What the metric's function is given beside its conventions."""
        return {name: value for name, value in self.arguments if name not in _EVERYWHERE}

    @property
    def judged_only(self) -> bool:
        """Are the lists closed up to their judged items first?"""
        return JUDGED_ONLY in dict(self.arguments)


def _argument(name: str, value: float) -> str:
    return "true" if name == JUDGED_ONLY else f"{value:.15g}"


def parse(text: str, *, cut_later: bool = False) -> Label:
    """The label that a text such as `nDCG@10` or `RBP(p=0.8)@20` stands for; `cut_later`: cutoffs are to follow.

    Raises
    ------
    ValueError : unknown metric or parameter, a parameter missing or out of range, a cutoff where none is taken
    """
    if not isinstance(text, str):
        msg = f"metric {text!r}: is no text such as 'nDCG@10'"
        raise ValueError(msg)  # noqa: TRY004 - as all that is wrong with a label
    if len(text) > LONGEST:
        msg = f"metric {text[:40]!r}…: is longer than {LONGEST} characters"
        raise ValueError(msg)
    if (named := of_file(text)) is not None:
        return _of_file(*named, cut_later=cut_later)
    match = _LABEL.match(text.replace(" ", ""))
    if match is None:
        hint = f"; {meant}" if (meant := _meant(text)) else ", such as nDCG@10 or RBP(p=0.8)@20"
        msg = f"metric {text!r}: write it as name, parameters, cutoff{hint}"
        raise ValueError(msg)
    metric = METRIC.get(match["name"]) or own_metric(match["name"])
    if metric is None:
        hint = _meant(text) or f"known: {', '.join(METRIC)}"
        msg = f"metric {text!r}: {match['name']!r} is not in the catalogue; {hint}"
        raise ValueError(msg)
    k = None if match["k"] is None else int(match["k"])
    if why := _wrong_cutoff(metric, k):
        msg = f"metric {text!r}: {why}"
        raise ValueError(msg)
    if k is None and "k" in metric.needs and not cut_later:
        msg = f"metric {text!r}: {metric.name} needs a cutoff, such as {metric.name}@10"
        raise ValueError(msg)
    return Label(metric, k, _arguments(text, metric, match["args"] or ""))


def _of_file(file: Path, text: str, *, cut_later: bool) -> Label:
    """The label of a metric that a file holds: `./my_metrics.py:revenue@10`."""
    names = load(file)
    if name_in(text) not in names:
        msg = f"metric {text!r}: {file} has no such metric; it has {', '.join(names)}"
        raise ValueError(msg)
    return parse(text, cut_later=cut_later)


def name_in(text: str) -> str:
    """The name of the metric in a label, whether there is such a metric or not."""
    return re.split(r"[(@]", text.strip())[0].rpartition(":")[2]


def with_own(pinned: Conventions, names: Iterable[str]) -> Conventions:
    """The conventions, which say by which code one's own metrics among the names are computed."""
    own = digests({*names} - {*METRIC})
    return replace(pinned, own_metrics=own) if own else pinned


def _meant(text: str) -> str:
    """A hint that names the label that is meant; empty where none is."""
    meant = label_meant(text)
    if meant is None:
        return ""
    try:
        parse(meant, cut_later=True)
    except ValueError:
        meant = re.sub(r"\(.*\)", "", meant)  # what is in the brackets is meant for another metric
    return f"did you mean {meant!r}?"


def _wrong_cutoff(metric: Metric, k: int | None) -> str:
    if k is None:
        return ""
    if not metric.takes_k:
        return f"{metric.name} takes no cutoff"
    if k == 0:
        return "cutoffs start at 1"
    return f"cutoffs go up to {MOST_K:,}; without one the whole list counts" if k > MOST_K else ""


def spelled(text: str) -> str:
    """A label as results spell it: `RBP(p=0.80) @10` is `RBP(p=0.8)@10`; what is no label stays as it is."""
    try:
        return str(parse(text))
    except ValueError:
        return text


def of_lists_and_truth(text: str, *, asks: str, beside: Container[str] = ()) -> Label:
    """`parse` for `asks`, which is told of metrics that read nothing but lists and truth, and of those named `beside`.

    Raises
    ------
    ValueError : as `parse`, or a metric that reads more
    """
    label = parse(text)
    if label.metric.family == "beyond" and label.name not in beside:
        reads = ", ".join(label.metric.needs) or "all lists"
        msg = f"{label}: {asks} covers metrics of lists and truth; {label.name} reads {reads}"
        raise ValueError(msg)
    return label


def expand(metrics: Iterable[str], ks: Iterable[int]) -> list[Label]:
    """Every metric at every cutoff; a metric that takes none, or names its own, stands once.

    Raises
    ------
    ValueError : as `parse`, for all of them at once; or a label that would stand twice
    """
    cutoffs = sorted(ks)
    labels: list[Label] = []
    wrong: list[str] = []
    for text in metrics:
        try:
            label = parse(text, cut_later=True)
        except ValueError as error:
            wrong.append(str(error))
            continue
        fixed = label.k is not None or not label.metric.takes_k
        labels += [label] if fixed else [label.at(k) for k in cutoffs]
    twice = [str(label) for label, n in Counter(labels).items() if n > 1]
    if twice:
        wrong.append(
            f"metrics: {', '.join(sorted(twice))} is named more than once; name each metric once"
        )
    if wrong:
        raise ValueError("\n".join(wrong))
    return labels


def changed_by(convention: str) -> list[str]:
    """Return the metrics whose values a convention can change."""
    return [m.name for m in (*CATALOGUE, *known_metrics()) if depends_on(m, convention)]


def depends_on(metric: Metric, convention: str) -> bool:
    """True if a convention can change the values of a metric."""
    scope = CONVENTION[convention].metrics
    if isinstance(scope, tuple):
        return metric.name in scope
    return convention in metric.conventions or metric.is_in_scope(scope)


def idle_overrides(conventions: Conventions) -> list[tuple[str, str, str]]:
    """Overrides that nothing honours, as (key, what, fix): of unknown metrics, or of conventions that do not concern them."""
    problems = []
    own = filter(
        None,
        map(own_metric, {key.partition("@")[0] for key in conventions.overrides} - METRIC.keys()),
    )
    known = {key: metric.name for metric in (*CATALOGUE, *own) for key in override_keys(metric)}
    for key, changed in conventions.overrides.items():
        where = f"overrides.{key}"
        if key not in known:
            cut = ANY_CUTOFF if key.casefold().endswith(ANY_CUTOFF) else ""
            meant = metric_meant(key.removesuffix(cut))
            meant = f"{meant}{cut}" if f"{meant}{cut}" in known else meant
            fix = f"did you mean {meant!r}?" if meant else nearest(key, set(known))
            problems.append((where, f"{key!r} is no metric", fix))
            continue
        metric = known[key]
        for name in changed:
            if metric not in changed_by(name):
                fix = f"remove it; {name} concerns {', '.join(changed_by(name))}"
                problems.append((f"{where}.{name}", f"does not change {metric}", fix))
    return problems


def override_keys(metric: Metric) -> list[str]:
    """What `overrides` may call the labels of a metric: `RR`, and `RR@k` for those with a cutoff."""
    return [metric.name, metric.name + ANY_CUTOFF] if metric.takes_k else [metric.name]


def is_pooled(label: Label, conventions: Conventions) -> bool:
    """Is the mean pooled over users, so that it is no mean of the users' values?"""
    own = label.conventions(conventions)
    return (label.name == "P" and own.precision_aggregate == "micro") or (
        label.name == "F1" and own.f1_aggregate == "of_means"
    )


def _arguments(text: str, metric: Metric, inside: str) -> tuple[tuple[str, float], ...]:
    found: dict[str, float] = {}
    everywhere = {"rel"} if metric.family == "beyond" else _EVERYWHERE  # those read whole lists
    allowed = {*everywhere, *metric.parameters}
    for part in filter(None, inside.split(",")):
        name, _, value = part.partition("=")
        number = "1" if name == JUDGED_ONLY and value.lower() == "true" else value
        said = name == JUDGED_ONLY and number is value
        if name not in allowed or name in found or said or not _NUMBER.match(number):
            msg = f"metric {text!r}: {part!r} is no parameter of {metric.name}; it takes {', '.join(sorted(allowed))}"
            raise ValueError(msg)
        found[name] = float(number)
    for name, low, high in metric.takes:
        if not low < found.get(name, low) < high:
            example = f"{metric.name}({name}={0.8 if high <= 1 else 5})"
            msg = f"metric {text!r}: needs {name} between {low:g} and {high:g}, such as {example}"
            raise ValueError(msg)
    return tuple(sorted(found.items()))
