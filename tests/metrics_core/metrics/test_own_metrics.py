"""User-defined metrics, in the library and in all stages."""

import json
import math
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any
from zipfile import ZipFile

import numpy as np
import polars as pl
import pytest

import concord as cc
from concord.metrics_core.metrics import custom_metric
from concord.metrics_core.metrics.code_digest import code_digest, file_digest
from tests.library import assert_library_gives_the_same, assert_same_bits, evaluated_project
from tests.pipeline.dvc.revisions import commit
from tests.project import (
    attempt,
    change_params,
    commit_results,
    copied_from,
    params_refusal,
    run,
    run_stages,
    stages_to_run,
)

REVENUE = '''
"""Money."""
import concord


@concord.metric(high=float("inf"), columns=["price"], source="the shop")
def revenue(lists: concord.metrics.Judged, k):
    """revenue@k = sum of the prices of the hits in the top k."""
    return lists.total(lists.hit_column("price"), k)


@concord.metric(columns=["price"])
def revenueShare(lists, k):
    """revenueShare@k = revenue@k / the prices of all that was wanted."""
    wanted = lists.total(lists.hit_column("price"), k) * 0
    import numpy as np
    np.add.at(wanted, lists.truth_user, lists.truth_column("price"))
    return lists.total(lists.hit_column("price"), k) / wanted
'''
PRICES = pl.DataFrame({"item": ["a", "b", "c", "d"], "eur": [1.0, 2.5, 10.0, 4.0]})
RECS = {"u": ["a", "d", "c"], "v": ["b", "a", "c"]}
TRUTH = {"u": {"a": 1, "c": 1, "b": 0}, "v": {"c": 2, "d": 1}}
HOW: dict[str, Any] = {
    "items": PRICES,
    "columns": {"items": {"price": "eur"}},
    "conventions": "standard",
}


@pytest.fixture(autouse=True)
def _nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_metric, "_registry", custom_metric.Registry())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_metrics.py"
    path.write_text(REVENUE, encoding="utf-8")
    return path


def test_revenue_by_hand(file: Path) -> None:
    """Hits of u: a at rank 1 (1 euro), c at 3 (10); d is not wanted. Of v: c at 3 (10)."""
    result = cc.evaluate(
        RECS, TRUTH, metrics=[f"{file}:revenue@1", "revenue@3", "revenueShare@3"], **HOW
    )

    assert result.per_user["revenue@1"].to_list() == [1.0, 0.0]
    assert result.per_user["revenue@3"].to_list() == [1.0 + 10.0, 10.0]
    assert result.per_user["revenueShare@3"].to_list() == [11 / 11, 10 / 14]
    assert result["revenue@3"] == 10.5


def test_a_function_of_a_notebook_is_a_metric_by_its_name() -> None:
    @cc.metric()
    def early(lists: cc.metrics.Judged, k: int | None) -> Any:
        """early@k = hits in the top k / k, squared."""
        return (lists.count(k) / lists.cutoff(k)) ** 2

    result = cc.evaluate(RECS, TRUTH, metrics=["early@2", "P@2"], conventions="standard")

    assert result.per_user["early@2"].to_list() == [p * p for p in result.per_user["P@2"]]


def test_conventions_are_arguments() -> None:
    @cc.metric(high=math.inf)
    def worth(lists: cc.metrics.Judged, k: int | None, *, relevance_threshold: float | None) -> Any:
        """worth@k = sum of the grades above the threshold in the top k."""
        return lists.total(lists.hit_grade - (relevance_threshold or 0), k)

    lower = cc.preset("standard", overrides={"worth": {"relevance_threshold": 0.5}})
    results = [
        cc.evaluate(RECS, TRUTH, metrics=["worth@3"], conventions=c)["worth@3"]
        for c in ("standard", lower)
    ]

    assert results == [fmean([0, 1]), fmean([1, 1.5])]


def test_the_code_is_part_of_the_fingerprint_without_comments_and_docstrings(file: Path) -> None:
    def fingerprint(metric: str) -> str:
        return cc.evaluate(RECS, TRUTH, metrics=[metric], **HOW).conventions.fingerprint

    before = fingerprint(f"{file}:revenue@3")
    documented = REVENUE.replace("= sum of", "= the sum of").replace("Money.", "Prices.")
    file.write_text(documented + "# other\n", encoding="utf-8")
    assert fingerprint(f"{file}:revenue@3") == before
    plain = cc.evaluate(
        RECS, TRUTH, metrics=["P@3"], conventions="standard"
    ).conventions.fingerprint
    file.write_text(REVENUE.replace("return lists", "return 2 * lists", 1), encoding="utf-8")

    assert plain == cc.preset("standard").fingerprint
    assert len({plain, before, fingerprint(f"{file}:revenue@3")}) == 3
    assert "own_metrics" not in cc.preset("standard").as_dict()


