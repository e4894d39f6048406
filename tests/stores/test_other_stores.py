"""Addresses of stores, also in params.yaml, and the messages of stores that fail.

No server of Microsoft's store runs here: that what lies there is read rests on pyarrow.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

from concord.metrics_core.data.object_stores import (
    delta_options,
    is_store_failure,
    open_filesystem,
    store_problem,
)
from concord.metrics_core.data.paths import parse_path
from concord.metrics_core.errors import InputError
from concord.metrics_core.files import is_remote, parse_address
from concord.pipeline.params import paths as remote_inputs
from concord.pipeline.params.paths import dvc_problems, path_problems
from tests.pipeline.stages.load_project import params_of, refusal, truth_refusal
from tests.stores.server import KEY, SECRET


@pytest.mark.parametrize(
    ("text", "store", "bucket", "key", "account"),
    [
        ("s3://b/k.csv", "s3", "b", "k.csv", None),
        ("S3://b/a folder/k=%2F/", "s3", "b", "a folder/k=%2F", None),
        ("s3:/b/k.csv", "s3", "b", "k.csv", None),  # as a Path writes it
        ("gs://b/k/l.parquet", "gs", "b", "k/l.parquet", None),
        ("gcs://b/k", "gs", "b", "k", None),
        ("az://c/k.csv", "az", "c", "k.csv", None),
        ("azure://c/k.csv", "az", "c", "k.csv", None),
        ("abfs://c@acc.dfs.core.windows.net/k.csv", "az", "c", "k.csv", "acc"),
    ],
)
def test_parts_of_an_address_are_parsed(
    text: str, store: str, bucket: str, key: str, account: str | None
) -> None:
    result = parse_address(text)

    assert is_remote(text)
    assert (result.store, result.bucket, result.key, result.account) == (
        store,
        bucket,
        key,
        account,
    )
    assert parse_address(str(result)) == result
    assert str(parse_path(text)) == str(result)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s3://bucket", "names no object"),
        ("s3://", "names no object"),
        ("gs://bucket/", "names no object"),
        ("s3://bucket/a/../b.csv", "contains `//`, `.` or `..`"),
        ("s3://bucket/a//b.csv", "contains `//`, `.` or `..`"),
        ("s3://localhost:9000/b.csv", "contains a user, a password or a port"),
        ("abfs://c@acc.example.org/k.csv", "contains a user, a password or a port"),
    ],
)
def test_invalid_object_address_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("`", ".").replace("..", "..")):
        parse_address(text)


@pytest.mark.parametrize("scheme", ["s3a", "S3N"])
def test_schemes_of_hadoop_are_refused_with_what_to_write(scheme: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_path(f"{scheme}://bucket/a folder/lists.csv")

    (problem,) = refused.value.problems
    assert problem.message == f"starts with {scheme.lower()}://, which is Hadoop's name of S3"
    assert problem.fix == "write s3://bucket/a folder/lists.csv"


@pytest.mark.parametrize(
    "text", ["https://b/k.csv", "hdfs://b/k", "lists.csv", "a/s3://b", "C:\\a"]
)
def test_other_addresses_are_not_object_stores(text: str) -> None:
    assert not is_remote(text)


def test_the_stores_are_opened_with_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:8")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "account")
    monkeypatch.setenv("AZURE_STORAGE_KEY", "Zm9v")

    s3 = open_filesystem(parse_address("s3://b/k"))
    assert isinstance(s3, fs.S3FileSystem)
    assert s3.region == "eu-central-1"
    assert isinstance(open_filesystem(parse_address("gs://b/k")), fs.GcsFileSystem)
    assert isinstance(open_filesystem(parse_address("az://b/k")), fs.AzureFileSystem)
    where, version, how = delta_options(parse_address("s3://b/k"))
    assert (where, version) == ("s3://b/k", None)
    assert how["AWS_ENDPOINT_URL"] == "http://127.0.0.1:8"
    assert how["AWS_ALLOW_HTTP"] == "true"
    assert delta_options(parse_address("gcs://b/k"))[0] == "gs://b/k"
    assert delta_options(parse_address("azure://c/k"))[2]["azure_storage_account_name"] == "account"


def test_an_account_of_azure_has_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(InputError, match="names no account of Azure"):
        open_filesystem(parse_address("az://container/k.csv"))


def test_a_key_and_a_token_of_azure_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_KEY", "Zm9v")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", f"sig={SECRET}")

    with pytest.raises(
        InputError, match="a key or a SAS token, and the environment has both"
    ) as error:
        open_filesystem(parse_address("abfs://c@account.dfs.core.windows.net/k.csv"))
    assert SECRET not in str(error.value)


FAILURES = {  # as pyarrow 25 words them
    "s3://b/k": [
        (
            "When reading: AWS Error ACCESS_DENIED during HeadObject operation: No",
            "access denied (accessdenied)",
        ),
        ("AWS Error UNKNOWN (HTTP status 403) during HeadObject operation", "access denied (403)"),
        ("AWS Error UNKNOWN (HTTP status 301) during HeadBucket operation", "is in another region"),
        (
            "AWS Error NO_SUCH_BUCKET during ListObjectsV2 operation",
            "the bucket 'b' does not exist",
        ),
        (
            "AWS Error NETWORK_CONNECTION during GetObject: curlCode: 18",
            "the network connection failed",
        ),
        ("AWS Error SLOW_DOWN during GetObject operation", "the store answered slowdown"),
    ],
    "gs://b/k": [
        (
            "google::cloud::Status(UNAVAILABLE: Retry policy exhausted)",
            "the network connection failed",
        ),
        ("google::cloud::Status(PERMISSION_DENIED: no)", "access denied (permissiondenied)"),
        (
            "google::cloud::Status(UNAVAILABLE: Retry policy exhausted: "
            "Could not create a OAuth2 access token to",
            "no valid credentials were found",
        ),
        ("google::cloud::Status(NOT_FOUND: no)", "does not exist"),
    ],
    "az://b/k": [
        ("failed. Azure Error: [] Fail to get a new connection", "the network connection failed"),
        ("failed. Azure Error: [AuthorizationFailure] 403", "access denied (authorizationfailure)"),
        ("failed. Azure Error: [ContainerNotFound] 404", "the container 'b' does not exist"),
        (
            "N5Azure4Core11Credentials23AuthenticationExceptionE: Failed to get token",
            "access denied",
        ),
    ],
}


@pytest.mark.parametrize(
    ("where", "message", "expected"),
    [(where, *each) for where, cases in FAILURES.items() for each in cases],
)
def test_failures_are_reported_in_plain_words(where: str, message: str, expected: str) -> None:
    error = OSError(f"{message} {SECRET}")

    assert is_store_failure(where, error)
    assert expected in (reported := str(store_problem(where, error)))
    assert SECRET not in reported
    assert not is_store_failure("lists.csv", error)


def test_damaged_file_is_not_a_failure_of_the_store() -> None:
    assert not is_store_failure(
        "s3://b/k", pa.ArrowInvalid("Parquet magic bytes not found in footer")
    )
    assert not is_store_failure("s3://b/k", OSError("Couldn't deserialize thrift"))


def _loaded(path: str, **results: str) -> list[tuple[Any, ...]]:
    params = params_of(path)
    params = params.model_copy(update={"results": params.results.model_copy(update=results)})
    return [(each.location, each.message, each.fix) for each in path_problems(params, Path.cwd())]


@pytest.mark.parametrize("address", ["s3://b/lists.csv", "gs://b/lists.csv", "az://b/lists.csv"])
def test_file_in_an_object_store_needs_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)

    for message, key in ((refusal(address), "models.m"), (truth_refusal(address), "data.truth")):
        assert message.startswith(f"{address}: is in an object store")
        assert "`input.allow_outside: true`" in message
        assert f"`{key}.path`" in message


def test_secrets_are_found_when_params_are_read() -> None:
    result = _loaded(f"s3://{KEY}:{SECRET}@b/lists.csv")

    assert [keys for keys, _, _ in result] == [("data", "truth", "path"), ("models", "m", "path")]
    assert "contains a user, a password or a port" in result[0][1]
    assert SECRET not in str(result)
    assert KEY not in str(result)


def test_results_are_written_on_this_machine() -> None:
    (finding,) = _loaded("lists.csv", lists="s3://b/lists")

    assert finding == (
        ("results", "lists"),
        "is an address",
        "name a folder of the project, such as results/lists",
    )


def test_dvc_has_to_know_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_inputs, "find_spec", lambda name: None)

    plugin = [str(each) for each in dvc_problems(params_of("s3://b/lists.csv"))]
    scheme = [str(each) for each in dvc_problems(params_of("gcs://b/lists.csv"))]

    assert plugin == [
        "dvc-s3: is not installed; DVC needs it for s3://\n  fix: `pip install 'dvc[s3]'`"
    ]
    assert "params.yaml: models.m.path: starts with gcs://, which DVC does not support" in scheme[1]
    assert "write gs://b/lists.csv" in scheme[1]
    assert not [*dvc_problems(params_of("lists.csv"))]
    monkeypatch.setattr(remote_inputs, "find_spec", lambda name: name == "dvc_azure")
    assert not [*dvc_problems(params_of("azure://c/lists.csv"))]


def test_an_address_that_names_nothing_is_refused_as_such() -> None:
    with pytest.raises(InputError, match="names no object"):
        [*dvc_problems(params_of("s3://bucket"))]
