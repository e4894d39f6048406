"""Contrast by the formula of WCAG 2.2: 4.5 for text, 3 for the parts of pictures.

Distance of colours by CIE 1976 (L*, a*, b*), also as people see them who lack a kind of cones:
Machado, Oliveira & Fernandes 2009, "A physiologically-based model for simulation of color vision
deficiency", severity 1.0.
"""

from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from concord.reports.charts.svg import COLOURS, SERIES, stylesheet

TONES = ["better", "worse", "even", "open"]
TEXT = ["ink", "ink-soft", "ink-faint", "accent", *TONES, *SERIES]
GROUNDS = ["page", "raised"]


SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
XYZ_OF_LINEAR_RGB = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
MIN_DISTANCE = 15


def _linear(colour: str) -> NDArray[np.float64]:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _luminance(colour: str) -> float:
    return float(_linear(colour) @ [0.2126, 0.7152, 0.0722])


def _lab(colour: str, sight: str) -> NDArray[np.float64]:
    xyz = XYZ_OF_LINEAR_RGB @ np.clip(SIGHT[sight] @ _linear(colour), 0, 1)
    x, y, z = (
        t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116
        for t in xyz / XYZ_OF_LINEAR_RGB.sum(axis=1)
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def _distance(one: str, other: str, sight: str = "normal") -> float:
    return float(np.linalg.norm(_lab(one, sight) - _lab(other, sight)))


def _contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _mixed(colour: str, ground: str, share: float) -> str:
    parts = [
        round(share * int(colour[i : i + 2], 16) + (1 - share) * int(ground[i : i + 2], 16))
        for i in (1, 3, 5)
    ]
    return "#" + "".join(f"{part:02x}" for part in parts)


def test_black_on_white_is_21() -> None:
    assert _contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("name", TEXT)
def test_text_is_readable(name: str, ground: str, scheme: int) -> None:
    assert _contrast(COLOURS[name][scheme], COLOURS[ground][scheme]) >= 4.5


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("tone", ["better", "worse"])
def test_text_is_readable_on_tinted_cells(tone: str, scheme: int) -> None:
    ground = _mixed(COLOURS[tone][scheme], COLOURS["page"][scheme], 0.18)
    assert _contrast(COLOURS["ink-soft"][scheme], ground) >= 4.5
    assert _contrast(COLOURS[tone][scheme], ground) >= 3


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("tone", [*TONES, *SERIES])
def test_marks_can_be_seen_on_the_band(tone: str, scheme: int) -> None:
    assert _contrast(COLOURS[tone][scheme], COLOURS["band"][scheme]) >= 3


def test_white_is_100_from_black_and_red_is_near_green_without_either_cone() -> None:
    assert _distance("#ffffff", "#000000") == pytest.approx(100)
    red, green = "#b22222", "#5f6b1f"
    assert _distance(red, green) > 60
    assert _distance(red, green, "deuteranopia") < 25


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("sight", SIGHT)
def test_no_model_has_the_colour_of_a_verdict_or_of_another_model(sight: str, scheme: int) -> None:
    pairs = [*product(SERIES, TONES), *combinations(SERIES, 2)]
    too_near = [
        (one, other, round(distance, 1))
        for one, other in pairs
        if (distance := _distance(COLOURS[one][scheme], COLOURS[other][scheme], sight))
        < MIN_DISTANCE
    ]
    assert too_near == []


def test_every_colour_can_be_distinguished_by_the_rules_that_replace_it() -> None:
    light = [shades[0] for shades in COLOURS.values()]
    assert len(light) == len(set(light))


def test_dark_colours_apply_on_screens_only() -> None:
    assert "@media screen and (prefers-color-scheme: dark)" in stylesheet()
