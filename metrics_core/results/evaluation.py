"""The result of `evaluate`: summaries and users' values of one model, and warnings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.results.base import BaseResult, to_plain
from concord.metrics_core.results.comparison_parts import DataWarning
from concord.metrics_core.results.summary import Summary

if TYPE_CHECKING:
    import polars as pl


class EvaluationValues(Protocol):
    """Values per user, in memory or in Spark; their summaries are computed on demand."""

    @property
    def by_id(self) -> Any:
        """As `Evaluation.per_user`, but ids of requests are in `user`."""

    @property
    def per_user(self) -> Any:
        """See `Evaluation.per_user`."""

    @property
    def n_users(self) -> int:
        """The number of users in `per_user`."""

    @property
    def n_requests(self) -> int | None:
        """The number of requests in `per_user`; None if its rows are users."""

    @property
    def summaries(self) -> Mapping[str, Summary]:
        """The summary of each label."""

    def mean(self, label: str) -> float:
        """Return the mean of a label in any spelling."""


@dataclass(frozen=True, repr=False)
class Evaluation(BaseResult):
    """One evaluated model; `result["nDCG@10"]` is the mean of a metric.

    Attributes
    ----------
    warnings : tuple of DataWarning
        Signs of a doubtful evaluation, the most serious first.
    words : dict or None
        The words that texts show for user, item and request; None if they show these.

    Examples
    --------
    >>> import concord as cc
    >>> recs = {"u1": ["a", "b"], "u2": ["c"]}
    >>> result = cc.evaluate(recs, {"u1": ["b"], "u2": ["c"]}, metrics=["RR"])
    >>> result["RR"]
    0.75
    >>> result.to_frame().columns
    ['metric', 'mean', 'ci_low', 'ci_high', 'n_users', 'n_undefined']
    """

    conventions: Conventions
    warnings: tuple[DataWarning, ...]
    values: EvaluationValues
    words: Mapping[str, str] | None = None

    @property
    def per_user(self) -> Any:
        """One row per user: `user`, then one Float64 column per label.

        A value is NaN if it is undefined, and null if the user is left out.
        If the unit is a request: one row per request, with the columns of `unit` as text instead
        of `user`.
        """
        return self.values.per_user

    @property
    def n_users(self) -> int:
        """The number of users in `per_user`."""
        return self.values.n_users

    @property
    def summaries(self) -> Mapping[str, Summary]:
        """Label -> mean with its 95 % t interval and counts, at full precision."""
        return self.values.summaries

    def __getitem__(self, label: str) -> float:
        """Return the mean of a label.

        Raises
        ------
        ValueError
            The label was not evaluated.
        """
        return self.values.mean(label)

    def to_dict(self) -> dict[str, Any]:
        """Return conventions, counts, summaries and warnings as plain values; NaN becomes None."""
        content: dict[str, Any] = to_plain(
            {
                "values_version": VALUES_VERSION,
                "conventions": self.conventions.as_dict(),
                "fingerprint": self.conventions.fingerprint,
                "n_users": self.n_users,
                "metrics": {label: each.numbers for label, each in self.summaries.items()},
                "warnings": self.warnings,
            }
        )
        return content

    def to_frame(self) -> "pl.DataFrame":
        """Return metric, mean, interval and counts; one row per label."""
        import polars as pl

        rows = [{"metric": label, **each.numbers} for label, each in self.summaries.items()]
        return pl.DataFrame(rows)
