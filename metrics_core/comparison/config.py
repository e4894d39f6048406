"""The configuration of a comparison, and what is wrong with one."""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from concord.metrics_core.comparison.segmentation import Segmentation
from concord.metrics_core.conventions.convention import is_number, shown
from concord.metrics_core.errors import SettingNames
from concord.metrics_core.evaluation.config import EvaluationConfig
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.label import Label, canonical_label, did_you_mean, parse
from concord.metrics_core.results.gate import Gate

Effect = float | str
Effects = Effect | Mapping[str, Effect]
Adjustment = Literal["holm", "max_t"]
Finding = tuple[str, str, str]  # which choice, what is wrong, what to do

DEFAULT = "default"  # of min_effect, for the labels that it does not name
PERCENT = re.compile(r"^[0-9]{1,4}(\.[0-9]{1,15})?%$")
MOST_EFFECT, MOST_PERCENT = 1e9, 1000  # a difference that matters
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.9999
FEWEST_RESAMPLES, MOST_RESAMPLES = 99, 1_000_000
MOST_SEED = 2**63 - 1
MAX_MISSING_LISTS = 0.5  # share of the evaluated users
# Names that no model may have: those of tables, and none.
TAKEN = frozenset({"", "truth", "train", "items", "users", "metrics"})


@dataclass(frozen=True)
class ComparisonConfig(EvaluationConfig):
    """What a comparison computes, by which conventions and rules; validated.

    Attributes
    ----------
    labels : list of Label
        In report order.
    min_effects : dict
        Label -> minimum relevant difference: a number, or a share of the baseline's mean ("2%").
    adjustment : {"holm", "max_t"}
        Of the p-values of primary labels.
    resamples : int
        Of bootstrap, sign flips and list swaps, which start at `seed`.
    panel : bool
        True to compute the primary labels under the definitions of all presets too.
    replicates : dict
        Model -> number of the replicate -> name of its lists.
    paired_replicates : bool
        True if the same number is the same seed or fold in all models.
    max_missing_lists : float
        Share of the evaluated users without a list, above which a model is not compared.
    """

    title: str
    min_effects: dict[str, Effect]
    baseline: str
    confidence: float
    adjustment: Adjustment
    wilcoxon: bool
    resamples: int
    seed: int
    panel: bool
    segments: Mapping[str, Segmentation] = field(default_factory=dict)
    gate: Gate | None = None
    replicates: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    paired_replicates: bool = False
    max_missing_lists: float = MAX_MISSING_LISTS

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return 1 - self.confidence

    def without(self, labels: Container[str]) -> "ComparisonConfig":
        """Return the same without some labels."""
        kept = [label for label in self.labels if str(label) not in labels]
        return replace(self, labels=kept, primary=[x for x in self.primary if x not in labels])


def in_report_order(labels: Sequence[Label]) -> list[Label]:
    """As the catalogue has their metrics, then one's own; those with other parameters as they are given, cutoffs ascending."""
    order, stems = [metric.name for metric in CATALOGUE], [label.stem for label in labels]
    order += [label.name for label in labels if label.name not in order]
    return sorted(
        labels, key=lambda x: (order.index(x.name), stems.index(x.stem), x.k is not None, x.k or 0)
    )


def effects_of(effects: Effects, labels: Collection[str]) -> dict[str, Effect]:
    """The effect of every label."""
    if not isinstance(effects, Mapping):
        return dict.fromkeys(labels, _as_number(effects))
    named = {canonical_label(text): _as_number(effect) for text, effect in effects.items()}
    return {label: named[label] if label in named else named[DEFAULT] for label in labels}


def _as_number(effect: Effect) -> Effect:
    return effect if isinstance(effect, str) else float(effect)


def absolute(effect: Effect, baseline_mean: float) -> float:
    """The smallest difference that matters, as a number."""
    if isinstance(effect, str):
        return float(effect.removesuffix("%")) / 100 * abs(baseline_mean)
    return float(effect)


def wrong_effect(effect: Any) -> str | None:
    """Why a value is no effect; None where it is one."""
    share = isinstance(effect, str) and PERCENT.fullmatch(effect)
    if share and float(effect[:-1]) <= MOST_PERCENT:
        return None
    if share or not is_number(effect) or not 0 <= effect <= MOST_EFFECT:
        return (
            f"{shown(effect)} is no effect: write a number such as 0.005, or a share of the baseline such as 2%; "
            f"at most {MOST_EFFECT:,.0f} or {MOST_PERCENT}%"
        )
    return None


def model_findings(models: Any) -> Iterator[Finding]:
    """Models that are none, and names that tables have."""
    if not isinstance(models, Mapping) or not models:
        yield "models", "is no dict of models", "write {'als': lists, 'ease': lists}"
        return
    for name in models:
        if not isinstance(name, str) or not name.isprintable() or name.strip().lower() in TAKEN:
            fix = f"write a text that can be printed, other than {', '.join(map(repr, sorted(TAKEN - {''})))}"
            yield "models", f"{shown(name)} is no name of a model", fix


def label_findings(labels: Sequence[str], primary: Any) -> Iterator[Finding]:
    """Labels that stand twice, and primary labels that are no list."""
    for label, times in Counter(labels).items():
        if times > 1:
            yield "metrics", f"{label} is named more than once", "name each metric once"
    texts = isinstance(primary, Sequence) and all(isinstance(text, str) for text in primary)
    if isinstance(primary, str) or not texts or not primary:
        yield "primary", f"{shown(primary)} is no list of labels", "write ['nDCG@10']"


