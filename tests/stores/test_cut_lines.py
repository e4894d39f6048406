"""A connection to the store that is cut, silent or refused: a message, no partial file, no hang."""

import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord
from concord.metrics_core.data import object_stores as filesystems
from concord.metrics_core.errors import InputError
from tests.pipeline.stages.load_project import loaded, refusal
from tests.stores.server import BUCKET, HOST, KEY, SECRET, Line, Store, environment, store
from tests.stores.tables import written

USERS, LENGTH = 3_000, 20
HALF = 200_000  # bytes, of more than 400,000
RNG = np.random.default_rng(4)
MANY = pl.DataFrame(
    {
        "user": np.repeat(np.arange(USERS), LENGTH),
        "item": RNG.permuted(np.tile(np.arange(400), (USERS, 1)), axis=1)[:, :LENGTH].ravel(),
        "score": RNG.random((USERS, LENGTH)).ravel(),
    }
)


def _through(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", environment(line.port)["AWS_ENDPOINT_URL"])


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow", "jsonl", "parts"])
def test_half_line_is_reported_and_leaves_no_file(
    s3: Store, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    local = written(form, MANY)
    address = s3.put(local, f"cut/{local.name}")
    with Line(s3.port, lets=HALF) as line:
        _through(line, monkeypatch)
        begun = time.monotonic()
        message = refusal(address, allow_outside=True)
        took = time.monotonic() - begun

        assert line.was_cut
        assert message.startswith(address)
        assert "could not be read completely: the network connection failed" in message
        assert "fix: run again; if it fails again, check AWS_ENDPOINT_URL" in message
        assert took < 60
        assert not [each for each in Path().rglob("*") if "results" in each.parts]

        line.repair()
        rows, quality = loaded(address, allow_outside=True)
    assert len(rows) == quality["rows"] == USERS * LENGTH


class _Redirecting(BaseHTTPRequestHandler):
    location = ""

    def do_GET(self) -> None:
        self.send_response(307)
        self.send_header("Location", f"{self.location}{self.path}")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.fault(32, "an error; the other server gets no request")
@pytest.mark.parametrize("begins", ["http://", "//"])
def test_a_redirect_to_another_server_is_refused(
    s3: Store, monkeypatch: pytest.MonkeyPatch, begins: str
) -> None:
    address = s3.put(written("csv"), "redirected.csv")
    with Line(s3.port, lets=1 << 40) as other, HTTPServer((HOST, 0), _Redirecting) as server:
        monkeypatch.setattr(_Redirecting, "location", f"{begins}localhost:{other.port}")
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{HOST}:{server.server_port}")
        Thread(target=server.serve_forever, daemon=True).start()

        message = refusal(address, allow_outside=True)
        server.shutdown()

        assert other.passed == 0
    assert message.startswith(f"{address}: is redirected to another server: {begins}localhost")
    assert "set AWS_ENDPOINT_URL" in message


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl", "parts"])
@pytest.mark.parametrize("lets", [0, 1_200, 5_000, 100_000])
def test_file_cut_at_any_byte_is_refused(
    s3: Store, monkeypatch: pytest.MonkeyPatch, form: str, lets: int
) -> None:
    monkeypatch.setattr(filesystems, "ATTEMPTS", 1)
    filesystems._cached_filesystem.cache_clear()
    rows = pl.DataFrame({"user": range(50_000), "item": range(50_000), "rank": 1})
    local = written(form, rows)
    address = s3.put(local, f"anywhere/{local.name}")

    with Line(s3.port, lets=lets) as line:
        _through(line, monkeypatch)
        message = refusal(address, allow_outside=True)

    filesystems._cached_filesystem.cache_clear()
    assert line.was_cut
    assert message.startswith(address)
    assert "the network connection failed" in message


def test_a_line_that_is_cut_once_is_taken_up_again(
    s3: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = written("parquet", MANY)
    address = s3.put(local, "once/lists.parquet")
    loaded(str(local))
    rows = Path("results/lists/m.parquet").read_bytes()

    with Line(s3.port, lets=HALF, cuts=1) as line:
        _through(line, monkeypatch)
        loaded(address, allow_outside=True)

    assert line.was_cut == 1
    assert Path("results/lists/m.parquet").read_bytes() == rows


def test_a_store_that_falls_silent_is_not_waited_for_for_ever(
    s3: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystems, "READ_TIMEOUT", 1.0)
    monkeypatch.setattr(filesystems, "ATTEMPTS", 1)
    filesystems._cached_filesystem.cache_clear()
    address = s3.put(written("csv", MANY), "silent/lists.csv")

    with Line(s3.port, lets=HALF, silent=True) as line:
        _through(line, monkeypatch)
        begun = time.monotonic()
        message = refusal(address, allow_outside=True)
        took = time.monotonic() - begun

    filesystems._cached_filesystem.cache_clear()
    assert "could not be read completely" in message
    assert took < 60


def test_the_library_says_it_too(s3: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    address = s3.put(written("parquet", MANY), "library/lists.parquet")
    with Line(s3.port, lets=HALF) as line:
        _through(line, monkeypatch)
        with pytest.raises(InputError, match="network connection failed"):
            concord.evaluate(address, {"u": ["1"]}, metrics=["P@5"], conventions="standard")


def test_refused_access_names_the_variables_that_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with store(INITIAL_NO_AUTH_ACTION_COUNT="1") as guarded:  # making the bucket
        for name, value in environment(guarded.port).items():
            monkeypatch.setenv(name, value)

        message = refusal(f"s3://{BUCKET}/lists.csv", allow_outside=True)

    assert f"s3://{BUCKET}/lists.csv: access denied (" in message
    assert (
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, "
        "of an account that may read it" in message
    )
    assert SECRET not in message
    assert KEY not in message


@pytest.mark.parametrize(
    "address",
    [
        f"s3://{KEY}:{SECRET}@{BUCKET}/lists.csv",
        f"s3://{BUCKET}/lists.csv?access_key={KEY}&secret_key={SECRET}",
        f"s3://{BUCKET}/lists.csv#{SECRET}",
        f"s3://{BUCKET}?secret_key={SECRET}",
        f"gs://{SECRET}@{BUCKET}/lists.csv",
        f"s3://{KEY}:{SECRET}/more@{BUCKET}/lists.csv",
        f"abfs://{BUCKET}:{SECRET}@account.dfs.core.windows.net/lists.csv",
        f"az://{BUCKET}/lists.csv?sig={SECRET}",
        f"s3a://{KEY}:{SECRET}@{BUCKET}/lists.csv",
        f"https://{KEY}:{SECRET}@store/lists.csv",
        f"https://store/lists.csv?signature={SECRET}",
    ],
)
def test_secrets_in_an_address_are_refused_and_not_repeated(s3: Store, address: str) -> None:
    with pytest.raises(InputError) as library:
        concord.evaluate(address, {"u": ["1"]}, metrics=["P@5"], conventions="standard")
    for message in (refusal(address, allow_outside=True), refusal(address), str(library.value)):
        if not address.startswith("https"):
            assert (
                "contains a user, a password or a port" in message or "contains a query" in message
            )
            assert "credentials and endpoints come from the environment" in message
        assert SECRET not in message
        assert KEY not in message
    assert not address.startswith("https") or "is an address, not a local file" in str(
        library.value
    )


def test_reports_name_address_and_etag_and_nothing_holds_a_secret(s3: Store) -> None:
    lists = s3.put(written("csv", MANY), "secret/lists.csv")
    truth = {"1": ["1"], "2": ["5"]}
    options: dict[str, Any] = {"metrics": ["P@5"], "conventions": "standard"}
    models = {"one": lists, "two": lists}
    comparison = concord.compare(
        models, truth, baseline="one", resamples=99, panel=False, **options
    )
    comparison.to_html("report.html")
    with pytest.raises(InputError) as missing:
        concord.evaluate(f"s3://{BUCKET}/secret/none.csv", truth, **options)
    _, quality = loaded(lists, allow_outside=True)

    files = [path for path in Path().rglob("*") if path.is_file() and path.suffix != ".csv"]
    assert {"report.html", "m.json", "m.parquet"} <= {path.name for path in files}
    assert lists in str(comparison.provenance)
    assert "etag " in Path("report.html").read_text(encoding="utf-8")
    printed = f"{comparison} {comparison.provenance} {comparison.quality} {missing.value}".encode()
    for content in (printed, *(path.read_bytes() for path in files)):
        assert SECRET.encode() not in content
        assert KEY.encode() not in content
    assert quality["etag"]
