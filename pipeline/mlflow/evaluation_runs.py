"""Content of the runs of an evaluation: one per model, and one of the comparison."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from concord.metrics_core.conventions.values_version import values_version_problem
from concord.metrics_core.errors import refuse
from concord.metrics_core.files import content_id, load_json
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, or_nan
from concord.metrics_core.results.reference import NAMES
from concord.metrics_core.results.stored import DECISION, read_comparison
from concord.pipeline.mlflow.newest import PLACE_TAG, newest_search, shared_view
from concord.pipeline.mlflow.run_content import (
    CONVENTIONS,
    Artifact,
    JsonMapping,
    Point,
    RunContent,
    Standing,
    TrainingRun,
    conventions_text,
    data_files,
    metric_key,
    metric_points,
    stem_at_k,
    tag_key,
)
from concord.pipeline.mlflow.training_runs import TRAINING_RUN, training_run_ids
from concord.pipeline.params.model import Params
from concord.pipeline.params.paths import ModelFiles
from concord.pipeline.params.repository import rerun_command
from concord.pipeline.running.outputs import rerun_fix
from concord.reports.text.display_words import display_words
from concord.reports.text.numbers import (
    confidence_level,
    min_effect_text,
    number,
    signed,
    signed_interval,
    with_details,
)
from concord.reports.text.summary import headline
from concord.reports.text.verdict_styles import phrase

_DIGITS = 4  # of the note's numbers
MAX_NOTE = 7000  # characters; MLflow truncates a tag at 8,000 silently


def _model_note(users: JsonMapping, of_requests: bool) -> str:
    """Return the description of a model's run, without its comparison, which may change."""
    missing = users.get("without_list")
    without = f", {missing:,} of them without a list" if missing else ""
    return (
        f"{users['evaluated']:,} {'requests' if of_requests else 'users'}{without}.\n"
        "How it compares with other models: `report.html` under Artifacts of the run `comparison` "
        "whose id is the tag `concord.comparison`."
    )


def comparison_note(comparison: Comparison) -> str:
    """Return the description of the comparison's run: the decision, and primary verdicts."""
    baseline, lines = comparison.baseline, []
    if comparison.replicates is not None:
        answers = [f"- {answer}" for answer in comparison.replicate_answers]
        lines += ["\nWould it hold if the models were trained again?\n", *answers]
    pairs = [pair for pair in comparison.primary_pairs if pair.vs_baseline]
    for model in dict.fromkeys(pair.a for pair in pairs):
        lines.append(f"\n**{model}** against the baseline **{baseline}**:\n")
        lines += [
            f"- {pair.label}: {phrase(pair.verdict, min_effect_text(comparison, pair.label))}"
            f"{_numbers(pair, comparison.confidence)}"
            for pair in pairs
            if pair.a == model
        ]
    ends = accumulate(len(line) + 1 for line in lines)
    first_lines = [line for line, end in zip(lines, ends, strict=True) if end < MAX_NOTE]
    more = ["\n…"] if len(first_lines) < len(lines) else []
    report = "\nThe comparison of all models: `report.html` under Artifacts."
    text = "\n".join([f"**{headline(comparison)}**", *first_lines, *more, report])
    return display_words(comparison).show(text)


def _numbers(pair: Difference, confidence: float) -> str:
    """Return means, difference and interval as text; empty if they are unknown."""
    if pair.difference is None:
        return ""
    a, b = (number(mean, _DIGITS) for mean in (pair.mean_a, pair.mean_b))
    interval = signed_interval(pair.ci_low, pair.ci_high, _DIGITS)
    return f"; {a} against {b}, difference " + with_details(
        signed(pair.difference, _DIGITS),
        f"{confidence_level(confidence)} interval {interval}" if interval else "",
    )


INPUTS = "inputs.json"  # artifact of a model's run
COMPARISON = "comparison"  # name of the run of all models


