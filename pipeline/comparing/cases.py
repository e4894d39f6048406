"""The cases behind the difference of two models, from the results on disk."""

from concord.metrics_core.cases.cases import WORST, list_of, refuse_same
from concord.metrics_core.cases.found import Question, cases_of
from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparison.cases import Cases
from concord.pipeline.comparing.evaluations import ground_of, read_evaluations
from concord.pipeline.params.model import Params


def cases_between(params: Params, asked: Asked, question: Question) -> Cases:
    """The cases on the primary metrics; raises as `cases_of`, and where a model or its results are not there."""
    pair = [
        list_of(name, params.models, asked.replicates, where)
        for name, where in zip(question.models, ("model", "versus"), strict=True)
    ]
    refuse_same(*pair)
    results = read_evaluations(params, asked.labels)
    lists = {name: results[name] for name in pair}
    return cases_of(Evidence(asked, lists, ground_of(params)), question)


def cases_asked(params: Params, asked: Asked) -> Cases | None:
    """Those that `comparison.cases` asks for."""
    if params.comparison.cases is None:
        return None
    a, b = params.comparison.cases
    return cases_between(params, asked, Question((a, b), WORST, None, None))
