"""`concord check-metric METRIC`: does a metric of one's own have the properties of the family?"""

from contextlib import suppress

from concord.metrics_core.check_metric import check_metric as checked
from concord.metrics_core.checking.problems import InputError
from concord.pipeline.params.model import PARAMS
from concord.pipeline.terminal.arguments import refused
from concord.pipeline.terminal.table import console


def check_metric(metric: str) -> int:
    """Prints each property and, where one does not hold, a case against it; 1 where there is one."""
    if PARAMS.is_file():
        from concord.pipeline.params.read import examined

        with suppress(InputError):  # the metric may be what is wrong with it
            examined()
    try:
        found = checked(metric)
    except ValueError as error:
        raise refused(error, "`concord metrics` lists the metrics") from None
    out = console()
    for each in found:
        out.print(f"{'holds' if each.holds else 'FAILS'}  {each.name} ({each.cases} cases)")
        if not each.holds:
            out.print(f"       {each.against}", soft_wrap=True)
    return int(not all(each.holds for each in found))
