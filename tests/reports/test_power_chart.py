"""The picture of a plan: an SVG that stands alone, in the colours of the page, whatever models are called."""

from xml.etree import ElementTree

import pytest

import concord as cc
from concord.reports.charts.power import MOST_MODELS, plan_picture
from tests.metrics_core.planning import shop


@pytest.fixture(scope="module")
def plan() -> cc.Plan:
    return cc.plan(shop.compared())


def texts(svg: str) -> list[str]:
    every = (element.text or "" for element in ElementTree.fromstring(svg).iter())
    return [text for text in every if text.strip()]


def test_it_tells_each_model_and_how_it_is_to_be_read(plan: cc.Plan) -> None:
    told = texts(plan_picture(plan, "R@5"))

    assert told[0] == "R@5 against popularity"
    assert told[1].startswith("Solid: corrected for 6 tests, dashed: not corrected.")
    assert {"als", "ease"} <= set(told)
    assert (
        sum(text.startswith("Power to find") for text in told) == 2
    )  # a head, and for those who listen


def test_without_an_effect_there_is_no_power_to_show() -> None:
    told = texts(plan_picture(cc.plan(sd=0.2, users=100), None))

    assert told[0] == "Users' differences with standard deviation 0.2"
    assert not any(text.startswith("Power to find") for text in told)


def test_names_are_text_and_too_many_models_are_left_out() -> None:
    frame = shop.per_user()["als"].per_user
    other = shop.per_user()["ease"].per_user
    names = ['<script>"', *(f"model {n}" for n in range(MOST_MODELS + 3))]
    plan = cc.plan({"a&b": other, **dict.fromkeys(names, frame)}, baseline="a&b", effect=0.01)

    told = texts(plan_picture(plan, "nDCG@5"))

    assert told[0] == "nDCG@5 against a&b"
    assert '<script>"' in told
    assert len({text for text in told if text.startswith("model ") and "," not in text}) == MOST_MODELS - 1  # fmt: skip


def test_where_nothing_is_known_nothing_is_drawn() -> None:
    frame = shop.per_user()["als"].per_user
    plan = cc.plan({"a": frame, "b": frame}, baseline="a", effect=0.01)

    assert plan.pairs[0].sd is None
    assert texts(plan_picture(plan, "nDCG@5"))[0] == "nDCG@5 against a"
