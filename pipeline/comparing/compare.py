"""Stage `compare`: users' values and summaries of all models -> comparison.json and its tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.comparing import content
from pipeline.comparing.aligned import align
from pipeline.comparing.best import best_rows
from pipeline.comparing.checked import checked_kinds
from pipeline.comparing.choices import Choices, read_choices
from pipeline.comparing.differences import difference_rows
from pipeline.comparing.distributions import distribution_rows
from pipeline.comparing.evaluations import Evaluation, read_evaluations
from pipeline.comparing.examples import examples
from pipeline.comparing.export import exports
from pipeline.comparing.formulas import without_formulas
from pipeline.comparing.panel import panel_rows
from pipeline.comparing.segments.rows import segment_rows
from pipeline.comparing.tables import curve_rows, frame, leaderboard_rows, metric_rows
from pipeline.comparing.tradeoffs import tradeoff_rows
from pipeline.comparing.warnings import warning_rows
from pipeline.comparing.wording import verdict_sentences
from pipeline.params.model import Params
from pipeline.params.read import read_params
from pipeline.running.announce import say
from pipeline.running.orphans import remove_background, remove_models
from pipeline.running.outputs import prepare, write_csv, write_json, write_parquet
from pipeline.running.stage import run

SCHEMA = 3  # of comparison.json


def main() -> str:
    params = read_params()
    prepare(params.results, params.results.comparison)
    return compare(params)


def compare(params: Params) -> str:
    """Writes comparison.json, and each of its tables as CSV and parquet; says what was compared."""
    choices = read_choices(params)
    evaluations = read_evaluations(params, choices)
    remove_models(params)
    remove_background(params)
    comparison = _comparison(params, choices, evaluations)
    folder = Path(params.results.comparison)
    write_json(folder / "comparison.json", comparison)
    tables = {
        name: frame(name, comparison[name]) for name in ("metrics", "leaderboard", "differences")
    }
    for name, table in (tables | exports(comparison)).items():
        write_csv(folder / f"{name}.csv", without_formulas(table))
        write_parquet(folder / f"{name}.parquet", table)
    curves = frame("curves", curve_rows(choices, comparison["leaderboard"]))
    write_csv(folder / "curves.csv", curves)  # of `dvc plots`, which wants the names as they are
    write_parquet(folder / "curves.parquet", curves)
    say(comparison["verdicts"][0])
    return f"{len(evaluations)} models, {len(comparison['differences']):,} comparisons"


def _comparison(
    params: Params, choices: Choices, evaluations: Mapping[str, Evaluation]
) -> dict[str, Any]:
    confidence = params.comparison.confidence
    aligned = align({model: evaluation.per_user for model, evaluation in evaluations.items()})
    differences = difference_rows(params, choices, evaluations, aligned)
    leaderboard = leaderboard_rows(choices, evaluations, differences, alpha=1 - confidence)
    found = {
        "schema": SCHEMA,
        "title": params.report.title,
        "baseline": params.comparison.baseline,
        "primary": choices.primary,
        "confidence": confidence,
        "models": list(evaluations),
        "metrics": metric_rows(choices),
        "ks": sorted(params.evaluation.ks),
        "leaderboard": leaderboard,
        "differences": differences,
        "panel": panel_rows(params, choices, evaluations, differences, aligned),
    }
    segments = segment_rows(params, choices, aligned, differences)
    return {
        **found,
        "verdicts": verdict_sentences(found | {"segments": segments}),
        "distributions": distribution_rows(params, choices, aligned),
        "best": best_rows(params, choices, aligned),
        "tradeoffs": tradeoff_rows(choices, evaluations),
        "segments": segments,
        "examples": examples(params, choices, aligned, found),
        "warnings": warning_rows(params, choices, evaluations),
        "checked": checked_kinds(params, choices, evaluations),
        "quality": content.quality(params, evaluations),
        "conventions": content.conventions(params.pinned, choices),
        "provenance": content.provenance(params.pinned, evaluations),
        "covers": content.COVERS,
    }


if __name__ == "__main__":
    run(main)
