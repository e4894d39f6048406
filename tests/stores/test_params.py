"""Addresses in params.yaml: consent, secrets, results, and what DVC makes of them."""

from pathlib import Path
from typing import Any

import pytest

from concord.metrics_core.checking.problems import InputError
from concord.pipeline.params import remote_inputs
from concord.pipeline.params.places import place_findings
from concord.pipeline.params.remote_inputs import unwatched_by_dvc
from tests.pipeline.loading.load_project import params_of, refusal, truth_refusal
from tests.stores.server import KEY, SECRET


def _found(path: str, **results: str) -> list[tuple[Any, ...]]:
    params = params_of(path)
    params = params.model_copy(update={"results": params.results.model_copy(update=results)})
    return list(place_findings(params, Path.cwd()))


@pytest.mark.parametrize("address", ["s3://b/lists.csv", "gs://b/lists.csv", "az://b/lists.csv"])
def test_what_lies_in_a_store_needs_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)

    for message, key in ((refusal(address), "models.m"), (truth_refusal(address), "data.truth")):
        assert message.startswith(f"{address}: lies in an object store")
        assert "`input.allow_outside: true`" in message
        assert f"`{key}.path`" in message


def test_secrets_are_found_when_params_are_read() -> None:
    found = _found(f"s3://{KEY}:{SECRET}@b/lists.csv")

    assert [keys for keys, _, _ in found] == [("data", "truth", "path"), ("models", "m", "path")]
    assert "holds a user, a password or a port" in found[0][1]
    assert SECRET not in str(found)
    assert KEY not in str(found)


def test_results_are_written_on_this_machine() -> None:
    (finding,) = _found("lists.csv", lists="s3://b/lists")

    assert finding == (("results", "lists"), "is an address", "name a folder of the project, such as results/lists")  # fmt: skip


def test_dvc_has_to_know_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_inputs, "find_spec", lambda name: None)

    plugin = [str(each) for each in unwatched_by_dvc(params_of("s3://b/lists.csv"))]
    scheme = [str(each) for each in unwatched_by_dvc(params_of("gcs://b/lists.csv"))]

    assert plugin == [
        "dvc-s3: is not installed, and DVC watches s3:// by it\n  fix: `pip install 'dvc[s3]'`"
    ]
    assert "params.yaml: models.m.path: begins with gcs://, which DVC does not know" in scheme[1]
    assert "write gs://b/lists.csv" in scheme[1]
    assert not [*unwatched_by_dvc(params_of("lists.csv"))]
    monkeypatch.setattr(remote_inputs, "find_spec", lambda name: name == "dvc_azure")
    assert not [*unwatched_by_dvc(params_of("azure://c/lists.csv"))]


def test_an_address_that_names_nothing_is_refused_as_such() -> None:
    with pytest.raises(InputError, match="names no object"):
        [*unwatched_by_dvc(params_of("s3://bucket"))]
