"""The examples in examples/published, and the page that shows their output."""

import hashlib
import runpy
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.project import ROOT, attempt, copied, run_stages

FOLDER = ROOT / "examples/published"
PAGE = (ROOT / "docs/reference/published.md").read_text(encoding="utf-8")
RUN = "".join(f"t{topic} Q0 d{rank} {rank} {9 - rank} x\n" for topic in (1, 2) for rank in (1, 2))
FILES = {"results.test": RUN, "qrels.test": "t1 0 d1 1\nt2 0 d2 1\n"}


@pytest.mark.parametrize("name", ["texts", "krichene_rendle", "urbano2019", "panel"])
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
