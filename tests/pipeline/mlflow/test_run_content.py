"""Content of runs and names of metrics, from files alone, without MLflow."""

import getpass
import json
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.label import Label, parse
from concord.pipeline.mlflow.evaluation_runs import evaluation_runs
from concord.pipeline.mlflow.run_content import RunContent, curve_key, metric_key
from concord.pipeline.mlflow.runs import source_tags
from concord.pipeline.running.outputs import write_json, write_text
from tests.pipeline.mlflow.log_project import MEANS, params_of, write_project
from tests.pipeline.refusals import refusal_of

ALL: dict[str, object] = {"repeats": False}


def fingerprints_by_model(root: Path) -> dict[str, str]:
    result = evaluation_runs(params_of(root))
    return {**result.fingerprints, "comparison": result.comparison.fingerprint}


def _als(root: Path) -> RunContent:
    return next(each for each in evaluation_runs(params_of(root)).models if each.name == "als")


def test_the_points_are_scalars_curves_and_the_primary_interval(project: Path) -> None:
    assert set(_als(project).points) == {
        ("accuracy/ndcg_at_5", 0.36, 0),
        ("accuracy/ndcg_at_10", 0.40, 0),
        ("accuracy/rbp.p-0.8_at_10", 0.28, 0),
        ("accuracy/rprec", 0.2, 0),
        ("by_k/ndcg", 0.36, 5),  # RBP has a single cutoff, which is no curve
        ("by_k/ndcg", 0.40, 10),
        ("interval/ndcg_at_10_ci_low", 0.3, 0),
        ("interval/ndcg_at_10_ci_high", 0.5, 0),
        ("interval/ndcg_at_10_n_undefined", 2, 0),
    }


def test_known_references_of_primary_metrics_are_points_of_the_comparison(project: Path) -> None:
    file = project / "results/comparison/comparison.json"
    comparison = json.loads(file.read_text())
    names, means = ("label", "chance", "most_popular", "best_possible"), (0.01, None, 0.9)
    values = [dict(zip(names, (x, *means), strict=True)) for x in ("nDCG@5", "nDCG@10")]
    write_json(file, comparison | {"references": {"values": values, "hits": [], **ALL}})
    points = evaluation_runs(params_of(project)).comparison.points

    assert [point for point in points if point.key.startswith("reference/")] == [
        ("reference/chance/ndcg_at_10", 0.01, 0),
        ("reference/best_possible/ndcg_at_10", 0.9, 0),
    ]


def test_a_missing_number_is_left_out(project: Path) -> None:
    popularity = evaluation_runs(params_of(project)).models[0]

    assert "accuracy/rprec" not in {point.key for point in popularity.points}


def test_conventions_are_an_artifact_in_yaml_and_a_fingerprint(
    project: Path,
) -> None:
    als = _als(project)
    settings = json.loads((project / "params.yaml").read_text())

    assert YAML(typ="safe").load(als.texts["conventions.yaml"]) == {
        "conventions": settings["conventions"]
    }
    tags = als.tags
    assert tags["concord.conventions"] == params_of(project).parsed_conventions.fingerprint
    lists = {"path": "data/als.csv", "sha256": "b" * 64}
    assert json.loads(als.texts["inputs.json"])["lists"] == lists


def test_run_notes_describe_model_and_comparison(project: Path) -> None:
    result = evaluation_runs(params_of(project))
    popularity, als = (content.tags["mlflow.note.content"] for content in result.models)

    assert als.startswith("1,042 users, 3 of them without a list.\n")
    assert popularity.startswith("1,042 users.\n")
    assert result.comparison.tags["mlflow.note.content"] == (
        "**als beats popularity on nDCG@10.**\n\n"
        "**als** against the baseline **popularity**:\n\n"
        "- nDCG@10: better; 0.4000 against 0.3500, difference +0.0500"
        " (95\N{NO-BREAK SPACE}% interval +0.0176 to +0.0824)\n\n"
        "The comparison of all models: `report.html` under Artifacts."
    )


def test_description_of_many_models_fits_into_a_tag(project: Path) -> None:
    file = project / "results/comparison/comparison.json"
    comparison = json.loads(file.read_text())
    row = comparison["pairs"][0]
    scores = [score for score in comparison["scores"] if score["model"] == row["a"]]
    names = [f"model-{n}" for n in range(60)]
    comparison["models"] += names
    comparison["scores"] += [{**score, "model": name} for name in names for score in scores]
    comparison["pairs"] = [{**row, "a": name} for name in names] + [row]
    write_json(file, comparison)
    note = evaluation_runs(params_of(project)).comparison.tags["mlflow.note.content"]

    assert "**model-0**" in note
    assert "**model-59**" not in note
    assert len(note) < 8000
    assert note.endswith("…\n\nThe comparison of all models: `report.html` under Artifacts.")