HELPED = """
import concord
SCALE = 2

def scaled(values):
    return values / SCALE

@concord.metric()
def a(lists, k):
    'a'
    return scaled(lists.count(k))

@concord.metric()
def b(lists, k):
    'b'
    return 1 - a(lists, k)

@concord.metric()
def c(lists, k):
    'c'
    return lists.count(k)
"""


@pytest.mark.parametrize(
    ("then", "now", "changed"),
    [
        ("SCALE = 2", "SCALE = 3", "abc"),
        ("values / SCALE", "values  /  (SCALE)  # layout", ""),
        ("'a'", "'another formula'", ""),
        ("scaled(lists.count(k))", "lists.count(k)", "ab"),
        ("1 - a", "1.0 - a", "b"),
        ("def c(", "def d(", "c"),
    ],
)
def test_a_metric_depends_on_its_file_without_the_metrics_that_it_does_not_use(
    then: str, now: str, changed: str
) -> None:
    other = HELPED.replace(then, now)

    assert [x for x in "abc" if code_digest(HELPED, x) != code_digest(other, x)] == [*changed]


def test_the_digest_of_code_is_that_of_every_version_of_python() -> None:
    code = "def f(lists, k):\n    return f\"{lists!r:>{k}} {'a' 'b'}\""

    assert (
        code_digest(code, "f") == "f22d63f3daa5573c2d547326903c1fd33027f60f79550ebda366880130faaa36"
    )


def test_a_metric_may_import_from_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ZipFile(tmp_path / "shop.zip", "w") as archive:
        archive.writestr("archived_prices.py", "PRICE = 2")
    monkeypatch.syspath_prepend(tmp_path / "shop.zip")
    file = tmp_path / "archived.py"
    file.write_text(
        "import archived_prices, concord\n@concord.metric(high=9)\ndef archived(lists, k):\n"
        "    'archived@k = hits times price'\n    return archived_prices.PRICE * lists.count(k)"
    )

    assert custom_metric.load_metrics(file) == ("archived",)


def test_the_digest_has_modules_that_the_function_itself_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "late_shop").mkdir()
    (tmp_path / "late_shop/__init__.py").touch()
    source = b"def late(lists, k):\n    from late_shop import prices\n    return prices.PRICE"

    def digest(price: int) -> str:
        (tmp_path / "late_shop/prices.py").write_text(f"PRICE = {price}")
        return file_digest(source, "late")

    assert digest(1) != digest(2)


def test_explain_shows_what_is_read_of_each_hit(file: Path) -> None:
    derivation = cc.explain(RECS, TRUTH, user="u", metric=f"{file}:revenue@3", **HOW)

    assert derivation.listed[2].term == "price 10, revenue@3 = 11"
    assert derivation.sums == ("revenue@k = sum of the prices of the hits in the top k",)
    assert derivation.summary.endswith("\nrevenue@3 = 11")


