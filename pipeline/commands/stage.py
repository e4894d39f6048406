"""`concord stage NAME [MODEL]`: what a stage of dvc.yaml runs."""

from collections.abc import Callable


def stage(name: str) -> Callable[[], str]:
    """What the stage does; its code alone is imported."""
    match name:
        case "load-truth":
            from concord.pipeline.loading.load_truth import main
        case "load-background":
            from concord.pipeline.loading.load_background import main
        case "load":
            from concord.pipeline.loading.load import main
        case "evaluate":
            from concord.pipeline.evaluating.evaluate import main
        case "compare":
            from concord.pipeline.comparing.compare import main
        case "report":
            from concord.pipeline.reporting.report import main
        case _:
            from concord.pipeline.tracking.log import main
    return main
