"""The examples in examples/published, and the page that shows their output."""

import csv
import hashlib
import os
import runpy
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import polars as pl
import pytest

from tests.parity.measure import SCRIPTS, python_with
from tests.project import ROOT, attempt, copied, movielens, run_stages

FOLDER = ROOT / "examples/published"
PAGE = (ROOT / "docs/reference/published.md").read_text(encoding="utf-8")
RUN = "".join(f"t{topic} Q0 d{rank} {rank} {9 - rank} x\n" for topic in (1, 2) for rank in (1, 2))
TOPICS = range(40)
# AP: 21 topics gain 0.1, 19 lose it; P@10: 8 of 40 topics gain 0.1
AP = [f"{topic},0.5,{0.6 if topic < 21 else 0.4}" for topic in TOPICS]
P_10 = [f"{topic},0.5,{0.6 if topic < 8 else 0.5}" for topic in TOPICS]
REPLICATION = "rpl_wcrobust0405_45"
FILES = {"results.test": RUN, "qrels.test": "t1 0 d1 1\nt2 0 d2 1\n"} | {
    f"rpl_wcrobust0405_{name}.csv": "\n".join([f"Row,WCrobust0405,{REPLICATION}", *rows])
    for name, rows in {"ap": AP, "p10": P_10, "ndcg1000": AP}.items()
}


@pytest.fixture(autouse=True)
def examples_import_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let examples import a module of their folder, as `python FILE` does."""
    monkeypatch.syspath_prepend(FOLDER)


@pytest.mark.parametrize(
    "name", ["texts", "krichene_rendle", "urbano2019", "ncf_ties", "mteb_ties", "panel"]
)
def test_the_page_shows_what_the_example_prints(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")

    printed = capsys.readouterr().out
    assert f"$ python examples/published/{name}.py\n{printed}```" in PAGE


def test_the_page_has_every_published_mean_of_trec_eval() -> None:
    _, *rows = (FOLDER / "trec_eval.csv").read_text(encoding="utf-8").splitlines()
    table = PAGE.partition("27 of 27 published means agree:\n")[2].partition("```")[0]

    assert [line.split()[2] for line in table.splitlines()[1:]] == [r.split(",")[2] for r in rows]


def test_the_how_to_page_shows_the_verification_of_a_table_of_the_demo(tmp_path: Path) -> None:
    project = copied(tmp_path)
    run_stages(project, "load-truth", "load ease", "load popularity")
    page = (ROOT / "docs/how-to/reconcile.md").read_text(encoding="utf-8")

    done = attempt(project, "concord", "verify", str(FOLDER / "demo.csv"), COLUMNS="150")

    command = "$ concord verify examples/published/demo.csv\n"
    assert f"{command}{done.stdout}```" in page
    assert f"\n{(FOLDER / 'demo.csv').read_text(encoding='utf-8')}{command}" in page


@pytest.fixture
def address() -> Iterator[str]:
    """Return the address of a server that has `FILES`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(FILES[Path(self.path).name].encode())

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_trec_eval_reads_files_with_the_expected_hashes(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = runpy.run_path(str(FOLDER / "trec_eval.py"))
    variables = example["main"].__globals__
    for name, content in FILES.items():
        variables["SHA256"][name] = hashlib.sha256(content.encode()).hexdigest()
    variables["PUBLISHED"] = tmp_path / "published.csv"
    variables["PUBLISHED"].write_text("model,metric,value\nSTANDARD,recip_rank,0.75\n")

    example["main"](address)

    assert "1 of 1 published means agree:" in capsys.readouterr().out


def test_trec_eval_refuses_a_file_with_another_hash(address: str) -> None:
    example = runpy.run_path(str(FOLDER / "trec_eval.py"))

    with pytest.raises(SystemExit, match=r"results\.test: SHA-256 is .*, not 69019319f6cb"):
        example["main"](address)


def test_breuer2020_counts_the_printed_numbers_that_agree(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    example = runpy.run_path(str(FOLDER / "breuer2020.py"))
    variables = example["main"].__globals__
    for metric, name in variables["FILES"].items():
        variables["SHA256"][metric] = hashlib.sha256(FILES[name].encode()).hexdigest()
    variables["PUBLISHED"] = tmp_path / "published.csv"
    variables["PUBLISHED"].write_text(
        "run,metric,mean,p\n"
        "WCrobust0405,AP,0.5000,\n"
        f"{REPLICATION},P@10,0.5200,0.003\n"  # t-test: 0.0034
        f"{REPLICATION},AP,0.5050,0.756\n"  # t-test: 0.75622
        f"{REPLICATION},nDCG,0.5100,0.757\n"  # both differ
    )

    example["main"](address)

    output = capsys.readouterr().out
    assert "3 of 4 printed means agree" in output
    assert "2 of 3 printed p-values are those of the t-test, cut off" in output
    assert [line.split() for line in output.splitlines()[4:]] == [
        [REPLICATION, "P@10", "8", "0.003", "0.0034", "0.0078"]
    ]


def test_the_page_has_the_printed_p_values_of_breuer2020() -> None:
    with (FOLDER / "breuer2020.csv").open(encoding="utf-8") as file:
        printed = {(row["run"], row["metric"]): row["p"] for row in csv.DictReader(file)}
    table = PAGE.partition("13 are tested by sign flips here:\n")[2].partition("```")[0]

    rows = [line.split() for line in table.splitlines()[1:]]
    assert len(rows) == 13
    assert [row[3] for row in rows] == [printed[row[0], row[1]] for row in rows]
    assert f"\n{len(printed)} of {len(printed)} printed means agree\n" in PAGE
    assert f"\n{sum(map(bool, printed.values()))} of 60 printed p-values are those" in PAGE


def test_the_page_has_every_printed_mean_of_lenskit_and_equal_recomputed_ones() -> None:
    _, *rows = (FOLDER / "lenskit_demo.csv").read_text(encoding="utf-8").splitlines()
    table = PAGE.partition("demo.py lists\n")[2].partition("```")[0]

    cells = [line.split() for line in table.splitlines()[1:]]
    assert [",".join(each[:3]) for each in cells] == rows
    assert [each[3] for each in cells] == [each[4] for each in cells]


@pytest.mark.nightly
def test_lenskit_and_concord_return_the_same_means_of_lenskits_demo_experiment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = [pl.read_parquet(movielens() / f"{part}.parquet") for part in ("train", "test")]
    columns = ["user", "item", "rating", "timestamp"]
    ratings = pl.concat([table.select(columns) for table in tables]).filter(pl.col("user") <= 60)
    ratings.write_csv(tmp_path / "u.data", separator="\t", include_header=False)
    python = python_with(SCRIPTS / "with_lenskit.txt")
    script = FOLDER / "lenskit_lists.py"
    one_process = os.environ | {"LK_NUM_PROCS": "1"}
    lists = tmp_path / "lists"
    subprocess.run([python, script, tmp_path / "u.data", lists], env=one_process, check=True)

    runpy.run_path(str(FOLDER / "lenskit_demo.py"))["main"](str(lists))

    _, *rows = capsys.readouterr().out.splitlines()
    means = [tuple(map(float, row.split()[3:])) for row in rows]
    assert len(means) == 6
    assert [concord for _, concord in means] == pytest.approx(
        [lenskit for lenskit, _ in means], abs=1e-6
    )
