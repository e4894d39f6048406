"""A format is one row of a table: everything else that lists formats agrees with it."""

from typing import get_args

import pytest

from concord.metrics_core.data.formats import DELIMITERS, ENDINGS, FORMATS
from concord.metrics_core.data.input_table import InputTable
from concord.metrics_core.data.read_source import read_source
from concord.metrics_core.errors import argument_names
from concord.pipeline.init import tables
from concord.pipeline.params.model import Format
from concord.pipeline.running.connections import isolated_connection


def test_every_format_can_be_set() -> None:
    assert set(get_args(Format)) == FORMATS.keys()


def test_init_has_a_reader_of_every_format() -> None:
    assert tables._READERS.keys() == FORMATS.keys()


def test_a_fix_that_names_the_ending_of_a_format_names_one_that_is_known() -> None:
    assert {name: ENDINGS.get(f".{name}") for name in DELIMITERS} == {n: n for n in DELIMITERS}


def test_a_format_without_reader_is_not_read_as_another() -> None:
    file = InputTable("lists.orc", "orc", ("user", "item"), (), {}, argument_names("recs"))
    with isolated_connection() as connection, pytest.raises(KeyError, match="orc"):
        read_source(connection, file)
