"""Files in an object store are read like files on this machine: same rows, same refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord
from concord.metrics_core.data.columnar_files import files_in
from concord.metrics_core.data.hashes import hash_content
from concord.metrics_core.data.load_tables import load_recommendations
from concord.metrics_core.data.object_stores import open_filesystem
from concord.metrics_core.data.paths import parse_path
from concord.metrics_core.errors import InputError
from concord.metrics_core.files import parse_address
from tests.inputs.bad_inputs import BAD_INPUTS
from tests.inputs.inputs import BadInput
from tests.pipeline.stages.load_project import (
    loaded,
    loaded_background,
    loaded_truth,
    refusal,
)
from tests.stores.server import BUCKET, GoogleStore, Line, Store, environment
from tests.stores.tables import FORMS, LISTS, TRUTH, written


@pytest.mark.parametrize(
    ("store", "form"),
    [*(("s3", form) for form in FORMS), *(("gs", form) for form in ("parquet", "csv", "parts"))],
)
def test_objects_give_the_values_and_bytes_of_files(
    request: pytest.FixtureRequest, store: str, form: str
) -> None:
    server = request.getfixturevalue(store)
    local = written(form)
    address = server.put(local, f"same/{form}/{local.name}")

    options: dict[str, Any] = {"metrics": ["nDCG@10", "AP@10"], "conventions": "standard"}
    actual, outcome = (concord.evaluate(lists, TRUTH, **options) for lists in (local, address))
    _, quality = loaded(local.name)
    rows = Path("results/lists/m.parquet").read_bytes()
    _, remote = loaded(address, allow_outside=True)

    assert 0 < actual["nDCG@10"] < 1
    assert outcome.per_user.equals(actual.per_user, null_equal=True)
    assert Path("results/lists/m.parquet").read_bytes() == rows
    hashes_of = {"path", "sha256", "md5", "etag"}
    assert {k: v for k, v in remote.items() if k not in hashes_of} == {
        k: v for k, v in quality.items() if k not in hashes_of
    }
    assert (remote["path"], remote["sha256"], remote["md5"]) == (address, None, None)
    assert remote["etag"] == hash_content(parse_path(address)).etag
    assert quality["sha256"]


def test_truth_catalogue_train_and_users_lie_there_too(s3: Store, tmp_path: Path) -> None:
    TRUTH.write_csv(tmp_path / "truth.csv")
    pl.DataFrame({"item": ["1", "2"], "categories": [["a"], ["b"]]}).write_ndjson(
        tmp_path / "items.jsonl"
    )
    pl.DataFrame({"user": ["u001"], "age": ["old"]}).write_csv(tmp_path / "users.csv")
    for name in ("truth.csv", "items.jsonl", "users.csv"):
        s3.put(tmp_path / name, f"background/{name}")
    remote = f"s3://{s3.bucket}/background/"

    how: dict[str, Any] = {
        "metrics": ["nDCG@10", "ILD@10", "Novelty@10"],
        "conventions": "standard",
        "input": {"unknown_items": "keep"},
    }
    result, actual = (
        concord.evaluate(LISTS, truth, train=f"{at}truth.csv", items=f"{at}items.jsonl", **how)
        for truth, at in ((TRUTH, ""), (f"{remote}truth.csv", remote))
    )
    compared = concord.compare(
        {"one": LISTS, "two": LISTS},
        TRUTH,
        metrics=["P@5"],
        baseline="one",
        conventions="standard",
        users=f"{remote}users.csv",
        segments={"age": {"by": "user", "column": "age"}},
        resamples=99,
        panel=False,
    )

    assert actual.per_user.equals(result.per_user, null_equal=True)
    assert compared.leaderboard is not None


def test_an_object_is_known_by_its_etag_and_a_folder_by_those_in_it(
    s3: Store, tmp_path: Path
) -> None:
    one, parts = written("csv"), written("parts")
    file, folder = s3.put(one, "etag/lists.csv"), s3.put(parts, "etag/lists")

    of_file = loaded(file, allow_outside=True)[1]
    before = loaded(folder, allow_outside=True)[1]
    again = loaded(folder, allow_outside=True)[1]
    s3.client.put_object(Bucket=s3.bucket, Key="etag/lists/_SUCCESS", Body=b"changed")
    after = loaded(folder, allow_outside=True)[1]

    head = s3.client.head_object(Bucket=s3.bucket, Key="etag/lists.csv")
    assert of_file["etag"] == head["ETag"].strip('"')
    assert of_file["bytes"] == head["ContentLength"] == one.stat().st_size
    assert before["etag"] == again["etag"] != after["etag"]
    assert len(before["etag"]) == len("0" * 64 + ".dir")


def test_only_the_columns_that_are_needed_are_fetched(s3: Store, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    wide = LISTS.with_columns(unused=pl.Series(rng.bytes(400) for _ in range(len(LISTS))))
    wide.write_parquet(tmp_path / "wide.parquet", compression="uncompressed")
    address = s3.put(tmp_path / "wide.parquet", "wide.parquet")

    with Line(s3.port, lets=1 << 40) as line, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", environment(line.port)["AWS_ENDPOINT_URL"])
        concord.evaluate(address, TRUTH, metrics=["P@5"], conventions="standard")

    assert 0 < line.passed < (tmp_path / "wide.parquet").stat().st_size / 2


SAMPLED = (
    "zero_bytes",
    "csv_named_parquet",
    "parquet_truncated",
    "two_parquet_files_in_one",
    "folder_with_csv",
    "score_of_a_part_missing",
    "byte_of_another_encoding",
)


@pytest.mark.parametrize("bad", [b for b in BAD_INPUTS if b.id in SAMPLED], ids=lambda bad: bad.id)
def test_bad_objects_are_refused_as_files_are(s3: Store, bad: BadInput) -> None:
    bad.write()
    address = s3.put(Path(bad.file), f"wrong/{bad.id}/{bad.file}")

    message = refusal(address, allow_outside=True)

    assert message.startswith(address)
    assert message.replace(address, bad.file) == refusal(bad.file)


@pytest.mark.parametrize(
    ("store", "variables"),
    [
        ("s3", "AWS_ENDPOINT_URL, AWS_REGION"),
        ("gs", "GOOGLE_APPLICATION_CREDENTIALS, STORAGE_EMULATOR_HOST"),
    ],
)
def test_a_missing_object_and_a_missing_bucket_are_refused(
    request: pytest.FixtureRequest, store: str, variables: str
) -> None:
    request.getfixturevalue(store)
    no_object = refusal(f"{store}://{BUCKET}/nothing.csv", allow_outside=True)
    no_bucket = refusal(f"{store}://no-such-bucket/lists.csv", allow_outside=True)

    assert "nothing.csv: there is no such object or folder" in no_object
    assert "lists.csv: the bucket 'no-such-bucket' does not exist\n" in no_bucket
    assert f"fix: check its name and {variables}" in no_bucket


def test_another_content_has_another_etag_in_googles_store(gs: GoogleStore) -> None:
    address = gs.put(written("csv"), "etag.csv")
    before = hash_content(parse_path(address)).etag
    gs.put(written("csv", LISTS[:1]), "etag.csv")

    assert before
    assert before != hash_content(parse_path(address)).etag


def test_a_part_with_an_empty_name_in_its_key_is_refused(s3: Store) -> None:
    s3.client.put_object(Bucket=s3.bucket, Key="double//part-0.parquet", Body=b"PAR1")

    message = refusal(f"s3://{s3.bucket}/double", allow_outside=True)

    assert message.startswith(f"s3://{s3.bucket}/double//part-0.parquet: has a key with `//`")


def test_keys_with_signs_of_addresses_are_read_as_they_are(s3: Store, tmp_path: Path) -> None:
    part = tmp_path / "lists" / "time=10:00#" / "a?b@c.parquet"
    part.parent.mkdir(parents=True)
    LISTS.write_parquet(part)
    address = s3.put(tmp_path / "lists", "signs")

    result = concord.evaluate(address, TRUTH, metrics=["P@5"], conventions="standard")

    actual = concord.evaluate(LISTS, TRUTH, metrics=["P@5"], conventions="standard")
    assert result.per_user.equals(actual.per_user, null_equal=True)


def test_parts_that_are_removed_between_listing_and_hashing_are_not_left_out(
    s3: Store, tmp_path: Path
) -> None:
    folder = parse_path(s3.put(written("parts"), "vanishing"))
    listed = files_in(folder)
    assert hash_content(folder).etag

    s3.client.delete_object(Bucket=s3.bucket, Key=f"vanishing/{listed[1].relative_to(folder)}")

    with pytest.raises(InputError) as refused:
        hash_content(folder)
    (problem,) = refused.value.problems
    assert problem.where == str(listed[1])
    assert problem.message == "was removed while it was read"


@pytest.mark.parametrize(
    "name", ["AWS_CA_BUNDLE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_SECRET_ACCESS_KEY"]
)
def test_another_environment_is_another_client(
    s3: Store, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    address = parse_address(f"s3://{s3.bucket}/lists.csv")
    before = open_filesystem(address)
    assert open_filesystem(address) is before

    monkeypatch.setenv(name, "another")

    assert open_filesystem(address) is not before


def test_an_object_that_changes_while_it_is_read_is_refused(
    s3: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = s3.put(written("csv"), "changing.csv")

    def keep_and_change(*inputs: object, **selected: object) -> object:
        s3.client.put_object(Bucket=s3.bucket, Key="changing.csv", Body=b"user,item\nu,a\n")
        return load_recommendations(*inputs, **selected)  # type: ignore[arg-type]

    monkeypatch.setattr("concord.pipeline.stages.load.load_recommendations", keep_and_change)

    assert "changing.csv changed while it was read" in refusal(address, allow_outside=True)


def test_background_and_truth_say_their_etags(s3: Store, tmp_path: Path) -> None:
    TRUTH.write_csv(tmp_path / "truth.csv")
    address = s3.put(tmp_path / "truth.csv", "quality/truth.csv")

    rows, quality = loaded_truth(address, allow_outside=True)
    assert len(rows) == len(TRUTH)
    assert quality["etag"]
    with pytest.raises(InputError, match=r"input\.allow_outside"):
        loaded_background("train", address)
