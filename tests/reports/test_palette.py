"""Contrast by the formula of WCAG 2.2: 4.5 for text, 3 for the parts of pictures."""

import pytest

from concord.reports.charts.svg import COLOURS, SERIES, stylesheet

TEXT = ["ink", "ink-soft", "ink-faint", "accent", "better", "worse", "even", "open", *SERIES]
GROUNDS = ["page", "raised"]


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


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
@pytest.mark.parametrize("tone", ["better", "worse", "even", "open", *SERIES])
def test_marks_can_be_seen_on_the_band(tone: str, scheme: int) -> None:
    assert _contrast(COLOURS[tone][scheme], COLOURS["band"][scheme]) >= 3


def test_every_colour_can_be_distinguished_by_the_rules_that_replace_it() -> None:
    light = [shades[0] for shades in COLOURS.values()]
    assert len(light) == len(set(light))


def test_dark_colours_apply_on_screens_only() -> None:
    assert "@media screen and (prefers-color-scheme: dark)" in stylesheet()