def effect_findings(effects: Any) -> Iterator[Finding]:
    """Effects that are none, and labels that are no text."""
    for text in effects if isinstance(effects, Mapping) else []:
        if not isinstance(text, str):
            yield "min_effect", f"{shown(text)} is no label", "write a label such as 'nDCG@10'"
    for effect in effects.values() if isinstance(effects, Mapping) else [effects]:
        if said := wrong_effect(effect):
            what, _, fix = said.partition(": ")
            yield "min_effect", what, fix


def number_findings(
    *, confidence: Any, resamples: Any, seed: Any, max_missing_lists: Any = MAX_MISSING_LISTS
) -> Iterator[Finding]:
    """Numbers out of their range."""
    if not is_number(max_missing_lists) or not 0 <= max_missing_lists <= 1:
        yield "max_missing_lists", f"is {shown(max_missing_lists)}", "write a share from 0 to 1"
    if not is_number(confidence) or not LEAST_CONFIDENCE < confidence <= MOST_CONFIDENCE:
        fix = f"write a number above {LEAST_CONFIDENCE}, at most {MOST_CONFIDENCE}"
        yield "confidence", f"is {shown(confidence)}", fix
    ranges = {
        "resamples": (resamples, FEWEST_RESAMPLES, MOST_RESAMPLES),
        "seed": (seed, 0, MOST_SEED),
    }
    for name, (value, least, most) in ranges.items():
        if type(value) is not int or not least <= value <= most:
            fix = f"write a whole number from {least:,} to {most:,}"
            yield name, f"is {shown(value)}", fix


def word_findings(*, adjustment: Any, title: Any, **flags: Any) -> Iterator[Finding]:
    """An adjustment that is none, a title that is no text, flags that are neither true nor false."""
    known = get_args(Adjustment)
    if adjustment not in known:
        fix = f"choose {' or '.join(map(repr, known))}"
        yield "adjustment", f"is {shown(adjustment)}", fix
    if not isinstance(title, str):
        yield "title", f"is {shown(title)}", "write a text"
    for name, value in flags.items():
        if not isinstance(value, bool):
            yield name, f"is {shown(value)}", "write True or False"


def baseline_findings(baseline: str, models: Collection[str]) -> Iterator[Finding]:
    """A baseline that is no model."""
    if not isinstance(baseline, str):
        yield "baseline", f"is {shown(baseline)}", "write the name of a model"
    elif baseline not in models:
        near = difflib.get_close_matches(baseline, models, n=1)
        fix = f"did you mean {near[0]!r}?" if near else f"name one of: {', '.join(models)}"
        yield "baseline", f"{baseline!r} is not among the models", fix


def choice_findings(
    primary: Sequence[str], effects: Effects, evaluated: Collection[str], settings: SettingNames
) -> Iterator[Finding]:
    """Primary labels, and those of effects, that are not evaluated or cannot be tested."""
    yield from _primary_findings(primary, evaluated, settings)
    if isinstance(effects, Mapping):
        yield from _effect_findings(effects, evaluated, settings)
    elif isinstance(effects, (int, float)):
        yield from wide_findings(effects, [x for x in primary if canonical_label(x) in evaluated])


def wide_findings(
    effect: float, labels: Sequence[str], key: str = "min_effect"
) -> Iterator[Finding]:
    """A number that no difference reaches: a share without its %."""
    for text in labels:
        low, high = parse(text).metric.range
        if effect >= high - low:
            what = (
                f"is {effect:g}, and no two values of {text} are further apart than {high - low:g}"
            )
            yield (
                key,
                what,
                f"write {effect:g}% for a share of the baseline, or a smaller number",
            )
            return


def _primary_findings(
    primary: Sequence[str], evaluated: Collection[str], settings: SettingNames
) -> Iterator[Finding]:
    named = [canonical_label(text) for text in primary]
    for label in dict.fromkeys(named):
        if label not in evaluated:
            yield _not_evaluated("primary", label, evaluated, settings)
        elif parse(label).metric.of_catalogue:
            what = f"{label} is one number over all users, so there is nothing to test"
            yield "primary", what, "name a metric that has a value for each user"
        if named.count(label) > 1:
            yield "primary", f"names {label} more than once", "name each label once"


def _effect_findings(
    effects: Mapping[str, Effect], evaluated: Collection[str], settings: SettingNames
) -> Iterator[Finding]:
    named = {canonical_label(text) for text in effects if text != DEFAULT}
    for label in sorted(named - set(evaluated)):
        yield _not_evaluated("min_effect", label, evaluated, settings)
    missing = sorted(set(evaluated) - named)
    if missing and DEFAULT not in effects:
        what = f"says nothing for {missing[0]}" + (
            f" and {len(missing) - 1} more labels" * (len(missing) > 1)
        )
        yield "min_effect", what, f"add `{DEFAULT}:` for the labels that it does not name"


def _not_evaluated(
    key: str, label: str, evaluated: Collection[str], settings: SettingNames
) -> Finding:
    fix = f"{did_you_mean(label, evaluated)} (or add it to {settings.metrics})"
    return key, f"{label!r} is not evaluated", fix
