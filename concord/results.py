"""Types of results, for annotations."""

from concord.metrics_core.analyses.audit.result import Audit
from concord.metrics_core.analyses.cases.result import Cases
from concord.metrics_core.analyses.explain.result import Derivation, ExplanationDiff
from concord.metrics_core.analyses.judge.result import Judging
from concord.metrics_core.analyses.plan.result import Plan
from concord.metrics_core.analyses.ppi.result import PredictionPowered
from concord.metrics_core.analyses.reconcile.result import Reconciliation
from concord.metrics_core.analyses.split.result import Split
from concord.metrics_core.analyses.study.result import Study
from concord.metrics_core.analyses.verify.result import Explanation, PublishedMean, Verification
from concord.metrics_core.evaluation.definition_search import ConventionMatch
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.evaluation import Evaluation
from concord.metrics_core.results.plot import Plot
from concord.metrics_core.results.presets import PresetConventions, PresetList
from concord.metrics_core.stats.power import VarianceComponents
from concord.public import publish

__all__ = [
    "Audit",
    "Cases",
    "Comparison",
    "ConventionMatch",
    "Derivation",
    "Evaluation",
    "Explanation",
    "ExplanationDiff",
    "Judging",
    "Plan",
    "Plot",
    "PredictionPowered",
    "PresetConventions",
    "PresetList",
    "PublishedMean",
    "Reconciliation",
    "Split",
    "Study",
    "VarianceComponents",
    "Verification",
]
publish(__name__, __all__, globals())
