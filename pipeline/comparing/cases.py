"""The cases behind the difference of two models, from the results on disk."""

from concord.metrics_core.cases.cases import WORST, list_of, refuse_same
from concord.metrics_core.cases.found import NoSharedValuesError, Question, cases_of
from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparison.cases import Cases
from concord.metrics_core.comparison.comparison import Comparison
from concord.pipeline.comparing.evaluations import ground_of, read_evaluations
from concord.pipeline.params.model import Params

EACH_SIDE = 5  # users in the report, where `comparison.cases` names no models


def cases_between(params: Params, asked: Asked, question: Question) -> Cases:
    """The cases on the primary metrics; raises as `cases_of`, and where a model or its results are not there."""
    pair = [
        list_of(name, params.models, asked.replicates, where)
        for name, where in zip(question.models, ("model", "versus"), strict=True)
    ]
    refuse_same(*pair)
    results, asked = read_evaluations(params, asked, asked.primary)
    lists = {name: results[name] for name in pair}
    return cases_of(Evidence(asked, lists, ground_of(params)), question)


def cases_to_report(params: Params, asked: Asked, comparison: Comparison) -> Cases | None:
    """Return the cases that the report shows; None where there are none, or `comparison.cases` is empty.

    Where `comparison.cases` is not set: five users for whom the leader does worst against the baseline, and five for
    whom it does best.
    """
    named = params.comparison.cases
    if named is not None:
        return (
            cases_between(params, asked, Question((named[0], named[1]), WORST)) if named else None
        )
    pair = default_pair(comparison)
    if pair is None:
        return None
    try:
        cases = cases_between(params, asked, Question(pair, EACH_SIDE, both_sides=True))
    except NoSharedValuesError:
        return None
    return cases if cases.cases else None


def default_pair(comparison: Comparison) -> tuple[str, str] | None:
    """Return the leader on the first primary metric and the baseline; for a leading baseline, it and the runner-up."""
    label, baseline = comparison.primary[0], comparison.baseline
    leaders = comparison.leaders(label)
    ordered = [*leaders, *comparison.others(label)]
    if not leaders or len(ordered) == 1:
        return None
    best = ordered[0]
    return (best, ordered[1] if best == baseline else baseline)
