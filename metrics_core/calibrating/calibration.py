"""Calibration: what `calibrate` returns and the command prints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from concord.metrics_core.calibrating.offline import Skipped
from concord.metrics_core.comparison.tables import frame_of

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Agreement:
    """How an offline label, under one definition, agreed with an online metric.

    agree, n           : experiments in which the signs agree, of those whose online sign is settled and offline is not 0
    share, low, high   : agree / n with Clopper and Pearson's interval
    n_unsettled        : experiments whose online interval holds 0; agree_unsettled: of them those that agree in sign
    n_zero             : experiments in which either difference is exactly 0
    n_missing          : experiments without a value of this label, offline
    tau                : Kendall's tau-b over all experiments that have both values, `n_ranked` of them, with its interval
    p_sign, p_tau      : the chance of as good an agreement, were the online lifts unrelated to the offline ones
    p_sign_best, p_tau_best : the same of the best of all labels
    only_this, only_reference, p_reference : experiments in which only this label, only the reference has the right
                         sign, with McNemar's exact p
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


@dataclass(frozen=True, repr=False)
class Calibration:
    """Offline labels against past experiments, the best-agreeing first for each online metric.

    experiments : names of those that count
    skipped     : those that do not, and why
    reference   : the label that each is compared with: the first primary one
    sentences   : online metric -> what may be said, and what not
    """

    experiments: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    reference: str
    confidence: float
    rows: tuple[Agreement, ...]
    sentences: Mapping[str, Sequence[str]]

    @property
    def table(self) -> "pl.DataFrame":
        """One row an online metric, label and definition; columns as the fields of `Agreement`."""
        return frame_of(Agreement, self.rows)

    @property
    def online(self) -> tuple[str, ...]:
        """The online metrics."""
        return tuple(self.sentences)

    def of(self, online: str) -> tuple[Agreement, ...]:
        """The rows of an online metric, best first."""
        return tuple(row for row in self.rows if row.online == online)

    def __repr__(self) -> str:
        told = " ".join(text for each in self.sentences.values() for text in each[:1])
        return f"<Calibration on {len(self.experiments)} experiments: {told}>"
