"""Labels of params.yaml: expanded, and checked."""

import difflib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from concord.metrics_core.comparison.config import choice_findings
from concord.metrics_core.errors import ParamsKeys, refuse
from concord.metrics_core.metrics.label import Label, expand, parse, similar_label
from concord.metrics_core.metrics.own import split_file_label
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.yaml_files import Finding


def labels_of(params: Params) -> list[Label]:
    """The labels that params.yaml asks for, refused with its key."""
    try:
        return expand(params.evaluation.metrics, params.evaluation.ks)
    except ValueError as error:
        raise refuse(f"{PARAMS}: evaluation.metrics", str(error), "mend the label") from None


MOST_LABELS = 1_000  # metrics x cutoffs
_METRICS = ("evaluation", "metrics")
COLUMNS = {  # of background, by what it is
    "train": ("user", "item", "time"),
    "items": ("item", "categories", "vector", "title", "group"),
    "users": ("user",),
    "metrics": (),
}


def label_findings(params: Params) -> list[Finding]:
    """What is wrong with the metrics, and with labels that name what is not evaluated."""
    metrics, ks = params.evaluation.metrics, params.evaluation.ks
    findings = [*_undeclared(params), *metric_findings(metrics), *_cutoff_findings(ks)]
    if not findings:
        findings += _expanded(metrics, ks)
    labels = [*_known(metrics, ks)]
    evaluated = {str(label) for label in labels}
    findings += _column_findings(params, labels)
    comparison = params.comparison
    choices = choice_findings(
        comparison.primary, comparison.min_effect, evaluated, ParamsKeys("comparison")
    )
    return [*findings, *((("comparison", key), what, fix) for key, what, fix in choices)]


def _undeclared(params: Params) -> Iterator[Finding]:
    """Files of metrics that DVC would not see change."""
    for text in params.evaluation.metrics:
        file, declared = split_file_label(text), params.own_metrics
        if file is not None and (declared is None or file[0].resolve() != declared.resolve()):
            what = f"{text!r} names a file that `background.metrics` does not"
            fix = f"write `background: {{metrics: {{path: {file[0]}}}}}`, so that DVC evaluates again when it changes"
            yield _METRICS, what, fix


def _column_findings(params: Params, labels: Sequence[Label]) -> Iterator[Finding]:
    """Names of columns that no table of that kind has, and that no metric reads."""
    for name, file in params.background.items():
        known = list(COLUMNS[name])
        if name == "items":
            known += [each for label in labels for each in label.metric.columns]
            known += ["propensity"] if _propensity_of(params) == "items" else []
        for ours in file.columns:
            if ours not in known:
                near = difflib.get_close_matches(ours, known, n=1)
                meant = f"did you mean {near[0]!r}? Else " if near else ""
                fix = f"{meant}choose one of {', '.join(known)}" if known else "remove it"
                yield ("background", name, "columns", ours), "is a column that nothing reads", fix


def _propensity_of(params: Params) -> str | None:
    """The table whose column `propensity` the conventions name."""
    asked = params.conventions.get("propensity")
    return asked.get("column") if isinstance(asked, dict) else None


def metric_findings(metrics: Sequence[Any]) -> Iterator[Finding]:
    """One finding a metric that is none, with the label that is meant."""
    for text in metrics:
        try:
            parse(text, cut_later=True)
        except ValueError as error:
            yield _METRICS, str(error), "`concord metrics` lists the metrics"


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
        for meant in (text, similar_label(text)):
            with suppress(ValueError):
                yield from expand([meant] if meant else [], set(ks))
                break
