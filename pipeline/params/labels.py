"""The labels that params.yaml asks for."""

from metrics_core.checking.problems import refuse
from metrics_core.metrics.catalogue import Label, expand
from metrics_core.scoring.panel import Panel, panel
from pipeline.params.label_checks import spelled
from pipeline.params.model import PARAMS, Params


def labels_of(params: Params) -> list[Label]:
    """The labels that params.yaml asks for, refused with its key."""
    try:
        return expand(params.evaluation.metrics, params.evaluation.ks)
    except ValueError as error:
        raise refuse(f"{PARAMS}: evaluation.metrics", str(error), "mend the label") from None


def panels_of(params: Params) -> dict[str, Panel]:
    """The convention panel of each primary label; a primary label that is not evaluated is for `compare` to refuse."""
    if not params.evaluation.panel:
        return {}
    primary = {spelled(text) for text in params.comparison.primary}
    chosen = [label for label in labels_of(params) if str(label) in primary]
    return {str(label): panel(label, params.pinned) for label in chosen}
