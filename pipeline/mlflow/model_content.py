"""What the run of one model holds, and how the model compares with others."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from concord.metrics_core.files import content_id, load_json
from concord.metrics_core.metrics.label import Label, canonical_label, parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, or_nan
from concord.pipeline.mlflow.run_content import (
    Artifact,
    Json,
    Point,
    RunContent,
    Training,
    curve_key,
    data_files,
    difference_key,
    fingerprint_of,
    hashes,
    interval_key,
    leader_key,
    metric_key,
    p_key,
    tag_key,
)
from concord.pipeline.params.model import Params
from concord.pipeline.running.outputs import RERUN_FIX

JsonMapping = Mapping[str, Any]
_ROOM = 7000  # characters; MLflow cuts a tag at 8,000 without a word


def model_note(users: JsonMapping, *, of_requests: bool = False) -> str:
    """What concerns one model alone: a run outlives the comparison that it was first part of."""
    return (
        f"{_who(users, of_requests=of_requests)}\nHow it compares with other models: `report.html` under Artifacts of the run `comparison` "
        "whose id is the tag `concord.comparison`."
    )


def comparison_note(comparison: Comparison) -> str:
    """The verdicts on the primary metrics, model by model, and where the rest is."""
    baseline = comparison.baseline
    lines = _retrained(comparison) + [
        line
        for model in _in_order(comparison)
        for line in (
            f"\n**{model}** against the baseline **{baseline}**:\n",
            *_verdicts(model, comparison),
        )
    ]
    ends = accumulate(len(line) + 1 for line in lines)
    shown = [line for line, end in zip(lines, ends, strict=True) if end < _ROOM]
    more = ["\n…"] if len(shown) < len(lines) else []
    where = "\nThe comparison of all models: `report.html` under Artifacts."
    return "\n".join([f"**{baseline}** is the baseline.", *shown, *more, where])


def _retrained(comparison: Comparison) -> list[str]:
    """Would it hold if the models were trained again? Nothing where each was trained once."""
    if comparison.replicates is None:
        return []
    answers = [f"- {answer}" for answer in comparison.replicate_answers]
    return ["\nWould it hold if the models were trained again?\n", *answers]


def _in_order(comparison: Comparison) -> list[str]:
    return list(dict.fromkeys(p.a for p in comparison.primary_pairs if p.vs_baseline))


def _verdicts(model: str, comparison: Comparison) -> Iterator[str]:
    for pair in comparison.primary_pairs:
        if pair.a == model and pair.vs_baseline:
            verdict = pair.verdict.replace("_", " ")
            yield f"- {pair.label}: {verdict}{_numbers(pair, comparison.confidence)}"


def _numbers(pair: Difference, confidence: float) -> str:
    """Empty where the comparison gives no number, for example with too few users."""
    if pair.difference is None:
        return ""
    text = f"; {pair.mean_a:.4f} against {pair.mean_b:.4f}, difference {pair.difference:+.4f}"
    if pair.ci_low is None or pair.ci_high is None:
        return text
    return f"{text} ({100 * confidence:g} % interval {pair.ci_low:+.4f} to {pair.ci_high:+.4f})"


def _who(users: JsonMapping, *, of_requests: bool) -> str:
    without = users["without_list"]
    missing = f", {without:,} of them without a list" if without else ""
    return f"{users['evaluated']:,} {'requests' if of_requests else 'users'}{missing}."


CONVENTIONS = "conventions.yaml"
TRAINING_RUN = "concord.training_run"  # tag: the id of the run that trained the model


def model_content(
    params: Params, model: str, quality: Mapping[str, Any], training_run: str | None
) -> RunContent:
    """The run of a model, from its own results on disk.

    Parameters
    ----------
    quality      : what was found in the tables of all models and of the truth
    training_run : the id of the run that trained the model

    Raises
    ------
    InputError : a result is missing
    """
    metrics_file = Path(params.results.metrics) / f"{model}.json"
    summary = load_json(Path(params.results.summary) / f"{model}.json", RERUN_FIX)
    means = {parse(label): value for label, value in load_json(metrics_file, RERUN_FIX).items()}
    primary = [canonical_label(label) for label in params.comparison.primary]
    points = [*_scalars(means), *_curves(means), *_intervals(summary["metrics"], primary)]
    return RunContent(
        name=model,
        points=tuple(point for point in points if math.isfinite(point.value)),
        params=_params(params, model),
        tags={
            "concord.kind": "model",
            **_tags(summary),
            **({TRAINING_RUN: training_run} if training_run else {}),
            "mlflow.note.content": model_note(
                summary["users"], of_requests="unit_mean" in summary["conventions"]
            ),
        },
        datasets=data_files(summary["inputs"], quality, model),
        artifacts=(Artifact(metrics_file, "metrics"),),
        texts={CONVENTIONS: conventions_text(summary["conventions"])},
        training=Training(training_run, params.mlflow.attach) if training_run else None,
    )


def _scalars(means: Mapping[Label, float | None]) -> Iterator[Point]:
    """At step 0, so that MLflow draws bars."""
    for label, mean in means.items():
        yield Point(metric_key(label), _number(mean), 0)


def _curves(means: Mapping[Label, float | None]) -> Iterator[Point]:
    """With k as the step, so that MLflow draws the models over k; a single cutoff is no curve."""
    with_k = [
        (curve_key(label), mean, label.k) for label, mean in means.items() if label.k is not None
    ]
    keys = [key for key, _, _ in with_k]
    for key, mean, k in with_k:
        if keys.count(key) > 1:
            yield Point(key, _number(mean), k)


def _intervals(metrics: Mapping[str, Json], primary: list[str]) -> Iterator[Point]:
    """For the primary labels only: MLflow draws one chart a name."""
    for text in primary:
        for part in ("ci_low", "ci_high", "n_undefined"):
            yield Point(interval_key(parse(text), part), _number(metrics[text][part]), 0)


def _params(params: Params, model: str) -> dict[str, str]:
    return {
        "model": model,
        "lists": params.models[model].path,
        "truth": params.data.truth.path,
        "metrics": ", ".join(params.evaluation.metrics),
        "ks": ", ".join(str(k) for k in sorted(params.evaluation.ks)),
        "preset": params.pinned.preset,
        "primary": ", ".join(params.comparison.primary),
        "confidence": str(params.comparison.confidence),
    }


def _tags(summary: Json) -> dict[str, str]:
    return {
        "concord.conventions": summary["fingerprint"],
        "concord.version": summary["versions"]["concord-eval"],
        **{
            f"concord.{name}_{'sha256' if source['sha256'] else 'etag'}": str(content_id(source))
            for name, source in summary["inputs"].items()
        },
    }


def conventions_text(pinned: Mapping[str, Any]) -> str:
    """As they stand in params.yaml; JSON is YAML."""
    lines = [f"  {name}: {json.dumps(value, ensure_ascii=False)}" for name, value in pinned.items()]
    return "\n".join(["conventions:", *lines, ""])


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


_BASELINE = "baseline"  # its verdict


@dataclass(frozen=True)
class Standing:
    """Differences to the baseline, adjusted p values and verdicts on the primary metrics.

    points    : key -> value; NaN where the comparison gives no number
    artifacts : the report, where the run is, or lies below, the one that trained the model
    """

    points: Mapping[str, float]
    tags: Mapping[str, str]
    artifacts: tuple[Artifact, ...] = ()

    @cached_property
    def fingerprint(self) -> str:
        points = {key: None if math.isnan(value) else value for key, value in self.points.items()}
        files = hashes(self.artifacts)
        return fingerprint_of({"points": points, "tags": self.tags, "artifacts": files})


def standing(comparison: Comparison, lists: str, artifacts: tuple[Artifact, ...] = ()) -> Standing:
    """Of the model that the lists are of: several trainings stand as one."""
    points, tags = {}, {}
    model = comparison.lists[lists]
    for label, pair in _pairs(comparison, model):
        points[difference_key(label)], points[p_key(label)] = _standing_numbers(pair)
        tags[tag_key("verdict", label)] = _verdict(comparison, model, pair)
    place = comparison.ranked.index(model) + 1
    tags |= {
        "concord.baseline": comparison.baseline,
        "concord.place": f"{place} of {len(comparison.models)}",
        **({} if model == lists else {"concord.replicate_of": model}),
    }
    return Standing(points, tags, artifacts)


def leader_points(comparison: Comparison) -> Iterator[Point]:
    """What the best model of each primary metric reaches; no name of theirs is one of a model's run."""
    for text in comparison.primary:
        label, leader = parse(text), _leader(comparison, text)
        pair = comparison.difference(leader, comparison.baseline, text)
        yield Point(leader_key(label), or_nan(comparison.score(leader, text).mean), 0)
        difference, p_adjusted = _standing_numbers(pair)
        yield Point(leader_key(label, "difference"), difference, 0)
        yield Point(leader_key(label, "p_adjusted"), p_adjusted, 0)
        if trained := comparison.retrained(leader, comparison.baseline, text):
            yield Point(leader_key(label, "trained_low"), or_nan(trained.ci_low), 0)
            yield Point(leader_key(label, "trained_high"), or_nan(trained.ci_high), 0)