def model_run(
    params: Params, model: str, quality: Mapping[str, Any], training_run: str | None
) -> RunContent:
    """Return the run of a model, from its results on disk.

    Parameters
    ----------
    params : Params
        Content of params.yaml.
    model : str
        Name of the model.
    quality : mapping
        Data quality of the lists of each model and of the ground truth.
    training_run : str or None
        Id of the run that trained the model.

    Raises
    ------
    InputError
        If a result is missing, or has values of another version.
    """
    files = ModelFiles.of_model(params.results, model)
    summary = load_json(files.summary, rerun_fix())
    if problem := values_version_problem(summary["values_version"], rerun_fix()):
        raise refuse(str(files.summary), *problem)
    means = {parse(label): value for label, value in load_json(files.metrics, rerun_fix()).items()}
    points = metric_points(means, summary["metrics"], params.primary)
    attach = "metrics" if params.mlflow.attach == "metrics" else "child"  # the same for `both`
    conventions = summary["conventions"]
    texts = {} if params.has_values else {CONVENTIONS: conventions_text(conventions)}
    return RunContent(
        name=model,
        points=tuple(point for point in points if math.isfinite(point.value)),
        params=_params(params, model),
        tags={
            "concord.kind": "model",
            "concord.conventions": summary["fingerprint"],
            "concord.version": summary["versions"]["concord-eval"],
            **({TRAINING_RUN: training_run} if training_run else {}),
            "mlflow.note.content": _model_note(summary["users"], "unit_mean" in conventions),
        },
        datasets=data_files(summary["inputs"], quality, model),
        artifacts=(Artifact(files.metrics, "metrics"),),
        texts=texts | {INPUTS: _inputs_text(summary["inputs"])},
        training=TrainingRun(training_run, attach) if training_run else None,
    )


def _params(params: Params, model: str) -> dict[str, str]:
    path, shared = params.models[model].path, _comparison_params(params)
    if params.has_values:
        return {"model": model, "values": path, "metrics": ", ".join(params.metrics), **shared}
    return {
        "model": model,
        "lists": path,
        "truth": params.data.truth.path,
        "metrics": ", ".join(params.evaluation.metrics),
        "ks": ", ".join(str(k) for k in sorted(params.evaluation.ks)),
        "preset": params.parsed_conventions.preset,
        **shared,
    }


def _comparison_params(params: Params) -> dict[str, str]:
    return {
        "primary": ", ".join(params.primary),
        "confidence": str(params.comparison.confidence),
    }


def _inputs_text(inputs: Mapping[str, JsonMapping]) -> str:
    """Return path and SHA-256 (or the ETag of an object store) of each input as JSON."""
    hashes = {
        name: {
            "path": source["path"],
            "sha256" if source["sha256"] else "etag": str(content_id(source)),
        }
        for name, source in inputs.items()
    }
    return json.dumps(hashes, indent=2, ensure_ascii=False) + "\n"


def model_standing(
    comparison: Comparison, lists: str, artifacts: tuple[Artifact, ...] = ()
) -> Standing:
    """Return how the model of these lists compares; replicates have the standing of their model."""
    points, tags = {}, {}
    model = comparison.lists[lists]
    for text in comparison.primary:
        label, pair = parse(text), comparison.difference(model, comparison.baseline, text)
        stem = stem_at_k(label)
        points[f"difference/{stem}"], points[f"p_adjusted/{stem}"] = _difference_and_p(pair)
        tags[tag_key("verdict", label)] = _verdict(comparison, model, pair)
    rank = comparison.ranked.index(model) + 1
    tags |= {
        "concord.baseline": comparison.baseline,
        PLACE_TAG: f"{rank} of {len(comparison.models)}",
        **({} if model == lists else {"concord.replicate_of": model}),
    }
    return Standing(points, tags, artifacts)


def leaders(comparison: Comparison) -> tuple[list[Point], dict[str, str]]:
    """Return points and tags of the best model on each primary metric, under keys of their own.

    It is the first model if several are the best, or if none has a mean.
    """
    points, tags = [], {}
    for text in comparison.primary:
        label = parse(text)
        leader = next(iter(comparison.leaders(text)), comparison.models[0])
        pair = comparison.difference(leader, comparison.baseline, text)
        difference, p_adjusted = _difference_and_p(pair)
        mean = or_nan(comparison.score(leader, text).mean)
        values = {"": mean, "difference_": difference, "p_adjusted_": p_adjusted}
        tags[tag_key("leader", label)] = leader
        tags[tag_key("verdict", label)] = _verdict(comparison, leader, pair)
        if replicated := comparison.retrained(leader, comparison.baseline, text):
            values["trained_low_"] = or_nan(replicated.ci_low)
            values["trained_high_"] = or_nan(replicated.ci_high)
            tags[tag_key("trained_verdict", label)] = replicated.verdict
        stem = stem_at_k(label)
        points += [Point(f"leader/{part}{stem}", value, 0) for part, value in values.items()]
    return points, tags


