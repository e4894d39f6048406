"""Signs that a number is not what was meant, told of the truth and of how the ids of the lists fit to it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from concord.metrics_core.checking.problems import InputError
from concord.metrics_core.checking.settings import Arguments
from concord.metrics_core.comparing.warnings.grades import grade_warnings
from concord.metrics_core.comparing.warnings.ids import fit_warnings
from concord.metrics_core.comparing.warnings.warned import warned
from concord.metrics_core.comparison.parts import Warned
from concord.metrics_core.scoring.grade_fit import beyond_err, unreached
from concord.metrics_core.scoring.partition import Task


def doubts(
    highest: float | None, grades: Sequence[float], fit: Mapping[str, Any], task: Task
) -> Iterator[Warned]:
    """Warnings on the truth and the ids.

    Parameters
    ----------
    highest : the highest grade of the truth; `grades`: the different ones, empty where they are many
    fit     : see `fit_of`

    Raises
    ------
    InputError : a grade is beyond what ERR makes a probability of
    """
    settings = Arguments("truth")
    if wrong := list(beyond_err(highest, task.labels, task.conventions, "truth", settings)):
        raise InputError(wrong)
    for problem in unreached(highest, task.conventions, "truth", settings):
        sentence = f"{problem.where} {problem.what}."
        yield warned("nobody_relevant", "serious", [], sentence, problem.fix)
    yield from grade_warnings(grades, task.conventions)
    yield from fit_warnings({"recs": fit}, Arguments("recs"))