def test_a_package_may_offer_metrics(tmp_path: Path) -> None:
    """As an entry point of the group `concord.metrics`, also if it is installed meanwhile."""
    info = tmp_path / "shop_metrics-1.2.dist-info"
    (tmp_path / "shop_metrics.py").write_text(REVENUE, encoding="utf-8")
    metadata = "Metadata-Version: 2.1\nName: shop-metrics\nVersion: 1.2\n"
    entry_points = "[concord.metrics]\nrevenue = shop_metrics:revenue\n"
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from pathlib import Path\n"
        "from concord.metrics_core.metrics import custom_metric, label\n"
        "assert custom_metric.find_own_metric('revenue') is None\n"
        f"info = Path({str(info)!r}); info.mkdir()\n"
        f"(info / 'METADATA').write_text({metadata!r})\n"
        f"(info / 'entry_points.txt').write_text({entry_points!r})\n"
        "formula = label.parse('revenue@10').metric.formula\n"
        "print(formula, custom_metric._find('revenue').origin)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert (
        done.stdout == "revenue@k = sum of the prices of the hits in the top k shop-metrics 1.2\n"
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f(lists, k):\n    'f'\n    return 1", "defines no metric"),
        ("import concord\n1 / 0", "line 2: raises ZeroDivisionError"),
        ("import concord\ndef f(:", "line 2: raises SyntaxError"),
        ("import beside", "fix: install beside, or add its folder to the variable PYTHONPATH"),
        (
            "@concord.metric()\ndef two_words(lists, k):\n    'f'",
            "metric two_words: is not a valid name",
        ),
        (
            "@concord.metric()\ndef mrr(lists, k):\n    'f'",
            "metric mrr: is a name of RR in the catalogue",
        ),
        ("@concord.metric()\ndef f(lists, k):\n    return 1", "metric f: has no docstring"),
        ("@concord.metric()\nclass f:\n    'f'", "metric f: is not a function"),
        ("@concord.metric()\ndef f(lists, k, w):\n    'f'", "takes (lists, k, w)"),
        ("@concord.metric()\ndef f(lists, k, *, w):\n    'f'", "'w' is not a convention"),
        ("@concord.metric()\ndef f(lists, k, *, gain='binary'):\n    'f'", "gain has a default"),
        ("@concord.metric(low=1)\ndef f(lists, k):\n    'f'", "its range is 1 to 1.0"),
        ("@concord.metric(columns='price')\ndef f(lists, k):\n    'f'", "its columns are 'price'"),
        ("@concord.metric()\ndef other(lists, k):\n    'f'", "has no such metric; it has other"),
        (
            "@concord.metric()\ndef f(lists, k):\n    'f'\n    return 1.0",
            "f returns shape () for 2 users",
        ),
        (
            "@concord.metric()\ndef f(lists, k):\n    'f'\n    return lists.n_listed * 2",
            "f is 6 for user 'u', and its range is 0 to 1",
        ),
        (
            "@concord.metric()\ndef f(lists, k):\n    'f'\n    return lists.nothing",
            "f raises AttributeError: 'Judged' object has no attribute 'nothing', line 5",
        ),
        (
            "@concord.metric(columns=['weight'])\ndef f(lists, k):\n    'f'",
            "f@3: needs items with weight",
        ),
    ],
)
def test_invalid_metric_function_is_refused(tmp_path: Path, code: str, message: str) -> None:
    (tmp_path / "m.py").write_text(
        code if code.startswith(("import", "def")) else f"import concord\n{code}", encoding="utf-8"
    )

    with pytest.raises(ValueError) as refused:
        cc.evaluate(
            RECS, TRUTH, metrics=[f"{tmp_path}/m.py:f@3"], items=PRICES, conventions="standard"
        )

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            {"items": PRICES.head(2)},
            "the catalogue has no value for 2 items of the ground truth, first 'c'",
        ),
        (
            {"items": PRICES.with_columns(eur=pl.lit("cheap"))},
            "column 'eur' (item 'a'): is not a finite number; 4 items affected",
        ),
        (
            {"columns": {"items": {"price": "eur", "titel": "name"}}},
            "columns: items: 'titel': is read by no metric",
        ),
        ({"items": None}, "needs items with price"),
    ],
)
def test_numbers_that_are_not_there_are_refused(
    file: Path, how: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        cc.evaluate(
            RECS,
            TRUTH,
            metrics=[f"{file}:revenue@3"],
            **{**HOW, "input": {"unknown_items": "keep"}, **how},
        )

    assert message in str(refused.value)


CHECKED = {
    "bad": ("lists.count(k) / lists.n_users", "other users change nothing"),
    "late": (
        "(lists.n_listed > 3) * (lists.count(k) > 0) / 1.0",
        "items below the cutoff change nothing",
    ),
    "low": ("1 - lists.count(k) / lists.cutoff(k)", "moving a relevant item up never hurts"),
    "rude": (
        "lists.hit_grade.sort() or lists.count(k) / lists.cutoff(k)",
        "values lie in the range",
    ),
    "good": ("lists.count(k) / lists.cutoff(k)", ""),
}


@pytest.mark.parametrize("name", CHECKED)
def test_a_case_is_found_against_each_property(tmp_path: Path, name: str) -> None:
    formula, against = CHECKED[name]
    head = f"import concord\n@concord.metric()\ndef {name}(lists, k):\n"
    code = f"{head}    '{name}@k'\n    return {formula}\n"
    (tmp_path / "m.py").write_text(code, encoding="utf-8")

    check = cc.metrics.check_metric(f"{tmp_path}/m.py:{name}")
    process = attempt(tmp_path, "concord", "check-metric", f"./m.py:{name}")

    assert [each.name for each in check.properties if not each.holds][:1] == (
        [against] if against else []
    )
    assert process.returncode == (1 if against else 0)
    assert [line.split("  ")[0] for line in process.stdout.splitlines() if line[0] != " "] == [
        "holds" if each.holds else "FAILS" for each in check.properties
    ]
    assert "read-only" in process.stdout or name != "rude"


def test_the_direction_is_heard_and_the_catalogue_is_not_checked(file: Path) -> None:
    @cc.metric(higher_is_better=False)
    def missed(lists: cc.metrics.Judged, k: int | None) -> Any:
        """missed@k = 1 - hits / k."""
        return 1 - lists.count(k) / lists.cutoff(k)

    assert cc.metrics.check_metric("missed").holds
    assert cc.metrics.check_metric(f"{file}:revenue").holds
    with pytest.raises(cc.InputError, match="nDCG: is in the catalogue"):
        cc.metrics.check_metric("nDCG")


N_USERS, N_ITEMS, K = 80, 30, 5


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(5)
    relevant = np.argsort(rng.random((N_USERS, N_ITEMS)), axis=1)[:, :4].ravel()
    users = np.repeat(np.arange(N_USERS), 4)
    truth = pl.DataFrame({"user": users, "item": relevant, "grade": 1.0})
    prices = rng.integers(1, 900, N_ITEMS) / 7
    tables = {
        "truth": truth.sample(fraction=1, shuffle=True, seed=1),
        "items": pl.DataFrame({"item": np.arange(N_ITEMS), "eur": prices}),
    }
    for model, skill in (("plain", 0.0), ("sharp", 0.3)):
        scores = rng.random((N_USERS, N_ITEMS))
        scores[users, relevant] += skill
        rows = {
            "user": np.repeat(np.arange(N_USERS), 10),
            "item": np.argsort(-scores, axis=1)[:, :10].ravel(),
            "rank": np.tile(np.arange(1, 11), N_USERS),
        }
        tables[model] = pl.DataFrame(rows)
    changes = {
        "background.items.columns": {"price": "eur"},
        "background.metrics": {"path": "my_metrics.py"},
        "evaluation.metrics": ["nDCG", "./my_metrics.py:revenue", "revenueShare"],
        "evaluation.ks": [K, 10],
        "comparison.baseline": "plain",
        "comparison.primary": [f"revenue@{K}"],
        "comparison.min_effect": 0.5,
    }
    files = {"my_metrics.py": REVENUE}
    return evaluated_project(
        tmp_path_factory.mktemp("own"), tables, changes, files=files, last="log"
    )


def _revenue(project: Path, model: str) -> list[float]:
    """Added up without Concord."""
    price = dict(pl.read_parquet(project / "items.parquet").iter_rows())
    relevant = {row[:2] for row in pl.read_parquet(project / "truth.parquet").iter_rows()}
    recommended = pl.read_parquet(project / f"{model}.parquet").filter(pl.col("rank") <= K)
    total = dict.fromkeys(range(N_USERS), 0.0)
    for user, item, _ in recommended.sort("user", "rank").iter_rows():
        total[user] += price[item] if (user, item) in relevant else 0.0
    return [total[user] for user in sorted(total)]


@pytest.mark.whole
def test_stages_give_what_the_library_gives(project: Path) -> None:
    assert_library_gives_the_same(project)
    values = pl.read_parquet(project / "results/per_user/sharp.parquet")[f"revenue@{K}"]
    assert values.to_list() == pytest.approx(_revenue(project, "sharp"), abs=1e-12)
    page = (project / "results/report/report.html").read_text(encoding="utf-8")
    explained = run(project, "concord", "explain", "3", f"revenue@{K}", "--model", "sharp")
    listed = run(project, "concord", "metrics")
    receipt = json.loads((project / "results/mlflow/receipt.json").read_text(encoding="utf-8"))
    assert "sum of the prices of the hits in the top k" in page
    assert f"revenue@{K} = {_revenue(project, 'sharp')[3]:.6g}" in explained
    assert "revenueShare@k = revenue@k / the prices of all that was wanted" in listed
    assert receipt["logged"]


@pytest.mark.whole
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_engines_and_partitions_give_the_same_bits(
    project: Path, tmp_path: Path, engine: str
) -> None:
    changes = {"evaluation.engine": engine, "evaluation.rows_per_partition": 200}
    assert_same_bits(project, tmp_path, changes, "plain", "sharp")


@pytest.mark.whole
def test_another_file_evaluates_again(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    commit_results(copy)
    code = copy / "my_metrics.py"
    code.write_text(
        REVENUE.replace("return lists.total", "return 2 * lists.total", 1), encoding="utf-8"
    )

    first = stages_to_run(copy)
    run_stages(copy, "load-background metrics")
    then = stages_to_run(copy)
    run_stages(copy, "evaluate plain")

    assert first == {"load-background@metrics"}
    assert then >= {"evaluate@plain", "evaluate@sharp", "compare"}
    assert not any(stage.startswith("load@") for stage in then)
    values = pl.read_parquet(copy / "results/per_user/plain.parquet")[f"revenue@{K}"]
    assert values.to_list() == pytest.approx([2 * v for v in _revenue(copy, "plain")], abs=1e-12)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"background.metrics": {"path": "no.py"}},
            "background.metrics.path: no.py: there is no such file",
        ),
        (
            {"background": {"items": {"path": "items.parquet"}}},
            "names a file that `background.metrics` does not",
        ),
        (
            {"background.items.columns": {"price": "eur", "titel": "eur"}},
            "background.items.columns.titel: is a column that nothing reads",
        ),
    ],
)
def test_params_that_do_not_fit_are_refused(
    project: Path, change: dict[str, Any], message: str
) -> None:
    assert message in params_refusal(project, change)


