"""The result of `ppi`: estimates from grades of people for a sample, and of a judge for all."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from concord.metrics_core.results.base import OMIT_IF_NONE, BaseResult, FiniteNumbers, frame_of
from concord.metrics_core.results.comparison_parts import DataWarning, Verdict

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class PoweredEstimate(FiniteNumbers):
    """A prediction-powered mean of a model, or of its differences to another model.

    None is a number that does not exist, such as an interval with too few sampled queries.

    Attributes
    ----------
    label, model : str
        Metric and model.
    versus : str or None
        The model whose values are subtracted; None for a mean.
    estimate, ci_low, ci_high : float or None
        The prediction-powered estimate and its interval.
    tuning : float
        Lambda: the weight of the judge's values, 0 if they are useless. Each sampled query has its
        own, tuned on the others, so that the estimate may differ from `people` if this is 0.
    effective_labels : float or None
        Estimated number of queries judged by people that would give the same interval without the
        judge. It may exceed the number of all queries.
    n_corrected : int
        Sampled queries whose value by the judge differs from that by people.
    people, people_low, people_high : float or None
        The estimate with the sampled queries alone.
    judge : float
        The estimate with the judge's grades alone.
    """

    label: str
    model: str
    versus: str | None
    estimate: float
    ci_low: float | None
    ci_high: float | None
    tuning: float
    effective_labels: float | None
    n_corrected: int
    people: float
    people_low: float | None
    people_high: float | None
    judge: float


@dataclass(frozen=True)
class PoweredDifference(PoweredEstimate):
    """A prediction-powered difference, with test and verdict.

    The verdict is what the interval `ci_low` to `ci_high` says about 0 and ± `min_effect`.

    Attributes
    ----------
    level : float
        Level of this interval and of that of people, corrected for the number of comparisons.
    single_low, single_high : float or None
        The interval of this difference alone, at the level `confidence`.
    n_nonzero : int
        Sampled queries whose values by people differ between the models.
    primary : bool
        True if level and p-value are corrected by Bonferroni's and Holm's methods, else by that of
        Benjamini and Hochberg.
    p, p_adjusted : float or None
        p-values of the difference.
    min_effect : float
        Minimum relevant difference.
    verdict : str
        Verdict on `model` against `versus`, as in a comparison.
    """

    level: float
    single_low: float | None
    single_high: float | None
    n_nonzero: int
    primary: bool
    p: float | None
    p_adjusted: float | None
    min_effect: float
    verdict: Verdict


@dataclass(frozen=True)
class JudgeAgreement(FiniteNumbers):
    """Agreement of judge and people on the documents that both judged.

    Attributes
    ----------
    n_documents : int
        Number of these query-document pairs.
    kappa : float or None
        Cohen's kappa with quadratic weights; None if neither grade varies.
    equal : float
        Share of equal grades.
    confusion : tuple of (float, float, int)
        Grade of people, grade of the judge, number of documents.
    """

    n_documents: int
    kappa: float | None
    equal: float
    confusion: tuple[tuple[float, float, int], ...]


@dataclass(frozen=True, repr=False)
class PredictionPowered(BaseResult):
    """Prediction-powered means and differences of models.

    Attributes
    ----------
    confidence : float
        Level of the intervals of means, and of a family of differences.
    baseline : str
        The model that all others are compared with.
    n_sampled, n_queries : int
        Queries that people judged, and all queries.
    depth : int or None
        Number of documents of each list that people judged; None for whole lists.
    means : tuple of PoweredEstimate
        One for each label and model.
    differences : tuple of PoweredDifference
        One for each label and pair of models.
    agreement : JudgeAgreement
        Agreement of judge and people.
    warnings : tuple of DataWarning
        `sample_not_random` if the judge's values refute that the sample is random.
    words : dict or None
        The words that texts show for user and item; None if they show these.

    Examples
    --------
    >>> import concord as cc
    >>> import polars as pl
    >>> queries = [f"q{number:02}" for number in range(40)]
    >>> truth = pl.DataFrame(
    ...     [
    ...         (query, item, int(item == "a") if number < 20 else None, int(item == "a"))
    ...         for number, query in enumerate(queries)
    ...         for item in "ab"
    ...     ],
    ...     schema=["user", "item", "grade", "predicted"],
    ...     orient="row",
    ... )
    >>> models = {"bm25": {q: ["b", "a"] for q in queries}, "dense": {q: ["a"] for q in queries}}
    >>> result = cc.search.ppi(models, truth, metrics=["RR"], baseline="bm25", sample="random")
    >>> result.means[0].estimate, result.n_sampled
    (0.5, 20)
    """

    confidence: float
    baseline: str
    n_sampled: int
    n_queries: int
    depth: int | None
    means: tuple[PoweredEstimate, ...]
    differences: tuple[PoweredDifference, ...]
    agreement: JudgeAgreement
    warnings: tuple[DataWarning, ...] = ()
    words: Mapping[str, str] | None = field(default=None, metadata=OMIT_IF_NONE)

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per mean, columns as the fields of `PoweredEstimate`."""
        return frame_of(PoweredEstimate, self.means)

    @property
    def pairs(self) -> "pl.DataFrame":
        """One row per difference, columns as the fields of `PoweredDifference`."""
        return frame_of(PoweredDifference, self.differences)
