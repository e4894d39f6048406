"""The result of `calibrate`: how offline metrics agreed with past A/B experiments."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from concord.metrics_core.results.base import BaseResult
from concord.metrics_core.results.frames import frame_of

if TYPE_CHECKING:
    import polars as pl

PINNED = "as configured"  # the definition of a label under the comparison's own conventions
SHARE_TO_FIND, POWER = 0.7, 0.8  # `Calibration.experiments_needed` is for these
MIN_FOR_TAU = 10  # experiments; with fewer there is no interval of tau
SkipReason = Literal[
    "conventions_differ", "truths_differ", "truths_unknown", "unlike_other_experiments"
]


@dataclass(frozen=True)
class Agreement:
    """Agreement of an offline label, under one definition, with an online metric.

    Attributes
    ----------
    definition : str
        `as configured`, or a definition of the panel.
    agree, n : int
        Experiments whose signs agree, and all whose online sign is settled and whose differences
        are not 0.
    share, low, high : float or None
        agree / n with Clopper and Pearson's interval.
    n_unsettled, agree_unsettled : int
        Experiments whose online interval contains 0, and those of them that agree in sign.
    n_zero : int
        Experiments in which either difference is exactly 0.
    n_missing : int
        Experiments without an offline value of this label.
    tau, tau_low, tau_high : float or None
        Kendall's tau-b over the `n_ranked` experiments that have both values, with its interval.
    p_sign, p_tau : float or None
        Probability of an agreement at least as good if online and offline differences are
        unrelated.
    p_sign_best, p_tau_best : float or None
        The same for the best of all labels.
    only_this, only_reference : int
        Experiments in which only this label, or only the reference, has the right sign.
    p_reference : float or None
        McNemar's exact p-value of these two numbers; None if both are 0.
    """

    online: str
    label: str
    definition: str
    agree: int
    n: int
    share: float | None
    low: float | None
    high: float | None
    n_unsettled: int
    agree_unsettled: int
    n_zero: int
    n_missing: int
    tau: float | None
    tau_low: float | None
    tau_high: float | None
    n_ranked: int
    p_sign: float | None
    p_sign_best: float | None
    p_tau: float | None
    p_tau_best: float | None
    only_this: int
    only_reference: int
    p_reference: float | None


@dataclass(frozen=True)
class OnlineMetric:
    """Agreements of offline labels with an online metric.

    Attributes
    ----------
    agreements : tuple of Agreement
        One for each label and definition, best first: by `low`, then by `tau`.
    perfect_low : float or None
        Lower end of the interval of `share` if all `n` experiments of the best label agreed.
    p_coins : float or None
        Probability that the best of as many independent coins agrees as often as the best label.
    """

    name: str
    agreements: tuple[Agreement, ...]
    perfect_low: float | None
    p_coins: float | None

    @property
    def n_as_good(self) -> int:
        """Number of other labels and definitions that agree exactly as well as the best one."""
        best, *others = ((each.agree, each.n, each.tau) for each in self.agreements)
        return others.count(best)


@dataclass(frozen=True)
class SkippedExperiment:
    """An experiment whose offline difference cannot be used.

    Attributes
    ----------
    reason : {'conventions_differ', 'truths_differ', 'truths_unknown', 'unlike_other_experiments'}
        The first three compare control and treatment. `unlike_other_experiments`: most experiments
        were evaluated under other conventions.
    """

    experiment: str
    reason: SkipReason


@dataclass(frozen=True, repr=False)
class Calibration(BaseResult):
    """Offline labels against the lifts of past experiments.

    Attributes
    ----------
    experiments : tuple of str
        Names of the experiments that were compared.
    reference : str
        The label that the others are compared with: the first primary one.
    experiments_needed : int
        Experiments needed to distinguish a share of 0.7 from 0.5 with 80 % power.
    online : tuple of OnlineMetric
        One for each online metric.

    Examples
    --------
    >>> import concord as cc
    >>> import polars as pl
    >>> truth = {"u1": ["a"], "u2": ["b"]}
    >>> models = {"old": {"u1": ["b"], "u2": ["a"]}, "new": {"u1": ["a"], "u2": ["c", "b"]}}
    >>> comparison = cc.compare(models, truth, metrics=["RR@2"], baseline="old", panel=False)
    >>> experiments = pl.DataFrame(
    ...     {"experiment": ["may"], "control": ["old"], "treatment": ["new"], "clicks": [0.3]}
    ... )
    >>> calibration = cc.calibrate(experiments, comparison)
    >>> calibration.experiments, calibration.experiments_needed
    (('may',), 54)
    """

    experiments: tuple[str, ...]
    skipped: tuple[SkippedExperiment, ...]
    reference: str
    confidence: float
    experiments_needed: int
    online: tuple[OnlineMetric, ...]

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per `Agreement`, columns as its fields."""
        return frame_of(Agreement, [row for each in self.online for row in each.agreements])
