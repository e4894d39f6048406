"""What params.yaml says of metrics, cutoffs, primary labels and effects, label by label; all of it before any file is read."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from metrics_core.metrics.catalogue import Label, expand, parse
from metrics_core.metrics.spelling import did_you_mean, label_meant
from pipeline.params.lines import Finding
from pipeline.params.model import Params

DEFAULT = "default"  # of comparison.min_effect, for the labels that it does not name
MOST_LABELS = 1_000  # metrics x cutoffs
_METRICS = ("evaluation", "metrics")
_PRIMARY = ("comparison", "primary")
_EFFECT = ("comparison", "min_effect")


def spelled(text: str) -> str:
    """A label as results spell it: `RBP(p=0.80) @10` is `RBP(p=0.8)@10`."""
    try:
        return str(parse(text))
    except ValueError:
        return text


def label_findings(params: Params) -> list[Finding]:
    """What is wrong with the metrics, and with labels that name what is not evaluated."""
    metrics, ks = params.evaluation.metrics, params.evaluation.ks
    findings = [*metric_findings(metrics), *_cutoff_findings(ks)]
    if not findings:
        findings += _expanded(metrics, ks)
    evaluated = {str(label) for label in _known(metrics, ks)}
    return [*findings, *choice_findings(params, evaluated)]


def metric_findings(metrics: Sequence[Any]) -> Iterator[Finding]:
    """One finding a metric that is none, with the label that is meant."""
    for text in metrics:
        try:
            parse(text, cut_later=True)
        except ValueError as error:
            yield _METRICS, str(error), "`concord metrics` lists the metrics"


def choice_findings(params: Params, evaluated: set[str]) -> Iterator[Finding]:
    """Primary labels, and those of effects, that are not evaluated or cannot be tested."""
    yield from _primary_findings(params, evaluated)
    yield from _effect_findings(params, evaluated)


def _cutoff_findings(ks: Sequence[int]) -> Iterator[Finding]:
    if len(set(ks)) < len(ks):
        yield ("evaluation", "ks"), f"repeats a cutoff: {ks}", "name each k once"


def _expanded(metrics: Sequence[str], ks: Sequence[int]) -> Iterator[Finding]:
    try:
        labels = expand(metrics, ks)
    except ValueError as error:
        yield _METRICS, str(error), "name each metric once"
        return
    if len(labels) > MOST_LABELS:
        what = f"asks for {len(labels):,} labels, metrics times cutoffs"
        yield _METRICS, what, f"ask for at most {MOST_LABELS:,}"


def _known(metrics: Sequence[str], ks: Sequence[int]) -> Iterator[Label]:
    """The labels that are asked or meant, so that a wrong metric neither hides nor makes another problem."""
    for text in metrics:
        for meant in (text, label_meant(text)):
            with suppress(ValueError):
                yield from expand([meant] if meant else [], set(ks))
                break


def _primary_findings(params: Params, evaluated: set[str]) -> Iterator[Finding]:
    named = [spelled(text) for text in params.comparison.primary]
    for label in dict.fromkeys(named):
        if label not in evaluated:
            yield _not_evaluated(_PRIMARY, label, evaluated)
        elif parse(label).metric.of_catalogue:
            what = f"{label} is one number over all users, so there is nothing to test"
            yield _PRIMARY, what, "name a metric that has a value for each user"
        if named.count(label) > 1:
            yield _PRIMARY, f"names {label} more than once", "name each label once"


def _effect_findings(params: Params, evaluated: set[str]) -> Iterator[Finding]:
    effects = params.comparison.min_effect
    if not isinstance(effects, dict):
        return
    named = {spelled(text) for text in effects if text != DEFAULT}
    for label in sorted(named - evaluated):
        yield _not_evaluated(_EFFECT, label, evaluated)
    missing = sorted(evaluated - named)
    if missing and DEFAULT not in effects:
        what = f"says nothing for {missing[0]}" + (
            f" and {len(missing) - 1} more labels" * (len(missing) > 1)
        )
        yield _EFFECT, what, f"add `{DEFAULT}:` for the labels that it does not name"


def _not_evaluated(keys: tuple[str, str], label: str, evaluated: set[str]) -> Finding:
    fix = f"{did_you_mean(label, evaluated)} (or add it to evaluation.metrics and evaluation.ks)"
    return keys, f"{label!r} is not evaluated", fix
