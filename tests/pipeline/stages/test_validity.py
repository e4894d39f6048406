"""Counts and warnings on the validity of an evaluation."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from concord.metrics_core.comparison.warnings.acknowledge import parse_acknowledgements
from concord.metrics_core.conventions.presets import preset
from concord.metrics_core.evaluation import diagnostics as scoring
from concord.metrics_core.evaluation.executors import execute_in_memory
from concord.metrics_core.evaluation.model_result import EvaluationData, ModelResult
from concord.metrics_core.evaluation.task import Task
from concord.metrics_core.evaluation.warnings.lists import checked_codes, evaluation_warnings
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.pipeline.params.model import BackgroundFile, Params
from concord.pipeline.running.connections import read_only_connection
from concord.pipeline.running.outputs import write_json
from concord.pipeline.stages.evaluation_data import evaluation_data
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
    """Return the validity counts of lists, truth and train; rows may lack their last columns."""
    tables = {n: _write(folder, n, items, COLUMNS[n][: len(items[0])]) for n, items in rows.items()}
    conventions = preset("standard", relevance_threshold=1)
    task = Task([parse(f"P@{k}") for k in ks], conventions)
    frames = {name: pl.read_parquet(path) for name, path in tables.items()}
    (part,) = execute_in_memory(
        frames["lists"], EvaluationData(truth=frames["truth"], connect=read_only_connection), task
    )
    counts = Counter(part.counts)
    if "train" in tables:
        lists, truth, train = (frames[name].lazy() for name in ("lists", "truth", "train"))
        counts.update(scoring.count_train_items(lists, truth, train, ks, of_requests=False))
    return scoring.validity(part.lists, counts, ks)


def _ranked(**lists: str) -> list[tuple[str, str, int]]:
    """Return rows of lists whose items are letters."""
    return [
        (user, item, rank) for user, items in lists.items() for rank, item in enumerate(items, 1)
    ]


def test_train_items_are_counted_up_to_each_cutoff(tmp_path: Path) -> None:
    lists = _ranked(a="xyz", b="zyx", unknown="x")
    truth = [("a", "q", 1.0), ("b", "q", 1.0)]
    train = [("a", "x"), ("a", "z"), ("b", "y")]

    by_cutoff = validity(tmp_path, [1, 2, 3], lists=lists, truth=truth, train=train)["by_cutoff"]

    # a: x (rank 1) and z (rank 3); b: y (rank 2); the truth lacks the third user
    assert [by_cutoff[k]["shown"] for k in "123"] == [2, 4, 6]
    assert [by_cutoff[k]["in_train"] for k in "123"] == [1, 2, 3]
    assert [by_cutoff[k]["future"] for k in "123"] == [None] * 3


def test_items_that_first_occur_after_the_truth_are_future_items(tmp_path: Path) -> None:
    lists = _ranked(a="on", b="nu")  # old, new, unseen
    truth = [("a", "q", 1.0, 10.0), ("a", "r", 1.0, 20.0), ("b", "q", 1.0, 40.0)]
    train = [("c", "o", 5.0), ("c", "n", 30.0)]

    by_cutoff = validity(tmp_path, [1, 2], lists=lists, truth=truth, train=train)["by_cutoff"]

    # `n`, for a, whose truth ends at 20
    assert [by_cutoff[k]["future"] for k in "12"] == [0, 1]


def test_scores_that_tie_across_the_cutoff_are_counted(tmp_path: Path) -> None:
    lists = [
        (*row, score)
        for row, score in zip(_ranked(a="xyz", b="xyz"), [3.0, 2.0, 2.0] * 2, strict=True)
    ]

    by_cutoff = validity(tmp_path, [1, 2, 3], lists=lists, truth=[("a", "x", 1.0)])["by_cutoff"]

    assert [by_cutoff[k]["tied"] for k in "123"] == [0, 1, 0]


def test_a_rank_without_an_item_shows_none(tmp_path: Path) -> None:
    lists = [("a", "x", 1), ("a", None, 2), ("b", None, 1)]

    by_cutoff = validity(tmp_path, [1, 2], lists=lists, truth=[("a", "x", 1.0)])["by_cutoff"]

    assert [by_cutoff[k]["shown"] for k in "12"] == [1, 1]


def test_lists_of_equal_scores_are_counted_unless_they_have_one_item(tmp_path: Path) -> None:
    rows = zip(_ranked(a="xyz", b="xyz", c="x", d="xy"), [2, 2, 2, 2, 2, 1, 2, 2, 2], strict=True)
    lists = [(*row, float(score)) for row, score in rows]

    counts = validity(tmp_path, [1], lists=lists, truth=[(user, "x", 1.0) for user in "abc"])

    assert (counts["full_lists"]["constant"], counts["full_lists"]["of_several"]) == (1, 2)


def test_ids_of_different_types_match_as_text(tmp_path: Path) -> None:
    counts = validity(tmp_path, [1], lists=[("1", "10", 1)], truth=[(1, 11, 1.0)], train=[(1, 10)])

    assert counts["by_cutoff"]["1"]["in_train"] == 1


def test_users_have_a_fingerprint_that_no_order_changes(tmp_path: Path) -> None:
    truth = [("a", "x", 1.0), ("b", "x", 1.0)]
    fingerprints = [
        validity(tmp_path, [1], lists=_ranked(**lists), truth=truth)["users"]
        for lists in ({"a": "x", "b": "y"}, {"b": "x", "a": "x"}, {"a": "x"})
    ]

    assert fingerprints[0] == fingerprints[1] != fingerprints[2]


def _full(**counts: int) -> dict[str, int]:
    names = {"users": 12, "longest": 12, "length": 5, "with_relevant": 12, "holding_all": 12}
    return names | counts


def _evaluation(
    *,
    full: dict[str, int] | None = None,
    k: dict[str, Any] | None = None,
    users: str = "same",
    without_list: int = 0,
    shorter: dict[str, int] | None = None,
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
            "shorter_than": shorter or {"10": 0},
        },
        "judged_share": {"10": 0.2},
    }
    path, lists = Path("-"), pl.DataFrame(schema=["user", "item", "rank"])
    quality = {"items": 50, "order": order, "has_scores": True}
    return ModelResult(path, path, lists, summary, quality)


def _warnings(params: Params, **models: dict[str, Any]) -> dict[str, DataWarning]:
    """Return the warnings on models whose results have these properties, by kind."""
    config, results = params.comparison_config, {n: _evaluation(**m) for n, m in models.items()}
    data = evaluation_data(params)
    overlap = data.train_overlap(of_requests=config.of_requests)
    return {row.code: row for row in evaluation_warnings(config, results, data, overlap)}


def _params(
    folder: Path,
    grades: dict[str, int] | None = None,
    ks: tuple[int, ...] = (10,),
    **truth: Any,
) -> Params:
    params = params_of(folder, ["pop", "als"], metrics=["nDCG"], ks=list(ks))
    quality = {"grades": grades or {"1": 5}, "rows": 12, "users": 12, "items": 3} | truth
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


def _with_items(folder: Path, **truth: Any) -> Params:
    """Return a project whose catalogue has 60 items."""
    file = BackgroundFile.model_validate({"path": "items.csv"})
    params = _params(folder, **truth).model_copy(update={"background": {"items": file}})
    _write(Path(params.results.data), "items", [(str(n),) for n in range(60)], ["item"])
    return params


def _sentence(warning: DataWarning) -> str:
    return warning.sentence.replace("\N{NO-BREAK SPACE}", " ")


BOTH = ("pop", "als")
REPEATS, FEW = {"k": {"in_train": 20}}, {"without_list": 90}
LONG = {"10": 0, "100": 25, "200": 50}


@pytest.mark.bad_input(24, "warning with number and share of users")
@pytest.mark.bad_input(34, "warning with the share of users; empty ranks are misses")
@pytest.mark.bad_input(39, "warning with the share of recommendations")
@pytest.mark.parametrize(
    ("models", "data", "kind", "severity", "names", "words"),
    [
        (
            {"als": {"k": {"in_train": 2}}},
            {},
            "train_items_recommended",
            "serious",
            ("als",),
            "2 % of the top 10 (als)",
        ),
        (
            {"pop": REPEATS, "als": REPEATS},
            {},
            "train_items_recommended",
            "notice",
            BOTH,
            "20 % of the top 10",
        ),
        (
            {"als": {"k": {"future": 3}}},
            {},
            "split_not_by_time",
            "serious",
            (),
            "3 % of the top 10 (als)",
        ),
        (
            {"als": {"users": "other", "without_list": 7}},
            {},
            "user_sets_differ",
            "serious",
            ("als",),
            "7 users (7 %)",
        ),
        (
            {
                "pop": {"users": "61", "without_list": 61},
                "als": {"users": "61", "without_list": 61},
                "full": {},
            },
            {},
            "user_sets_differ",
            "serious",
            BOTH,
            "pop and als have none for 61 users (61 %)",
        ),
        (
            {
                "pop": {"users": "7", "without_list": 7},
                "als": {"users": "61", "without_list": 61},
                "full": {},
            },
            {},
            "user_sets_differ",
            "serious",
            BOTH,
            "2 models, above all als, have none for up to 61 users (61 %)",
        ),
        (
            {"pop": FEW, "als": FEW},
            {},
            "few_lists",
            "serious",
            (),
            "90 users of 100 in the ground truth (90 %) have no list, and `user_no_recs: zero`",
        ),
        (
            {"als": {"k": {"tied": 30}}},
            {},
            "ties_at_cutoff",
            "notice",
            ("als",),
            "30 % of the users (als)",
        ),
        (
            {"als": {"shorter": {"10": 4}}},
            {},
            "short_lists",
            "notice",
            ("als",),
            "4 % of the users (als)",
        ),
        (
            {"als": {"shorter": LONG}},
            {"ks": (10, 100, 200)},
            "short_lists",
            "notice",
            ("als",),
            "Lists end before rank 100 for up to 25",
        ),
        (
            {},
            {"grades": {"1": 1, "2": 3, "3.5": 1, "57": 2}},
            "all_relevant",
            "notice",
            (),
            "from 1 to 57, reaches `relevance_threshold: 1`",
        ),
        ({}, {"grades": {"0": 9, "1": 5}}, "few_judged", "notice", (), "20 %"),
    ],
)
def test_warning_has_kind_severity_models_and_share(
    tmp_path: Path,
    models: dict[str, Any],
    data: dict[str, Any],
    *,
    kind: str,
    severity: str,
    names: tuple[str, ...],
    words: str,
) -> None:
    warnings = _warnings(_params(tmp_path, **data), **{"pop": {}, "als": {}} | models)

    assert list(warnings) == [kind]
    assert (warnings[kind].severity, warnings[kind].models) == (severity, names)
    assert words in _sentence(warnings[kind])
    assert warnings[kind].fix


@pytest.mark.parametrize("lowest", ["0.5", "1"])
def test_threshold_that_nearly_every_rating_reaches_is_a_warning(
    tmp_path: Path, lowest: str
) -> None:
    grades = {lowest: 1, "2": 3, "3.5": 1, "5": 2}

    warnings = _warnings(_params(tmp_path, grades=grades), pop={}, als={})

    assert "all_relevant" not in warnings
    words = "`relevance_threshold: 1` nearly every rating counts"
    assert words in _sentence(warnings["low_threshold"])
    assert warnings["low_threshold"].fix.startswith("set `conventions.relevance_threshold: 4`, or ")


@pytest.mark.parametrize(
    ("changes", "grades"),
    [
        ({}, {"1": 5}),
        ({"without_list": 49}, {"1": 5}),
        ({"full": _full()}, {"1": 5}),  # there is no catalogue: these may be all candidates
        ({"k": {"tied": 40}, "order": "rank"}, {"1": 5}),  # scores do not make the order
        ({"k": {"tied": 40}, "order": "list"}, {"1": 5}),
        ({}, {"1": 5, "2": 2, "3": 2}),  # degrees of relevance
    ],
)
def test_valid_models_have_no_warning(
    tmp_path: Path, changes: dict[str, Any], grades: dict[str, int]
) -> None:
    assert _warnings(_params(tmp_path, grades), pop=changes, als=changes) == {}


@pytest.mark.parametrize("of_train", [True, False])
def test_lists_that_look_sampled_are_a_serious_warning(tmp_path: Path, of_train: bool) -> None:
    train = [(1, str(n), 0.0, 0.0) for n in range(60)]
    params = (
        _with_train(tmp_path, [("1", "x", 1.0, 1.0)], train) if of_train else _with_items(tmp_path)
    )

    warning = _warnings(params, pop={}, als={"full": _full()})["sampled_candidates"]

    assert (warning.severity, warning.models) == ("serious", ("als",))
    assert "Every list has 5 items of 60 and has every relevant item" in _sentence(warning)


@pytest.mark.parametrize(
    ("changes", "truth"),
    [
        ({"longest": 11}, {}),  # one list is shorter
        ({"holding_all": 11}, {}),  # one list lacks a relevant item
        ({"length": 60}, {}),  # the whole catalogue is ranked
        ({"with_relevant": 9, "holding_all": 9}, {}),  # too few users to tell
        ({}, {"rows": 36}),  # all users have the same three relevant items
    ],
)
def test_lists_with_all_relevant_items_for_other_reasons_have_no_warning(
    tmp_path: Path, changes: dict[str, int], truth: dict[str, int]
) -> None:
    params = _with_items(tmp_path, **truth)

    assert "sampled_candidates" not in _warnings(params, als={"full": _full(**changes)})


@pytest.mark.bad_input(51, "warning with rows and users")
def test_truth_inside_the_train_and_before_its_end(tmp_path: Path) -> None:
    truth = [("1", "x", 1.0, 10.0), ("2", "y", 1.0, 30.0)]
    params = _with_train(tmp_path, truth, [(1, "x", 5.0, 5.0), (1, "z", 2.0, 15.0)])

    warnings = _warnings(params, pop={})

    assert warnings["truth_in_train"].sentence.startswith("1 row of the ground truth (50")
    assert "the ground truth of 1 user begins before" in warnings["split_not_by_time"].sentence
    line = warnings["split_not_by_time"].fix.split("`")[1]
    assert line == "acknowledge: {split_not_by_time: {reason: …, up_to: 0%}}"
    accepted = yaml.safe_load(line.replace("…", "wanted"))["acknowledge"]
    assert parse_acknowledgements(accepted)["split_not_by_time"].up_to == "0%"
    assert "unrelated_train" not in warnings


def test_only_completed_checks_are_listed(tmp_path: Path) -> None:
    def checked(params: Params, **models: dict[str, Any]) -> list[str]:
        results = {name: _evaluation(**changes) for name, changes in models.items()}
        return checked_codes(params.comparison_config, results, evaluation_data(params))

    params, with_train, with_items = _params(tmp_path), _with_train(tmp_path), _with_items(tmp_path)
    ranked: dict[str, Any] = {"k": {"in_train": None}, "order": "rank"}
    few = ranked | {"full": _full(with_relevant=9)}
    assert checked(with_items, pop=ranked, als=ranked) == ["sampled_candidates", "user_sets_differ"]
    assert checked(with_items, pop=ranked, als=few) == ["user_sets_differ"]
    assert checked(params, pop=ranked, als=ranked) == ["user_sets_differ"]
    assert checked(params, pop=few) == []

    ranked, scored = ({"k": {"future": 0}, "order": order} for order in ("rank", "score"))
    assert checked(with_train, pop=ranked, als=scored) == [
        "sampled_candidates",
        "train_items_recommended",
        "split_not_by_time",
        "truth_in_train",
        "user_sets_differ",
        "constant_scores",
        "ties_at_cutoff",
    ]
    assert "split_not_by_time" not in checked(with_train, pop=ranked, als={})
    assert "ties_at_cutoff" not in checked(with_train, pop=ranked, als=ranked)
