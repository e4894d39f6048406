"""`concord.preset` and `concord.presets`: conventions, and a sequence of names."""

from dataclasses import replace

import pytest

import concord as cc
from concord.metrics_core.conventions.presets import preset, presets
from concord.typing import PresetName


def test_a_preset_equals_its_conventions() -> None:
    public, internal = (
        cc.preset("replay", relevance_threshold=2),
        preset("replay", relevance_threshold=2),
    )
    recs, truth = {"u": ["a", "b"]}, {"u": {"b": 2.0}}
    values = [
        cc.evaluate(recs, truth, metrics=["RR@2"], conventions=each)["RR@2"]
        for each in (public, internal)
    ]

    assert public == internal
    assert internal == public
    assert public != replace(public, ties="given")
    assert public.fingerprint == internal.fingerprint
    assert values == [0.5, 0.5]


@pytest.mark.parametrize("name", cc.presets())
def test_every_preset_allows_null_as_relevance_threshold(name: PresetName) -> None:
    conventions = cc.preset(name, relevance_threshold=None)

    assert (conventions.preset, conventions.relevance_threshold) == (name, None)


def test_a_preset_is_shown_as_text_html_frame_and_plain_data() -> None:
    conventions = cc.preset("replay")
    frame = conventions.to_frame()

    assert conventions.summary.startswith("Conventions of replay\nconvention")
    assert "but for Hit: duplicates: first" in conventions.summary
    assert len(repr(conventions).splitlines()) <= 20
    assert "<td" in conventions._repr_html_()
    assert conventions.to_dict() == conventions.as_dict()
    assert frame.filter(metric="Hit")["value"].to_list() == ["first"]


def test_the_list_of_presets_is_a_sequence_of_names() -> None:
    conventions = cc.presets()

    assert [*conventions] == presets()
    assert conventions[0] == "standard"
    assert conventions[:2] == presets()[:2]
    assert "ranx" in conventions
    assert len(conventions) == conventions.to_frame().height
    assert "Checked against ranx" in conventions.summary
