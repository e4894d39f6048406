"""The labels that params.yaml asks for."""

from concord.metrics_core.errors import refuse
from concord.metrics_core.metrics.catalogue import Label, expand
from concord.pipeline.params.model import PARAMS, Params


def labels_of(params: Params) -> list[Label]:
    """The labels that params.yaml asks for, refused with its key."""
    try:
        return expand(params.evaluation.metrics, params.evaluation.ks)
    except ValueError as error:
        raise refuse(f"{PARAMS}: evaluation.metrics", str(error), "mend the label") from None