@pytest.mark.whole
def test_validate_names_columns_that_a_metric_needs(project: Path, tmp_path: Path) -> None:
    copy = copied_from(project, tmp_path)
    change_params(copy, {"background.items.columns": {}})

    refused = attempt(copy, "concord", "validate")

    assert refused.returncode == 2
    assert "needs items with price" in refused.stdout + refused.stderr


@pytest.mark.whole
def test_other_code_of_an_own_metric_blocks_its_own_labels_alone(
    project: Path, tmp_path: Path
) -> None:
    copy, stages = (
        copied_from(project, tmp_path),
        ["load-background metrics", "evaluate plain", "evaluate sharp", "compare"],
    )
    guardrails = {f"nDCG@{K}": "2%", f"revenueShare@{K}": "2%"}
    change_params(
        copy,
        {"comparison.primary": [f"nDCG@{K}", f"revenue@{K}"], "gate": {"guardrails": guardrails}},
    )
    run_stages(copy, *stages)
    commit_results(copy, last="compare")
    commit(copy, "before")
    code = REVENUE.replace("revenue@k = sum", "revenue@k = the sum").replace(
        "return lists.total", "return 2 * lists.total", 1
    )
    (copy / "my_metrics.py").write_text(code, encoding="utf-8")
    stale = attempt(copy, "concord", "gate")
    run_stages(copy, *stages)
    commit_results(copy, last="compare")
    commit(copy, "other code of revenue")

    passed = attempt(copy, "concord", "gate", "HEAD~1")
    change_params(copy, {"gate": {"guardrails": {**guardrails, f"revenue@{K}": "2%"}}})
    undecided = attempt(copy, "concord", "gate", "HEAD~1")
    change_params(copy, {"gate.undecided": "pass"})
    not_waived = attempt(copy, "concord", "gate", "HEAD~1")
    change_params(copy, {"gate": {"guardrails": {f"revenue@{K}": "2%"}}})
    refused = attempt(copy, "concord", "gate", "HEAD~1")
    output = run(copy, "concord", "diff", "HEAD~1")
    process = attempt(copy, "concord", "diff", "HEAD~1", "--metric", f"revenue@{K}")
    anyway = run(copy, "concord", "diff", "HEAD~1", "--metric", f"revenue@{K}", "--anyway")
    comment = attempt(copy, "concord", "comment", "HEAD~1").stdout
    history = run(copy, "concord", "history", COLUMNS="200")
    (copy / "my_metrics.py").write_text("exit()", encoding="utf-8")
    custom_metric._registry = custom_metric.Registry()
    gone = run(copy, "concord", "history", COLUMNS="200")

    excluded = f"revenue@{K}, revenue@10 had other code"
    assert stale.returncode == 0
    assert f"left out: revenue@{K}, revenue@10, evaluated with other code" in stale.stderr
    assert passed.returncode == 0
    assert f"note: not compared: {excluded}" in passed.stdout
    assert undecided.returncode == not_waived.returncode == 3
    assert "it had other code at HEAD~1" in undecided.stdout
    assert refused.returncode == process.returncode == 2
    assert excluded in refused.stderr
    assert excluded in process.stderr
    assert f"nDCG@{K}: same values for every user: plain, sharp" in output
    assert f"note: not compared: {excluded}" in output
    assert f"revenue@{K}: sharp, against HEAD~1: better" in anyway
    assert excluded in comment
    assert f"revenue@{K} had other code" in history
    assert f"revenue@{K} is no longer a metric" in gone
