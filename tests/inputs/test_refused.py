"""Stages and library refuse bad inputs with the same location, problem and fix."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import concord as cc
from tests.inputs.bad_arguments import BAD_ARGUMENTS, LISTS, TRUTH, BadArgument
from tests.inputs.bad_inputs import BAD_INPUTS
from tests.inputs.inputs import BadInput, as_argument


def _parameter(bad: BadInput) -> object:
    behaviour = f"error: {bad.problems[0].partition('; ')[0]}"
    markers = [] if bad.page is None else [pytest.mark.bad_input(bad.page, behaviour)]
    return pytest.param(bad, id=bad.id, marks=markers)


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("bad", [_parameter(bad) for bad in BAD_INPUTS])
def test_bad_input_is_refused_alike_by_stage_and_library(bad: BadInput) -> None:
    bad.write()
    refused = bad.refused_by_stage()

    message = refused if bad.fix is not None else refused[: len(bad.expected)]
    assert message == bad.expected
    if not {"order", "format", "shared"} & set(bad.settings):  # which the library does not have
        assert bad.refused_by_library() == as_argument(refused, bad.table)
    if isinstance(bad.content, pa.Table):
        in_memory = as_argument(refused, bad.table).replace(f"{bad.file}:", f"{bad.table}:")
        assert bad.refused_by_library(bad.content) == in_memory


@pytest.mark.parametrize("bad", BAD_ARGUMENTS, ids=lambda bad: bad.id)
def test_bad_argument_is_refused(bad: BadArgument) -> None:
    valid: dict[str, Any] = {
        "recs": LISTS,
        "truth": TRUTH,
        "metrics": ["RR"],
        "conventions": "standard",
    }

    with pytest.raises(ValueError) as refused:
        cc.evaluate(**valid | bad.changes)

    message = str(refused.value)
    assert bad.message in message
    assert "fix: " in message
    assert "params.yaml" not in message
    assert len(message) < 800
