"""Do the grades of the truth go with the conventions? Told before any number is made."""

from collections.abc import Iterator
from pathlib import Path

from metrics_core.checking.problems import InputError, Problem
from metrics_core.checking.row_checks import only_row
from pipeline.evaluating.id_views import views_of
from pipeline.params.labels import labels_of
from pipeline.params.model import PARAMS, Params

KEY = f"{PARAMS}: conventions"


def refuse_misgraded(params: Params) -> None:
    """All metrics would be undefined, or ERR a probability above 1.

    Raises
    ------
    InputError : no grade of the truth reaches `relevance_threshold`, or one lies above `err_max_grade` while ERR is asked for
    """
    truth = Path(params.results.data) / "truth.parquet"
    with views_of({"truth": truth}) as connection:
        (highest,) = only_row(connection, "SELECT max(grade) FROM truth")
    if highest is not None and (problems := list(_problems(params, highest))):
        raise InputError(problems)


def _problems(params: Params, highest: float) -> Iterator[Problem]:
    least = params.pinned.relevance_threshold
    if least is not None and highest < least:
        what = (
            f"is {least:g}, and the highest grade in {params.data.truth.path} is {highest:g}: nobody has a relevant "
            "item"
        )
        fix = "lower it, or name the column of the grades under `data.truth.columns`, such as `{grade: rating}`"
        yield Problem(f"{KEY}.relevance_threshold", what, fix)
    above = [
        label.conventions(params.pinned).err_max_grade
        for label in labels_of(params)
        if label.name == "ERR" and label.conventions(params.pinned).err_max_grade < highest
    ]
    if above:
        what = f"is {above[0]:g}, and {params.data.truth.path} has grade {highest:g}"
        yield Problem(f"{KEY}.err_max_grade", what, f"set it to {highest:g}, or leave out ERR")
