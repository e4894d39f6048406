"""Colours of pages and charts in the light and the dark scheme; colour and shape of a model."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

# name: (light, dark)
COLOURS: Mapping[str, tuple[str, str]] = {
    "page": ("#fcfbf8", "#15171a"),
    "raised": ("#ffffff", "#1c1f24"),
    "sunken": ("#f3f1eb", "#22262c"),
    "line": ("#e2dfd6", "#30353d"),
    "line-strong": ("#c6c2b6", "#4a515c"),
    "ink": ("#1b1d21", "#eceef1"),
    "ink-soft": ("#4a4f57", "#b9c0ca"),
    "ink-faint": ("#686d75", "#949ca8"),
    "accent": ("#234fb8", "#8db4ff"),
    "band": ("#ece8dc", "#292d34"),
    "better": ("#0b6a74", "#5cc9d4"),
    "worse": ("#b0431a", "#f2996b"),
    "even": ("#555b8f", "#aab0ea"),
    "open": ("#676c74", "#9aa2ad"),
    # Of models. Far from each other and from the verdicts, also for those
    # who see no red or no green (`tests/reports/test_palette.py`).
    "series-0": ("#23262b", "#e4e6e9"),
    "series-1": ("#510995", "#977dc4"),
    "series-2": ("#0752d4", "#5884fa"),
    "series-3": ("#7f014b", "#f1538d"),
    "series-4": ("#196f41", "#6cec96"),
    "series-5": ("#3b3900", "#eae069"),
    "series-6": ("#0177bf", "#34abfb"),
    "series-7": ("#a11527", "#df6062"),
}
SERIES = [name for name in COLOURS if name.startswith("series-")]


def stylesheet() -> str:
    """Return the variables of both schemes and the rules that make charts follow them."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{ {_variables(':root', 1)} }}"
    return "\n".join([_variables(":root", 0), dark, *_chart_rules("")])


def card_stylesheet(card: str) -> str:
    """Return the same for a card in a notebook, whose theme comes before that of the system."""
    dark = f"@media screen and (prefers-color-scheme: dark) {{ {_variables(card, 1)} }}"
    themes = [
        _variables(f'[data-jp-theme-light="{is_light}"] {card}', scheme)
        for scheme, is_light in enumerate(("true", "false"))
    ]
    return "\n".join([_variables(card, 0), dark, *themes, *_chart_rules(f"{card} ")])


def _chart_rules(scope: str) -> list[str]:
    return [
        f'{scope}.chart [{paint}="{light}"] {{ {paint}: var(--{name}); }}'
        for name, (light, _) in COLOURS.items()
        for paint in ("fill", "stroke")
    ]


def _variables(selector: str, scheme: int) -> str:
    values = "".join(f" --{name}: {shades[scheme]};" for name, shades in COLOURS.items())
    return f"{selector} {{{values} }}"


# SVG paths in a box of 2 x 2 around the origin.
SQUARE = "M-1,-1H1V1H-1Z"
CIRCLE = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z"
DIAMOND = "M0,-1L1,0L0,1L-1,0Z"
_SHAPES = (
    CIRCLE,
    "M0,-0.87L1,0.87L-1,0.87Z",
    DIAMOND,
    "M0,0.87L1,-0.87L-1,-0.87Z",
    "M-1,-0.4H-0.4V-1H0.4V-0.4H1V0.4H0.4V1H-0.4V0.4H-1Z",
    "M0.87,0L-0.87,-1L-0.87,1Z",
    "M-0.87,0L0.87,-1L0.87,1Z",
)
N_COLOURED = len(SERIES) - 1  # models that have a colour of their own; the baseline is grey


@dataclass(frozen=True)
class ModelStyle:
    """Colour and shape of a model's marks, the same in every chart of every page."""

    colour: str
    shape: str


def model_styles(models: Iterable[str], baseline: str | None) -> dict[str, ModelStyle]:
    """Return model -> its style: grey for the baseline, by its place for every other model.

    Beyond the seventh place colours repeat, with another shape.

    Parameters
    ----------
    models : iterable of str
        All models of the project, in the order of params.yaml.
    """
    styles = {} if baseline is None else {baseline: ModelStyle(SERIES[0], SQUARE)}
    for place, model in enumerate(model for model in models if model != baseline):
        colour = SERIES[1 + place % N_COLOURED]
        shape = _SHAPES[(place + place // N_COLOURED) % len(_SHAPES)]
        styles[model] = ModelStyle(colour, shape)
    return styles
