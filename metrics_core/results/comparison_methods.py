"""Methods of a Comparison that run an analysis of its models, without naming them again."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from concord.metrics_core.errors import refuse
from concord.metrics_core.results.base import BaseResult
from concord.metrics_core.results.comparison_parts import OF_VALUES, Metric

if TYPE_CHECKING:
    from concord.metrics_core.analyses.audit.result import Audit
    from concord.metrics_core.analyses.cases.result import Cases
    from concord.metrics_core.analyses.explain.result import Derivation, ExplanationDiff
    from concord.metrics_core.analyses.judge.result import Judging
    from concord.metrics_core.analyses.plan.result import Plan
    from concord.metrics_core.analyses.reconcile.result import Reconciliation


def load_function(module: str, name: str) -> Callable[..., Any]:
    """Return a function of a higher layer; it is imported when a method is called."""
    function: Callable[..., Any] = getattr(import_module(f"concord.metrics_core.{module}"), name)
    return function


def analysis(name: str) -> Callable[..., Any]:
    """Return the function of an analysis."""
    return load_function(f"analyses.{name}.{name}", name)


class ComparisonMethods(BaseResult):
    """Analyses of a comparison; all but `plan` read its inputs again.

    The inputs are the tables that `compare` received, in files or in memory. A method raises an
    InputError if one of them has changed since, or if the comparison was read from results.
    """

    primary: tuple[str, ...]
    metrics: tuple[Metric, ...]
    # `RememberedInputs` or `RememberedValues` of a higher layer, which `compare` sets.
    _inputs: ClassVar[Any] = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields: a pickle has no inputs."""
        return {name: value for name, value in vars(self).items() if name != "_inputs"}

    def cases(self, model: str, versus: str, **options: Any) -> "Cases":
        """Return the users and items for which `model` is furthest behind `versus`.

        Parameters
        ----------
        model, versus : str
            The two models.
        **options
            Other arguments of `concord.cases`, such as worst=10; `metrics` are the primary ones.
        """
        options = {"metrics": self._metrics_of_lists(), **options}
        inputs = self._read_again("cases")
        return cast("Cases", inputs.run("cases", model=model, versus=versus, **options))

    def explain(
        self, user: Any, metric: str, model: str, **options: Any
    ) -> "Derivation | ExplanationDiff":
        """Return the derivation of one user's value, step by step.

        Parameters
        ----------
        user : object
            Id of the user.
        metric : str
            Label such as "nDCG@10".
        model : str
            The model, or the lists of one replicate.
        **options
            Other arguments of `concord.explain`, such as versus="rectools".
        """
        inputs = self._read_again("explain")
        options = {**inputs.one_model(model), "user": user, "metric": metric, **options}
        return cast("Derivation | ExplanationDiff", inputs.run("explain", **options))

    def reconcile(
        self, value: str | float | Mapping[str, str | float], model: str, metric: str | None = None
    ) -> "Reconciliation":
        """Search the definitions of metrics that reproduce published numbers of a model.

        Parameters
        ----------
        value : str, float or dict
            The published number, or one by label.
        model : str
            The model, or the lists of one replicate.
        metric : str, optional
            Label of a single number; by default the first primary one.
        """
        inputs = self._read_again("reconcile")
        if metric is None and not isinstance(value, Mapping):
            metric = self._metrics_of_lists()[0]
        options = {**inputs.one_model(model), "value": value, "metric": metric}
        return cast("Reconciliation", inputs.run("reconcile", **options))

    def audit(self) -> "Audit":
        """Check the split for leakage, cold users and cold items; needs `train`."""
        inputs = self._read_again("audit")
        return cast("Audit", inputs.run("audit", metrics=self._metrics_of_lists()))

    def judge(self, **options: Any) -> "Judging":
        """Return the bounds of all means over the judgements still to be made.

        Parameters
        ----------
        **options
            Other arguments of `concord.search.judge`, such as next=20.
        """
        options = {"metrics": self._metrics_of_lists(), **options}
        return cast("Judging", self._read_again("judge").run("judge", **options))

    def plan(self, **options: Any) -> "Plan":
        """Return the minimum detectable effects, and the users that an effect needs.

        Parameters
        ----------
        **options
            Arguments of `concord.plan`, such as power=0.9.
        """
        return cast("Plan", analysis("plan")(self, **options))

    def with_segments(self, segments: Mapping[str, Mapping[str, Any]]) -> Self:
        """Return the comparison with other segments, without its gate.

        Parameters
        ----------
        segments : dict
            Name -> groups of users or items, as `compare` takes them.
        """
        return cast("Self", self._read_again("with_segments").compare_again(segments=segments))

    def save(self, path: str | Path) -> Path:
        """Write the decision as one file, which `concord replay` verifies, and return its path.

        Parameters
        ----------
        path : str or Path
            The file, such as decision.concord.
        """
        return cast("Path", self._read_again("save").save(self, Path(path)))

    def _metrics_of_lists(self) -> list[str]:
        """Return the primary labels that lists have; all labels of lists if there are none."""
        labels = [each.label for each in self.metrics if each.family != OF_VALUES]
        return [label for label in self.primary if label in labels] or labels

    def _read_again(self, method: str) -> Any:
        if method != "save" and all(each.family == OF_VALUES for each in self.metrics):
            problem = "needs lists, and this comparison has values of another tool"
            raise refuse(f"comparison.{method}", problem, "compare lists with `concord.compare`")
        if self._inputs is None:
            problem = "needs the lists and tables, and this comparison was read from results"
            fix = "compare again with `concord.compare`; `plan` and the documents work without"
            raise refuse(f"comparison.{method}", problem, fix)
        return self._inputs
