"""Do the grades of the truth go with the conventions? Told before any number is made."""

from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.checking.row_checks import only_row
from concord.metrics_core.scoring.grade_fit import misgraded
from concord.pipeline.params.keys import Keys
from concord.pipeline.params.labels import labels_of
from concord.pipeline.params.model import Params
from concord.pipeline.running.connections import reading


def refuse_misgraded(params: Params, model: str) -> None:
    """Raises an InputError where no grade reaches the threshold, or one lies above what ERR takes; see `misgraded`."""
    truth = params.truth_of(model)
    with reading([truth]) as connection:
        connection.read_parquet(str(truth)).create_view("truth")
        (highest,) = only_row(connection, "SELECT max(grade) FROM truth")
    named, settings = params.data.truth.path, Keys("data.truth")
    found = list(misgraded(highest, labels_of(params), params.pinned, named, settings))
    if found:
        raise InputError(found)
