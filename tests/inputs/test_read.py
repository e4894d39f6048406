"""Every valid input is read correctly."""

from pathlib import Path

import pytest

from tests.inputs.good_inputs import GOOD_INPUTS, GoodInput


def _parameter(good: GoodInput) -> object:
    markers = [] if good.page is None else [pytest.mark.bad_input(good.page, good.behaviour)]
    return pytest.param(good, id=good.id, marks=markers)


@pytest.mark.parametrize("good", [_parameter(good) for good in GOOD_INPUTS])
def test_good_input_is_read(
    good: GoodInput, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    good.write()

    rows, quality = good.load()

    values = [row.values() if isinstance(row, dict) else row for row in rows]
    assert [tuple(None if repr(v) == "nan" else v for v in row) for row in values] == good.rows
    assert {name: quality[name] for name in good.quality} == good.quality
