"""Sentences on a segmentation: where the sign turns, and where a model is worse than the baseline."""

from collections.abc import Mapping, Sequence

from concord.metrics_core.comparison.parts import Difference, SegmentCell, Verdict
from concord.metrics_core.comparison.words import are, listed

_WORSE: Mapping[Verdict | None, str] = {"worse": "worse", "worse_below_threshold": "slightly worse"}


def flags(
    name: str,
    cells: Sequence[SegmentCell],
    overall: Mapping[tuple[str, str], Difference],
    baseline: str,
) -> list[str]:
    """One sentence a label and model whose sign turns, then one a label and model that is worse somewhere."""
    turned: dict[tuple[str, str], list[str]] = {}
    worse: dict[str, dict[tuple[str, str], list[str]]] = {word: {} for word in _WORSE.values()}
    for cell in cells:
        key = (cell.label, cell.model)
        if cell.turns:
            turned.setdefault(key, []).append(cell.segment)
        elif cell.verdict in _WORSE:
            worse[_WORSE[cell.verdict]].setdefault(key, []).append(cell.segment)
    sentences = []
    above = {key: (overall[key].difference or 0) > 0 for key in turned}
    for (label, groups, up), models in _together(turned, above).items():
        sides = ("above", "below") if up else ("below", "above")
        sentences.append(
            f"On {label}, {listed(models)} {are(models)} {sides[0]} {baseline} over all users, "
            f"but {sides[1]} it for {name} {_quoted(groups)}."
        )
    for word, found in worse.items():
        for (label, groups, _), models in _together(found, {}).items():
            sentences.append(
                f"On {label}, {listed(models)} {are(models)} {word} than {baseline} for {name} {_quoted(groups)}."
            )
    return sentences


def _together(
    groups: Mapping[tuple[str, str], list[str]], above: Mapping[tuple[str, str], bool]
) -> dict[tuple[str, tuple[str, ...], bool], list[str]]:
    """The models of which the same is to be said."""
    told: dict[tuple[str, tuple[str, ...], bool], list[str]] = {}
    for (label, model), names in groups.items():
        told.setdefault((label, tuple(names), above.get((label, model), False)), []).append(model)
    return told


def _quoted(groups: Sequence[str]) -> str:
    return listed([f"“{group}”" for group in groups])
