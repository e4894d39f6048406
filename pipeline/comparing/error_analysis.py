"""Error analysis of two models from the results on disk."""

from concord.metrics_core.analyses.error_analysis import (
    ExampleSelection,
    NoSharedValuesError,
    analyze_errors,
    resolve_pair,
)
from concord.metrics_core.comparison.config import Asked
from concord.metrics_core.comparison.inputs import Evidence
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.error_analysis import Cases
from concord.pipeline.comparing.evaluations import ground_of, read_evaluations
from concord.pipeline.params.model import Params

USERS_PER_SIDE = 5  # in the report, if `comparison.cases` names no models


def load_cases(params: Params, config: Asked, selection: ExampleSelection) -> Cases:
    """Return the error analysis on the primary metrics; raise as `analyze_errors`, or if results are missing."""
    pair = resolve_pair(selection.models, params.models, config.replicates)
    results, config = read_evaluations(params, config, config.primary)
    lists = {name: results[name] for name in pair}
    return analyze_errors(Evidence(config, lists, ground_of(params)), selection)


def cases_for_report(params: Params, config: Asked, comparison: Comparison) -> Cases | None:
    """Return the error analysis that the report shows; None if there is none or `comparison.cases` is empty.

    If `comparison.cases` is not set: five users for whom the leader is furthest behind the baseline, and five for whom
    it is furthest ahead.
    """
    models = params.comparison.cases
    if models is not None:
        return load_cases(params, config, ExampleSelection((models[0], models[1]))) if models else None  # fmt: skip
    pair = default_pair(comparison)
    if pair is None:
        return None
    try:
        cases = load_cases(params, config, ExampleSelection(pair, USERS_PER_SIDE, both_sides=True))
    except NoSharedValuesError:
        return None
    return cases if cases.cases else None


def default_pair(comparison: Comparison) -> tuple[str, str] | None:
    """Return the leader on the first primary metric and the baseline; if the baseline leads, it and the runner-up."""
    label, baseline = comparison.primary[0], comparison.baseline
    leaders = comparison.leaders(label)
    ordered = [*leaders, *comparison.others(label)]
    if not leaders or len(ordered) == 1:
        return None
    best = ordered[0]
    return (best, ordered[1] if best == baseline else baseline)