@pytest.mark.parametrize(
    "changed",
    [
        "report/report.html",
        "report/report.md",
        "comparison/comparison.json",
        "comparison/decision.concord",
    ],
)
def test_another_report_changes_only_the_comparison(project: Path, changed: str) -> None:
    before = fingerprints_by_model(project)
    file = project / "results" / changed
    file.write_text(file.read_text() + "\n")

    assert changed_names(before, fingerprints_by_model(project)) == {"comparison"}


def changed_names(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before if before[name] != after[name]}


def test_content_of_a_model_is_independent_of_other_models(
    project: Path,
) -> None:
    before = _als(project).fingerprint
    write_project(project, means={**MEANS, "twin": MEANS["als"]})
    settings = json.loads((project / "params.yaml").read_text())
    settings["comparison"]["baseline"] = "twin"
    write_json(project / "params.yaml", settings)

    assert _als(project).fingerprint == before


def test_a_training_run_changes_the_content(project: Path) -> None:
    before = fingerprints_by_model(project)
    write_project(project, training={"als": "f" * 32})

    assert changed_names(before, fingerprints_by_model(project)) == {"als", "comparison"}


def test_missing_result_is_named(project: Path) -> None:
    (project / "results/report/report.html").unlink()

    assert refusal_of(lambda: evaluation_runs(params_of(project))) == (
        "results/report/report.html: there is no such file\n"
        "  fix: run `concord run`, which writes it"
    )


def test_source_tags_without_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "wider-lists")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(project.parent))

    assert source_tags([]) == {
        "mlflow.source.name": "concord",
        "mlflow.source.type": "LOCAL",
        "mlflow.user": getpass.getuser(),
        "dvc.exp_name": "wider-lists",
    }


def test_only_files_of_users_make_the_code_dirty(project: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        run = subprocess.run(
            ["git", *identity, *arguments], capture_output=True, text=True, check=True, cwd=project
        )
        return run.stdout.strip()

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    write_text(project / "results/metrics/als.json", "{}\n")

    assert source_tags(["results/metrics"])["concord.git_dirty"] == "false"
    assert source_tags([])["concord.git_dirty"] == "true"
    assert source_tags([])["mlflow.source.git.commit"] == git("rev-parse", "HEAD")


VALID_KEY = re.compile(r"^[/\w.\- ]{1,250}$")  # a colon is refused on Windows


@pytest.mark.parametrize(
    ("label", "key", "curve"),
    [
        ("nDCG@10", "accuracy/ndcg_at_10", "by_k/ndcg"),
        ("RBP(p=0.8)@20", "accuracy/rbp.p-0.8_at_20", "by_k/rbp.p-0.8"),
        ("AP(rel=2)@100", "accuracy/ap.rel-2_at_100", "by_k/ap.rel-2"),
        ("RBP(p=0.95,rel=1.5)", "accuracy/rbp.p-0.95.rel-1.5", "by_k/rbp.p-0.95.rel-1.5"),
        ("P(rel=1000000)@1", "accuracy/p.rel-1000000_at_1", "by_k/p.rel-1000000"),
    ],
)
def test_names_are_readable(label: str, key: str, curve: str) -> None:
    assert metric_key(parse(label)) == key
    assert curve_key(parse(label)) == curve


_NUMBERS = st.floats(1e-9, 1e9) | st.integers(1, 10**7).map(float)


@st.composite
def all_labels(draw: st.DrawFn) -> Label:
    names = draw(st.sets(st.sampled_from(["p", "rel"])))
    arguments = tuple((name, draw(_NUMBERS)) for name in sorted(names))
    return Label(
        draw(st.sampled_from(CATALOGUE)), draw(st.none() | st.integers(1, 10_000)), arguments
    )


def label_identity(label: Label) -> object:
    return label.name, label.k, label.arguments


@given(st.lists(all_labels(), min_size=2, max_size=40, unique_by=label_identity))
def test_names_of_labels_are_unique_and_valid(labels: list[Label]) -> None:
    keys = [metric_key(label) for label in labels]

    assert len(set(keys)) == len(labels)
    assert all(VALID_KEY.match(key) for key in keys)


@given(
    st.lists(
        all_labels(),
        min_size=2,
        max_size=40,
        unique_by=lambda label: label_identity(label.with_cutoff(1)),
    )
)
def test_no_two_curves_share_a_name(labels: list[Label]) -> None:
    assert len({curve_key(label) for label in labels}) == len(labels)