def reference_points(comparison: Comparison) -> Iterator[Point]:
    """Yield chance, most popular and best possible of the primary metrics; not all are known."""
    for text in comparison.primary:
        reference = comparison.references and comparison.references.of(text)
        for kind in NAMES:
            value = or_nan(getattr(reference, kind, None))
            yield Point(f"reference/{kind}/{stem_at_k(parse(text))}", value, 0)


def _verdict(comparison: Comparison, model: str, pair: Difference | None) -> str:
    if model == comparison.baseline:
        return "baseline"
    return pair.verdict if pair else "not_compared"


def _difference_and_p(pair: Difference | None) -> tuple[float, float]:
    """Return the difference and the adjusted p-value; NaN if there is none."""
    if pair is None:
        return math.nan, math.nan
    return or_nan(pair.difference), or_nan(pair.p_adjusted)


class EvaluationRuns(NamedTuple):
    """Content of the runs of an evaluation.

    Attributes
    ----------
    models : tuple of RunContent
        Runs of the models, in the order of params.yaml.
    comparison : RunContent
        Run of the comparison.
    standings : mapping
        Model -> how it compares.
    ranked : tuple of str
        Models, the best first.
    view : str
        State of MLflow's table and charts that shows the primary metrics.
    on_training : frozenset of str
        Metrics that are also logged on the training runs above the runs of models.
    """

    models: tuple[RunContent, ...]
    comparison: RunContent
    standings: Mapping[str, Standing]
    ranked: tuple[str, ...]
    view: str
    on_training: frozenset[str]

    @property
    def fingerprints(self) -> dict[str, str]:
        """Model -> fingerprint of its run."""
        return {content.name: content.fingerprint for content in self.models}


def evaluation_runs(params: Params) -> EvaluationRuns:
    """Return the content of all runs, from the results on disk.

    Raises
    ------
    InputError
        If a result is missing, or a file with the id of a training run.
    """
    file = Path(params.results.comparison) / "comparison.json"
    comparison = read_comparison(file, rerun_fix())
    run_ids = training_run_ids(params)
    models = tuple(
        model_run(params, model, comparison.quality, run_ids.get(model)) for model in params.models
    )
    page = Path(params.results.report)
    report = (Artifact(page / "report.html", ""), Artifact(page / "report.md", ""))
    decision = Artifact(file.with_name(DECISION), "")
    for result_file, _ in (*report, decision):
        if not result_file.is_file():
            fix = f"run `{rerun_command()}`, which writes it"
            raise refuse(str(result_file), "there is no such file", fix)
    standings = {
        name: model_standing(comparison, name, report if name in run_ids else ())
        for name in params.models
    }
    fingerprints = " ".join(content.fingerprint for content in models)
    points, tags = leaders(comparison)
    points += reference_points(comparison)
    run = RunContent(
        name=COMPARISON,
        points=tuple(point for point in points if math.isfinite(point.value)),
        params={
            "models": ", ".join(params.models),
            "baseline": params.comparison.baseline,
            **_comparison_params(params),
            "preset": params.parsed_conventions.preset,
        },
        tags={
            "concord.kind": "comparison",
            "concord.models": hashlib.sha256(fingerprints.encode()).hexdigest(),
            **tags,
            "mlflow.note.content": comparison_note(comparison),
        },
        datasets=(),
        artifacts=(*report, Artifact(file, ""), decision),
    )
    ranked = tuple(comparison.ranked_lists)
    view = shared_view(comparison, newest_search(params.mlflow.experiment))
    is_both = params.mlflow.attach == "both"
    keys = frozenset(metric_key(parse(text)) for text in comparison.primary if is_both)
    return EvaluationRuns(models, run, standings, ranked, view, keys)
