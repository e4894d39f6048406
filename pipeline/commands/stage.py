"""`concord stage NAME [MODEL]`: what a stage of dvc.yaml runs."""

from collections.abc import Callable


def stage(name: str) -> Callable[[], str]:
    """What the stage does; its code alone is imported."""
    match name:
        case "load-truth":
            from concord.pipeline.stages.load import main_truth as main
        case "load-background":
            from concord.pipeline.stages.load import main_background as main
        case "load":
            from concord.pipeline.stages.load import main
        case "evaluate":
            from concord.pipeline.stages.evaluate import main
        case "compare":
            from concord.pipeline.stages.compare import main
        case "report":
            from concord.pipeline.stages.report import main
        case _:
            from concord.pipeline.mlflow.log import main
    return main
