"""`concord study [study.yaml]`: one report over several evaluated projects."""

from contextlib import chdir
from pathlib import Path

from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.study import study as studied
from concord.metrics_core.studying.study import Study, study_tables
from concord.pipeline.comparing.formulas import without_formulas
from concord.pipeline.running.announce import say
from concord.pipeline.running.outputs import write_csv, write_json, write_parquet, write_text
from concord.pipeline.studying.model import StudyFile
from concord.pipeline.studying.read import read_study
from concord.pipeline.studying.sources import read_comparisons, results_of
from concord.pipeline.terminal.table import console


def study(file: str) -> None:
    """Reads the comparisons, writes the study, and logs it where study.yaml names MLflow; paths are meant from its folder."""
    path = Path(file)
    if not path.parent.is_dir():
        raise refuse(file, "there is no such folder", "name a study.yaml")
    with chdir(path.parent):
        asked = read_study(Path(path.name))
        found = _studied(asked)
        _write(found, Path(asked.report))
        _tell(found, path.parent / asked.report)
        _log(found, asked)


def _studied(asked: StudyFile) -> Study:
    return studied(
        read_comparisons(asked.datasets),
        primary=asked.primary,
        models=asked.models,
        baseline=asked.baseline,
        min_effect=asked.min_effect,
        title=asked.title,
        sources={name: each.source for name, each in asked.datasets.items()},
    )


def _write(found: Study, folder: Path) -> None:
    write_json(folder / "study.json", found.to_content())
    for name, table in study_tables(found).items():
        write_csv(folder / f"{name}.csv", without_formulas(table))
        write_parquet(folder / f"{name}.parquet", table)
    write_text(folder / "report.html", found.to_html())


def _tell(found: Study, folder: Path) -> None:
    out = console()
    for answer in found.answers:
        out.print(answer.sentence)
        if answer.sure:
            out.print(answer.sure)
    for note in found.notes:
        out.print(f"note: {note}")
    say(f"report: {folder / 'report.html'}")


def _log(found: Study, asked: StudyFile) -> None:
    from concord.pipeline.tracking.content.study_content import study_contents, tags_of_runs
    from concord.pipeline.tracking.study import Where, log_study

    if asked.mlflow is None:
        return
    logged = {
        name: tags_of_runs(folder / "runs.json")
        for name, project in asked.datasets.items()
        if (folder := results_of(project, "mlflow")) is not None
    }
    folder = Path(asked.report)
    where = Where(asked.mlflow.tracking_uri, asked.mlflow.experiment)
    log_study(study_contents(found, folder, logged), where, folder)
