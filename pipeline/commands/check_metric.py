"""`concord check-metric METRIC`: whether an own metric has the properties of a ranking metric."""

from contextlib import suppress

from concord.metrics_core.analyses.check_metric import check_metric as checked
from concord.metrics_core.errors import InputError
from concord.pipeline.params.model import PARAMS
from concord.pipeline.terminal.arguments import refused
from concord.pipeline.terminal.table import print_result


def check_metric(metric: str) -> int:
    """Print each property, with a counterexample if it fails; return 1 if any fails."""
    if PARAMS.is_file():
        from concord.pipeline.params.read import examined

        with suppress(InputError):  # the metric may be what is wrong with it
            examined()
    try:
        result = checked(metric)
    except ValueError as error:
        raise refused(error, "`concord metrics` lists the metrics") from None
    print_result(result)
    return 0 if result.holds else 1
