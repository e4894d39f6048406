"""Counts and warnings that tell whether an evaluation can be trusted."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.data.relations import create_id_views
from concord.metrics_core.evaluation import diagnostics as scoring
from concord.metrics_core.evaluation.evaluate_model import ModelData, execute_in_memory
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.evaluation.partition import Task
from concord.metrics_core.evaluation.warnings.lists import checked_kinds, evaluation_warnings
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison_parts import Warned
from concord.pipeline.params.config import config_from_params
from concord.pipeline.params.model import BackgroundFile, Params
from concord.pipeline.running.connections import read_only_connection
from concord.pipeline.running.outputs import write_json
from concord.pipeline.stages.evaluations import ground_of
from tests.pipeline.stages.compare_project import params_of

Rows = Sequence[tuple[Any, ...]]


def _write(folder: Path, name: str, rows: Rows, columns: list[str]) -> Path:
    path = folder / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows, schema=columns, orient="row").write_parquet(path)
    return path


COLUMNS = {
    "lists": ["user", "item", "rank", "score"],
    "truth": ["user", "item", "grade", "time"],
    "train": ["user", "item", "time"],
}


def validity(folder: Path, ks: list[int], **rows: Rows) -> dict[str, Any]:
    """Return what is told of lists, truth and train; rows hold the first columns of their table, or all."""
    tables = {n: _write(folder, n, of, COLUMNS[n][: len(of[0])]) for n, of in rows.items()}
    conventions = preset("standard", relevance_threshold=1)
    task = Task([parse(f"P@{k}") for k in ks], conventions)
    frames = {name: pl.read_parquet(path) for name, path in tables.items()}
    (part,) = execute_in_memory(
        ModelData("m", frames["lists"], frames["truth"], read_only_connection), task
    )
    with read_only_connection(tables.values()) as connection:
        create_id_views(connection, tables)
        counted = scoring.ListCounts()
        counted.add(part.values)
        signs = scoring.count_list_signs(
            connection,
            has_train="train" in tables,
            has_scores="score" in frames["lists"],
            ks=ks,
        )
        return scoring.validity(counted, signs, ks)


def _ranked(**items: str) -> list[tuple[str, str, int]]:
    """Return rows of lists whose items are letters."""
    return [(user, item, rank) for user, held in items.items() for rank, item in enumerate(held, 1)]


def test_places_with_items_of_the_train_are_counted_up_to_each_cutoff(tmp_path: Path) -> None:
    lists = _ranked(a="xyz", b="zyx", stranger="x")
    truth = [("a", "q", 1.0), ("b", "q", 1.0)]
    train = [("a", "x"), ("a", "z"), ("b", "y")]

    found = validity(tmp_path, [1, 2, 3], lists=lists, truth=truth, train=train)["by_cutoff"]

    # a: x (rank 1) and z (rank 3); b: y (rank 2); the stranger is unknown to the truth
    assert [found[k]["shown"] for k in "123"] == [2, 4, 6]
    assert [found[k]["in_train"] for k in "123"] == [1, 2, 3]
    assert [found[k]["future"] for k in "123"] == [None] * 3


def test_items_that_begin_after_the_truth_of_a_user_are_of_the_future(tmp_path: Path) -> None:
    lists = _ranked(a="on", b="nu")  # old, new, unseen
    truth = [("a", "q", 1.0, 10.0), ("a", "r", 1.0, 20.0), ("b", "q", 1.0, 40.0)]
    train = [("c", "o", 5.0), ("c", "n", 30.0)]

    found = validity(tmp_path, [1, 2], lists=lists, truth=truth, train=train)["by_cutoff"]

    # `n`, for a, whose truth ends at 20
    assert [found[k]["future"] for k in "12"] == [0, 1]


def test_scores_that_tie_across_the_cutoff_are_counted(tmp_path: Path) -> None:
    lists = [(*row, score) for row, score in zip(_ranked(a="xyz", b="xyz"), [3.0, 2.0, 2.0] * 2, strict=True)]  # fmt: skip

    found = validity(tmp_path, [1, 2, 3], lists=lists, truth=[("a", "x", 1.0)])["by_cutoff"]

    assert [found[k]["tied"] for k in "123"] == [0, 1, 0]


def test_ids_of_different_types_meet_as_text(tmp_path: Path) -> None:
    found = validity(tmp_path, [1], lists=[("1", "10", 1)], truth=[(1, 11, 1.0)], train=[(1, 10)])

    assert found["by_cutoff"]["1"]["in_train"] == 1


def test_users_have_a_fingerprint_that_no_order_changes(tmp_path: Path) -> None:
    truth = [("a", "x", 1.0), ("b", "x", 1.0)]
    found = [
        validity(tmp_path, [1], lists=_ranked(**lists), truth=truth)["users"]
        for lists in ({"a": "x", "b": "y"}, {"b": "x", "a": "x"}, {"a": "x"})
    ]

    assert found[0] == found[1] != found[2]


def _full(**counts: int) -> dict[str, int]:
    names = {"users": 12, "longest": 12, "length": 5, "with_relevant": 12, "holding_all": 12}
    return names | counts


def _evaluation(
    *,
    full: dict[str, int] | None = None,
    k: dict[str, Any] | None = None,
    users: str = "same",
    without_list: int = 0,
    shorter: int = 0,
    order: str = "score",
) -> ModelResult:
    at_k = {"shown": 100, "in_train": 0, "future": None, "tied": 0} | (k or {})
    summary = {
        "validity": {
            "users": users,
            "full_lists": full or _full(holding_all=3),
            "by_cutoff": {"10": at_k},
        },
        "users": {
            "in_truth": 100,
            "evaluated": 100,
            "in_lists": 100 - without_list,
            "without_list": without_list,
            "shorter_than": {"10": shorter},
        },
        "judged_share": {"10": 0.2},
    }
    nowhere = Path("-")
    return ModelResult(
        nowhere, nowhere, nowhere, summary, {"items": 50, "order": order, "has_scores": True}
    )


def _warnings(
    folder: Path,
    evaluations: dict[str, ModelResult],
    *,
    grades: dict[str, int] | None = None,
    ks: tuple[int, ...] = (10,),
) -> dict[str, Warned]:
    params = _params(folder, grades, ks)
    return {
        row.kind: row
        for row in evaluation_warnings(config_from_params(params), evaluations, ground_of(params))
    }


def _params(
    folder: Path, grades: dict[str, int] | None = None, ks: tuple[int, ...] = (10,)
) -> Params:
    params = params_of(folder, ["pop", "als"], metrics=["nDCG"], ks=list(ks))
    quality = {"grades": grades or {"1": 5}, "rows": 12, "users": 12, "items": 3}
    write_json(Path(params.results.quality) / "truth.json", quality)
    return params


def _with_train(folder: Path, truth: Rows = (), train: Rows = ()) -> Params:
    file = BackgroundFile.model_validate({"path": "train.parquet"})
    params = _params(folder).model_copy(update={"background": {"train": file}})
    data = Path(params.results.data)
    if truth:
        _write(data, "truth", truth, ["user", "item", "grade", "time"])
        _write(data, "train", train, ["user", "item", "time", "last"])
    return params


def _with_items(folder: Path, n_items: int, *, of_train: bool = False) -> Params:
    """Return a project whose catalogue has so many items, or whose train has."""
    if of_train:
        return _with_train(folder, [("1", "x", 1.0, 1.0)], [(1, str(n), 0.0, 0.0) for n in range(n_items)])  # fmt: skip
    file = BackgroundFile.model_validate({"path": "items.csv"})
    params = _params(folder).model_copy(update={"background": {"items": file}})
    _write(Path(params.results.data), "items", [(str(n),) for n in range(n_items)], ["item"])
    return params


def _sentence(warning: Warned) -> str:
    return warning.sentence.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("als", "kind", "severity", "words"),
    [
        ({"k": {"in_train": 2}}, "train_items_recommended", "serious", "2 % of the top 10 (als)"),
        ({"k": {"future": 3}}, "future_items", "serious", "3 % of the top 10 (als)"),
        ({"users": "other", "without_list": 7}, "user_sets_differ", "serious", "7 users (7 %)"),
        ({"k": {"tied": 30}}, "ties_at_cutoff", "notice", "30 % of the users (als)"),
        ({"shorter": 4}, "short_lists", "notice", "4 % of the users (als)"),
    ],
)
@pytest.mark.bad_input(24, "warning with the share of users")
@pytest.mark.bad_input(34, "warning with the share of users; missing ranks are misses")
@pytest.mark.bad_input(39, "warning with the share of places")
def test_warning_names_the_model_and_the_share(
    tmp_path: Path, als: dict[str, Any], kind: str, severity: str, words: str
) -> None:
    found = _warnings(tmp_path, {"pop": _evaluation(), "als": _evaluation(**als)})

    assert list(found) == [kind]
    assert (found[kind].severity, found[kind].who) == (severity, ("als",))
    assert words in _sentence(found[kind])
    assert found[kind].fix


@pytest.mark.parametrize(
    ("changes", "grades"),
    [
        ({}, {"1": 5}),
        ({"full": _full()}, {"1": 5}),  # there is no catalogue: these may be all candidates
        ({"without_list": 49}, {"1": 5}),
        ({"k": {"tied": 40}, "order": "rank"}, {"1": 5}),  # scores do not make the order
        ({"k": {"tied": 40}, "order": "list"}, {"1": 5}),
        ({}, {"1": 5, "2": 2, "3": 2}),  # degrees of relevance
    ],
)
def test_sound_models_get_no_warning(
    tmp_path: Path, changes: dict[str, Any], grades: dict[str, int]
) -> None:
    models = {"pop": _evaluation(**changes), "als": _evaluation(**changes)}
    assert _warnings(tmp_path, models, grades=grades) == {}


@pytest.mark.parametrize("of_train", [True, False])
def test_lists_that_look_sampled_are_a_serious_warning(tmp_path: Path, of_train: bool) -> None:
    params = _with_items(tmp_path, 60, of_train=of_train)
    models = {"pop": _evaluation(), "als": _evaluation(full=_full())}
    found = {
        row.kind: row
        for row in evaluation_warnings(config_from_params(params), models, ground_of(params))
    }
    warning = found["sampled_candidates"]
    assert (warning.severity, warning.who) == ("serious", ("als",))
    assert "Every list has 5 items of 60 and holds every relevant item" in _sentence(warning)


@pytest.mark.parametrize(
    ("changes", "truth"),
    [
        ({"longest": 11}, {}),  # one list is shorter
        ({"holding_all": 11}, {}),  # one list lacks a relevant item
        ({"length": 60}, {}),  # the whole catalogue is ranked
        ({"with_relevant": 9, "holding_all": 9}, {}),  # too few users to tell
        ({}, {"rows": 36}),  # all users want the same three items
    ],
)
def test_lists_may_hold_all_relevant_items_for_other_reasons(
    tmp_path: Path, changes: dict[str, int], truth: dict[str, int]
) -> None:
    params = _with_items(tmp_path, 60)
    quality = {"grades": {"1": 5}, "rows": 12, "users": 12, "items": 3} | truth
    write_json(Path(params.results.quality) / "truth.json", quality)
    models = {"als": _evaluation(full=_full(**changes))}
    found = {
        row.kind
        for row in evaluation_warnings(config_from_params(params), models, ground_of(params))
    }
    assert "sampled_candidates" not in found


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        ((61, 61), "pop and als have none for 61 users (61 %)"),
        ((7, 61), "2 models, most of all als, have none for up to 61 users (61 %)"),
    ],
)
def test_models_whose_users_lack_lists_are_named(
    tmp_path: Path, lacking: tuple[int, int], words: str
) -> None:
    pop, als = (_evaluation(users=str(n), without_list=n) for n in lacking)
    found = _warnings(tmp_path, {"pop": pop, "als": als, "full": _evaluation()})

    assert words in _sentence(found["user_sets_differ"])
    assert found["user_sets_differ"].who == ("pop", "als")


@pytest.mark.bad_input(24, "warning with the number and the share of users")
def test_many_users_without_any_list_are_a_warning(tmp_path: Path) -> None:
    models = {name: _evaluation(without_list=90) for name in ("pop", "als")}
    found = _warnings(tmp_path, models)["few_lists"]
    assert (found.severity, found.who) == ("serious", ())
    words = "90 users of 100 in the truth (90 %) have no list, and `user_no_recs: zero`"
    assert words in _sentence(found)


def test_stars_that_are_all_relevant_are_a_warning(tmp_path: Path) -> None:
    stars = {"1": 1, "2": 3, "3.5": 1, "5": 2}
    models = {"pop": _evaluation(), "als": _evaluation()}
    found = _warnings(tmp_path, models, grades=stars)["all_relevant"]
    assert "from 1 to 5, reaches `relevance_threshold: 1`" in found.sentence
    low = {"0.5": 1, "2": 3, "3.5": 1, "5": 2}  # the threshold is 1
    warned = _warnings(tmp_path, models, grades=low)
    assert "all_relevant" not in warned
    assert "`relevance_threshold: 1` nearly every rating counts" in warned["low_threshold"].sentence


def test_ids_that_were_rewritten_are_a_warning(tmp_path: Path) -> None:
    als = _evaluation()
    quality = {**als.quality, "ids_rewritten": {"user": {"rows": 4, "example": "7.0"}}}
    models = {"pop": _evaluation(), "als": replace(als, quality=quality)}
    found = _warnings(tmp_path, models)["ids_rewritten"]
    assert (found.severity, found.who) == ("notice", ("als",))
    assert "such as '7.0' as '7': user in 4 rows of als." in _sentence(found)


def test_share_judged_is_a_warning_where_the_truth_has_irrelevant_items(tmp_path: Path) -> None:
    models = {"pop": _evaluation(), "als": _evaluation()}
    assert list(_warnings(tmp_path, models, grades={"0": 9, "1": 5})) == ["few_judged"]
    assert _warnings(tmp_path, models, grades={"1": 5, "2": 1}) == {}


def test_short_lists_name_the_cutoff(tmp_path: Path) -> None:
    short = _evaluation()
    short.summary["users"]["shorter_than"] = {"10": 0, "100": 25, "200": 50}
    models = {"pop": _evaluation(), "als": short}
    found = _warnings(tmp_path, models, ks=(10, 100, 200))["short_lists"]
    assert found.sentence.startswith("Lists end before rank 100 for up to 25")
    assert found.who == ("als",)


def test_train_items_in_lists_of_all_models_are_a_notice(tmp_path: Path) -> None:
    repeats = _evaluation(k={"in_train": 20})
    found = _warnings(tmp_path, {"pop": repeats, "als": repeats})
    assert found["train_items_recommended"].severity == "notice"


@pytest.mark.bad_input(51, "warning with the rows and users")
def test_truth_inside_the_train_and_before_its_end(tmp_path: Path) -> None:
    truth = [("1", "x", 1.0, 10.0), ("2", "y", 1.0, 30.0)]
    params = _with_train(tmp_path, truth, [(1, "x", 5.0, 5.0), (1, "z", 2.0, 15.0)])

    rows = evaluation_warnings(
        config_from_params(params), {"pop": _evaluation()}, ground_of(params)
    )
    found = {row.kind: row.sentence for row in rows}

    assert found["truth_in_train"].startswith("1 row of the truth (50")
    assert found["truth_before_train"].startswith("The truth of 1 user ")
    assert "unrelated_train" not in found


def test_train_of_other_users_is_a_warning(tmp_path: Path) -> None:
    params = _with_train(tmp_path, [("a", "x", 1.0, 1.0)], [("other", "x", 0.0, 0.0)])
    (row,) = evaluation_warnings(
        config_from_params(params), {"pop": _evaluation()}, ground_of(params)
    )
    assert (row.kind, row.severity) == ("unrelated_train", "serious")


def test_only_checks_that_could_be_made_are_listed(tmp_path: Path) -> None:
    def checked(params: Params, **models: ModelResult) -> list[str]:
        return checked_kinds(config_from_params(params), models, ground_of(params))

    params, with_train = _params(tmp_path), _with_train(tmp_path)
    ranked = _evaluation(k={"in_train": None}, order="rank")
    few = _evaluation(full=_full(with_relevant=9), k={"in_train": None}, order="rank")
    with_items = _with_items(tmp_path, 60)
    assert checked(with_items, pop=ranked, als=ranked) == ["sampled_candidates", "user_sets_differ"]
    assert checked(with_items, pop=ranked, als=few) == ["user_sets_differ"]
    assert checked(params, pop=ranked, als=ranked) == ["user_sets_differ"]
    assert checked(params, pop=few) == []

    ranked, scored = (_evaluation(k={"future": 0}, order=order) for order in ("rank", "score"))
    assert checked(with_train, pop=ranked, als=scored) == [
        "sampled_candidates",
        "train_items_recommended",
        "future_items",
        "truth_in_train",
        "user_sets_differ",
        "ties_at_cutoff",
    ]
    assert "future_items" not in checked(with_train, pop=ranked, als=_evaluation())
    assert "ties_at_cutoff" not in checked(with_train, pop=ranked, als=ranked)