def leader_tags(comparison: Comparison) -> dict[str, str]:
    """Who leads on each primary metric, and the verdict on it."""
    tags = {}
    for text in comparison.primary:
        label, leader = parse(text), _leader(comparison, text)
        pair = comparison.difference(leader, comparison.baseline, text)
        tags[tag_key("leader", label)] = leader
        tags[tag_key("verdict", label)] = _verdict(comparison, leader, pair)
        if trained := comparison.retrained(leader, comparison.baseline, text):
            tags[tag_key("trained_verdict", label)] = trained.verdict
    return tags


def _pairs(comparison: Comparison, model: str) -> Iterator[tuple[Label, Difference | None]]:
    for text in comparison.primary:
        yield parse(text), comparison.difference(model, comparison.baseline, text)


def _leader(comparison: Comparison, label: str) -> str:
    """Of models with the same mean the first; of models without one too."""
    return next(iter(comparison.leaders(label)), comparison.models[0])


def _verdict(comparison: Comparison, model: str, pair: Difference | None) -> str:
    if model == comparison.baseline:
        return _BASELINE
    return pair.verdict if pair else "not_compared"


def _standing_numbers(pair: Difference | None) -> tuple[float, float]:
    """Difference and adjusted p value; NaN where there is none."""
    if pair is None:
        return math.nan, math.nan
    return or_nan(pair.difference), or_nan(pair.p_adjusted)
