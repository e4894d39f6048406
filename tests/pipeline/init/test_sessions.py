"""A repository of sessions: the fixes of `init` and `validate` lead to means over sessions."""

import json
import re
from contextlib import chdir
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.pipeline.init.choices import shared_unit
from concord.pipeline.init.project import init
from concord.pipeline.init.tables import Table, inspect_file
from concord.pipeline.init.validation import validate
from concord.pipeline.params.yaml_files import load_yaml
from tests.pipeline.init.repository import commit, repository, valid_evaluation
from tests.pipeline.refusals import refusal_of
from tests.project import change_params, run_all_stages

N_USERS, N_ITEMS, K = 40, 30, 10
LABEL = f"nDCG@{K}"
KEYS = ["user_id", "session_id"]
MODELS = {"popular": 0.0, "als": 0.3}


def sessions() -> list[tuple[str, str]]:
    """Return one to three sessions per user, numbered over all users."""
    return [(f"u{u}", f"s{3 * u + n}") for u in range(N_USERS) for n in range(1 + u % 3)]


def truth() -> pl.DataFrame:
    """Return two items per session; some repeat for a user."""
    rows = [
        (user, session, f"i{(int(user[1:]) + 7 * n * int(session[1:])) % N_ITEMS}")
        for user, session in sessions()
        for n in range(2)
    ]
    return pl.DataFrame(rows, schema=[*KEYS, "item_id"], orient="row").unique()


def lists(skill: float) -> pl.DataFrame:
    """Return ten items per session; a higher skill ranks relevant items earlier."""
    rng = np.random.default_rng(1)
    relevant = {
        tuple(key): items for *key, items in truth().group_by(KEYS).agg("item_id").iter_rows()
    }
    rows = []
    for session in sessions():
        scores = rng.random(N_ITEMS)
        scores[[int(item[1:]) for item in relevant[session]]] += skill
        best = np.argsort(-scores)[:K]
        rows += [(*session, f"i{item}", rank, scores[item]) for rank, item in enumerate(best, 1)]
    return pl.DataFrame(rows, schema=[*KEYS, "item_id", "rank", "score"], orient="row")


def session_mean(model: str) -> float:
    """Return the mean over sessions, each evaluated as a user."""
    truths, recommended = (
        frame.drop("user_id").rename({"session_id": "user", "item_id": "item"})
        for frame in (truth(), lists(MODELS[model]))
    )
    return cc.evaluate(recommended, truths, metrics=[LABEL], conventions="standard")[LABEL]


def shop(root: Path, columns: list[str], truth_columns: list[str] | None = None) -> Path:
    """Return an evaluation in a repository of sessions whose lists have these columns."""
    repository(root, {})
    (root / "out").mkdir()
    (root / "data").mkdir()
    for model, skill in MODELS.items():
        lists(skill).select(columns).write_csv(root / "out" / f"{model}.csv")
    truth().select(truth_columns or [*KEYS, "item_id"]).write_csv(root / "data/test.csv")
    commit(root)
    with chdir(root):
        init("evaluation", None, (), dry_run=False, force=False)
    return root / "evaluation"


def means(evaluation: Path) -> dict[str, float]:
    """Return the means of all models after all stages."""
    change_params(evaluation, {"comparison.resamples": 99, "evaluation.panel": False})
    run_all_stages(evaluation, last="compare")
    files = {model: evaluation / f"results/metrics/{model}.json" for model in MODELS}
    return {model: json.loads(file.read_text())[LABEL] for model, file in files.items()}


RANKED, SCORED = [*KEYS, "item_id", "rank"], [*KEYS, "item_id", "score"]


@pytest.mark.parametrize(
    ("columns", "unit"),
    [
        (RANKED, ["user", "session_id"]),
        (SCORED, ["user", "session_id"]),
        (["session_id", "user_id", "rank", "item_id"], ["user", "session_id"]),
        (["session_id", "item_id", "rank"], []),
    ],
    ids=["ranks", "scores", "the session first", "the session alone"],
)
@pytest.mark.bad_input(72, "`concord init` writes `data.unit` and reports it")
def test_initialised_project_evaluates_the_mean_over_sessions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], columns: list[str], unit: list[str]
) -> None:
    evaluation = shop(tmp_path, columns)
    output = capsys.readouterr().out
    params = valid_evaluation(evaluation)

    assert params.data.unit == unit
    assert ("user and session_id identify a session with a separate list" in output) == bool(unit)
    assert params.input.repeated_grade == "error"
    assert means(evaluation) == pytest.approx({model: session_mean(model) for model in MODELS})


def test_name_of_the_column_decides_if_no_item_repeats(
    tmp_path: Path,
) -> None:
    columns = {"user": "user_id", "item": "item_id", "score": "score"}
    for name in ("session_id", "price"):
        table = pl.DataFrame(
            {"user_id": [1, 1, 1], name: [1, 1, 2], "item_id": [1, 2, 3], "score": [3, 2, 1]}
        )
        table.write_csv(path := tmp_path / f"{name}.csv")
        observed = inspect_file(path)
        assert observed is not None
        tables = {"als": Table(observed, columns)}
        truth = Table(observed, columns)

        assert shared_unit(tables, truth) == (("session_id",) if name == "session_id" else ())


def without_unit(evaluation: Path) -> None:
    """Remove the unit from params.yaml."""
    path = evaluation / "params.yaml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.lstrip().startswith("unit")))


@pytest.mark.parametrize("columns", [RANKED, SCORED], ids=["ranks", "scores"])
def test_first_fix_of_validate_leads_to_the_mean_over_sessions(
    tmp_path: Path, columns: list[str]
) -> None:
    evaluation = shop(tmp_path, columns)
    without_unit(evaluation)
    with chdir(evaluation):
        refused = refusal_of(validate)
    fixes = re.findall(r"fix: (.*)", refused)
    first = {fix.partition("; else ")[0] for fix in fixes}

    assert all("; else " in fix for fix in fixes)
    for keys in first:
        for setting in re.findall(r"`(.*?)`", keys):
            key, _, value = setting.partition(": ")
            change_params(evaluation, {key: load_yaml(value, "")})
    assert valid_evaluation(evaluation).data.unit == ["user", "session_id"]
    assert means(evaluation) == pytest.approx({model: session_mean(model) for model in MODELS})


def test_session_hint_follows_other_hints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluation = shop(tmp_path, RANKED)
    without_unit(evaluation)
    other = {
        "conventions.duplicates": "first",
        "conventions.preset": "custom",
        "input.repeated_grade": "highest",
    }
    change_params(evaluation, other | {f"models.{model}.order": "file" for model in MODELS})
    valid_evaluation(evaluation)

    assert (
        "users may have several lists: if 'session_id' identifies the requests of a user, "
        "also in the ground truth, "
        "set `data.unit: [user, session_id]` and `conventions.unit_mean: requests`"
    ) in capsys.readouterr().out
