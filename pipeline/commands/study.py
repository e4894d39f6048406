"""`concord study [study.yaml]`: one report over several evaluated projects."""

from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

from concord.metrics_core.analyses.study import study
from concord.metrics_core.errors import refuse
from concord.metrics_core.results.frames import frame_of
from concord.metrics_core.results.study import FriedmanTest, ShrunkDifference, Study, StudyDataset
from concord.pipeline.commands.study_file import (
    StudyFile,
    read_comparisons,
    read_study_file,
    results_folder,
)
from concord.pipeline.comparing.formulas import without_formulas
from concord.pipeline.running.announce import say
from concord.pipeline.running.outputs import write_csv, write_json, write_parquet, write_text
from concord.pipeline.terminal.table import print_result
from concord.reports.text import study as text

if TYPE_CHECKING:
    import polars as pl

SCHEMA = 1


def run_study(file: str) -> None:
    """Read the comparisons, write and print the study, and log it if study.yaml names MLflow."""
    path = Path(file)
    if not path.parent.is_dir():
        raise refuse(file, "there is no such folder", "name a study.yaml")
    with chdir(path.parent):
        config = read_study_file(Path(path.name))
        result = study(
            read_comparisons(config.datasets),
            primary=config.primary,
            models=config.models,
            baseline=config.baseline,
            min_effect=config.min_effect,
            title=config.title,
            sources={name: each.source for name, each in config.datasets.items()},
        )
        _write(result, Path(config.report))
        print_result(result)
        say(f"report: {path.parent / config.report / 'report.html'}")
        _log(result, config)


def _write(result: Study, folder: Path) -> None:
    write_json(folder / "study.json", _content(result))
    for name, table in _tables(result).items():
        write_csv(folder / f"{name}.csv", without_formulas(table))
        write_parquet(folder / f"{name}.parquet", table)
    write_text(folder / "report.html", result.to_html())


def _content(result: Study) -> dict[str, Any]:
    """Return the content of study.json: the result and its sentences."""
    content = {"schema": SCHEMA, **result.to_dict(), "notes": [*text.notes(result)]}
    for answer, row in zip(result.answers, content["answers"], strict=True):
        row["is_sure"] = answer.is_sure
        row["sentence"] = text.winner_sentence(result, answer)
        row["sure"] = text.certainty_sentence(result, answer)
    for test, row in zip(result.omnibus, content["omnibus"], strict=True):
        row["why_none"] = text.missing_test_sentence(test)
    return content


def _tables(result: Study) -> "dict[str, pl.DataFrame]":
    import polars as pl

    reasons = pl.Series("why_none", [*map(text.missing_test_sentence, result.omnibus)], pl.String)
    return {
        "table": result.to_frame(),
        "aggregations": result.aggregations,
        "differences": result.differences,
        "shrunk": frame_of(ShrunkDifference, result.shrunk),
        "friedman": frame_of(FriedmanTest, result.omnibus).with_columns(reasons),
        "datasets": frame_of(StudyDataset, result.datasets),
    }


def _log(result: Study, config: StudyFile) -> None:
    from concord.pipeline.tracking.content.study_content import study_contents, tags_of_runs
    from concord.pipeline.tracking.study import Where, log_study

    if config.mlflow is None:
        return
    tags = {
        name: tags_of_runs(results_folder(project, "mlflow") / "runs.json")
        for name, project in config.datasets.items()
        if project.rev is None
    }
    folder = Path(config.report)
    where = Where(config.mlflow.tracking_uri, config.mlflow.experiment)
    log_study(study_contents(result, folder, tags), where, folder)
