"""Colour and shape of a model, the same in every chart of every page."""

from collections.abc import Iterable
from dataclasses import dataclass

from concord.reports.charts.svg import SERIES, light

_BASELINE_SHAPE = "square"
_SHAPES = (
    "circle",
    "triangle-up",
    "diamond",
    "triangle-down",
    "cross",
    "triangle-right",
    "triangle-left",
)
N_COLOURED = len(SERIES) - 1  # models that have a colour of their own; the baseline is grey


@dataclass(frozen=True)
class ModelStyle:
    """Colour and shape of a model's marks."""

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
    styles = {} if baseline is None else {baseline: ModelStyle(light(SERIES[0]), _BASELINE_SHAPE)}
    for place, model in enumerate(model for model in models if model != baseline):
        colour = SERIES[1 + place % N_COLOURED]
        shape = _SHAPES[(place + place // N_COLOURED) % len(_SHAPES)]
        styles[model] = ModelStyle(light(colour), shape)
    return styles
