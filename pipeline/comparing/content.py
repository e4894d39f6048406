"""The parts of comparison.json that are gathered, not computed: quality, conventions, provenance."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metrics_core.conventions.conventions import KNOBS, Conventions
from metrics_core.metrics.catalogue import changed_by
from pipeline.comparing.choices import Choices
from pipeline.comparing.evaluations import Evaluation, read_json
from pipeline.params.model import Params

Json = dict[str, Any]

COVERS = (
    "The intervals say what to expect for other users like these, given these fixed lists; "
    "they do not cover retraining, another split or another time."
)


def quality(params: Params, evaluations: Mapping[str, Evaluation]) -> Json:
    """What was found in every file, and who was evaluated."""
    of_models = {
        model: {**e.quality, "users": e.summary["users"], "judged_share": e.summary["judged_share"]}
        for model, e in evaluations.items()
    }
    return {**of_models, "truth": read_json(Path(params.results.quality) / "truth.json")}


def conventions(pinned: Conventions, choices: Choices) -> Json:
    """Every knob with its value, in words, and which of the evaluated metrics it can change."""
    evaluated = {label.name for label in choices.labels}
    knobs = [
        {
            "name": knob.name,
            "value": value,
            "sentence": _sentence(knob.sentence, knob.means(value)),
            "changes": [name for name in changed_by(knob.name) if name in evaluated],
        }
        for knob, value in zip(KNOBS, pinned.knobs().values(), strict=True)
    ]
    return {
        "preset": pinned.preset,
        "fingerprint": pinned.fingerprint,
        "knobs": knobs,
        "overrides": pinned.as_dict()["overrides"],
    }


def _sentence(sentence: str, meaning: str) -> str:
    return f"{sentence} Here: {meaning}." if meaning else sentence


def provenance(pinned: Conventions, evaluations: Mapping[str, Evaluation]) -> Json:
    """The files that everything rests on, and what computed it."""
    summaries = {model: evaluation.summary for model, evaluation in evaluations.items()}
    truth = next(iter(summaries.values()))["inputs"]["truth"]
    inputs = [("truth", truth), *((model, s["inputs"]["lists"]) for model, s in summaries.items())]
    return {
        "inputs": [
            {"role": role, "path": file["path"], "sha256": file["sha256"]} for role, file in inputs
        ],
        "versions": _versions([summary["versions"] for summary in summaries.values()]),
        "fingerprint": pinned.fingerprint,
    }


def _versions(of_models: list[dict[str, str]]) -> dict[str, str]:
    """One version a program; all of them where models were evaluated with different ones."""
    programs = list(dict.fromkeys(name for versions in of_models for name in versions))
    return {
        name: ", ".join(dict.fromkeys(v[name] for v in of_models if name in v)) for name in programs
    }
