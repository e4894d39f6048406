"""`calibrate`: which offline metric, cutoff and definition agreed with past A/B experiments?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from concord.metrics_core.analyses.calibrate_experiments import (
    PINNED,
    Key,
    Lift,
    Offline,
    Skipped,
    given_experiments,
    offline_of,
)
from concord.metrics_core.analyses.calibrate_statistics import (
    FEWEST_FOR_TAU,
    by_permutation,
    chance_of_best,
    experiments_needed,
    mcnemar,
    sign_interval,
    tau_b,
    tau_interval,
)
from concord.metrics_core.data.frames import Data
from concord.metrics_core.errors import refuse
from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import or_none
from concord.metrics_core.results.frames import frame_of

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


_LEAST = 0.001  # probability that is written out
_SHARE, _POWER = 0.7, 0.8  # what a plan is told for


def told(rows: Sequence[Agreement], confidence: float) -> tuple[str, ...]:
    """In words; `rows` are those of one online metric, best first."""
    best = rows[0] if rows else None
    if best is None or not best.n:
        return ("No experiment has a settled online sign and an offline difference: nothing can be said of signs.",)  # fmt: skip
    return tuple(_sentences(best, rows, confidence))


def _sentences(best: Agreement, rows: Sequence[Agreement], confidence: float) -> Iterator[str]:
    n, many = best.n, len(rows)
    ends = f"{_percent(best.low or 0.0)} to {_percent(best.high or 0.0)}"
    yield f"{_named(best)} agreed with the sign of {best.online} in {best.agree} of {_experiments(n)} ({ends})."
    alike = sum((row.agree, row.n, row.tau) == (best.agree, n, best.tau) for row in rows) - 1
    if alike:
        yield f"{alike} more did exactly as well: these experiments do not tell them apart."
    least, _ = sign_interval(n, n, confidence)
    needed = experiments_needed(_SHARE, 1 - confidence, _POWER)
    yield (
        f"With {_experiments(n)} even perfect agreement leaves {_percent(least)} to 100 %; "
        f"to tell {_percent(_SHARE)} from 50 % takes {needed} experiments (power {_percent(_POWER)})."
    )
    if best.p_sign_best is not None:
        coins = chance_of_best(best.agree, n, many)
        yield (
            f"It is the best of {many}: if none told anything about {best.online}, the best would agree as often with "
            f"probability {_chance(best.p_sign_best)} (permutation); {many} independent coins would with {_chance(coins)}."
        )
    if best.tau is not None and best.p_tau_best is not None:
        yield f"In order: tau {best.tau:.2f}; the best of {many} would reach it by chance with probability {_chance(best.p_tau_best)}."
    if best.n_unsettled:
        yield f"{_experiments(best.n_unsettled)} whose online interval holds 0 did not count for signs; {best.agree_unsettled} of them agree."
    if best.n_zero:
        yield f"{_experiments(best.n_zero)} with a difference of exactly 0 did not count for signs."
    if best.n_ranked < FEWEST_FOR_TAU:
        yield f"Under {FEWEST_FOR_TAU} experiments there is no interval of tau."


def _named(row: Agreement) -> str:
    return f"{row.label} ({row.definition})"


def _experiments(n: int) -> str:
    return "1 experiment" if n == 1 else f"{n} experiments"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _chance(p: float) -> str:
    return f"below {_LEAST}" if p < _LEAST else f"{p:.2g}"


def calibrated(offline: Offline, reference: str, confidence: float) -> Calibration:
    """Every label against every online metric; `reference` is a label as it is pinned."""
    online = dict.fromkeys(name for each in offline.experiments for name in each.lifts)
    rows = {name: _rows(offline, name, reference, confidence) for name in online}
    return Calibration(
        experiments=tuple(each.name for each in offline.experiments),
        skipped=offline.skipped,
        reference=reference,
        confidence=confidence,
        rows=tuple(row for each in rows.values() for row in each),
        sentences={name: told(each, confidence) for name, each in rows.items()},
    )


@dataclass(frozen=True)
class _Online:
    """What was measured online, and the differences of the reference, in the same experiments.

    values  : the lifts
    settled : their signs; 0 where the interval holds 0
    """

    name: str
    values: Floats
    settled: Floats
    reference: Floats


def _rows(offline: Offline, name: str, reference: str, confidence: float) -> list[Agreement]:
    """Of one online metric, best first: by the low end of the share of signs, then by tau."""
    measured = [i for i, each in enumerate(offline.experiments) if name in each.lifts]
    lifts = [offline.experiments[i].lifts[name] for i in measured]
    differences = offline.differences[:, measured]
    at = offline.keys.index((reference, PINNED)) if (reference, PINNED) in offline.keys else None
    nothing = np.full(len(lifts), np.nan)
    online = _Online(
        name,
        np.array([lift.value for lift in lifts]),
        _settled(lifts, confidence),
        nothing if at is None else differences[at],
    )
    chances = by_permutation(differences, online.values, online.settled)
    rows = [
        replace(
            _agreement(key, differences[i], online, confidence),
            p_sign=or_none(float(chances.sign[i])),
            p_sign_best=or_none(float(chances.sign_best[i])),
            p_tau=or_none(float(chances.tau[i])),
            p_tau_best=or_none(float(chances.tau_best[i])),
        )
        for i, key in enumerate(offline.keys)
    ]
    return sorted(rows, key=_place)


def _place(row: Agreement) -> tuple[float, float]:
    return 1.0 if row.low is None else -row.low, 2.0 if row.tau is None else -row.tau


def _settled(lifts: Sequence[Lift], confidence: float) -> Floats:
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    return np.array([np.sign(lift.value) if lift.settled(z) else 0.0 for lift in lifts])


def _agreement(key: Key, difference: Floats, online: _Online, confidence: float) -> Agreement:
    """All but the p values of permutation."""
    known = ~np.isnan(difference)
    zero = known & ((difference == 0) | (online.values == 0))
    signed = known & ~zero & (online.settled != 0)
    unsettled = known & ~zero & (online.settled == 0)
    right = _right(difference, online.values)
    agree, n, n_ranked = int((right & signed).sum()), int(signed.sum()), int(known.sum())
    low, high = sign_interval(agree, n, confidence)
    tau = tau_b(difference[known], online.values[known])
    tau_low, tau_high = tau_interval(tau, n_ranked, confidence)
    both = signed & (np.nan_to_num(online.reference) != 0)
    other = _right(online.reference, online.values)
    only_this, only_reference = int((both & right & ~other).sum()), int((both & other & ~right).sum())  # fmt: skip
    return Agreement(
        online=online.name,
        label=key[0],
        definition=key[1],
        agree=agree,
        n=n,
        share=agree / n if n else None,
        low=or_none(low),
        high=or_none(high),
        n_unsettled=int(unsettled.sum()),
        agree_unsettled=int((unsettled & right).sum()),
        n_zero=int(zero.sum()),
        n_missing=int((~known).sum()),
        tau=or_none(tau),
        tau_low=or_none(tau_low),
        tau_high=or_none(tau_high),
        n_ranked=n_ranked,
        p_sign=None,
        p_sign_best=None,
        p_tau=None,
        p_tau_best=None,
        only_this=only_this,
        only_reference=only_reference,
        p_reference=mcnemar(only_this, only_reference) if only_this + only_reference else None,
    )


def _right(difference: Floats, online: Floats) -> Bools:
    """Are the signs the same?"""
    return np.asarray(np.sign(np.nan_to_num(difference)) == np.sign(online))


def calibrate(experiments: Data, comparisons: Comparison | Mapping[str, Comparison]) -> Calibration:
    """Offline differences of evaluations that are there against the online lifts of past experiments.

    Nothing is evaluated anew. Every label of the comparisons counts as it is pinned, and the primary ones under every
    definition of the panel too, with signs turned so that higher is better.

    Parameters
    ----------
    experiments : a frame, or the path of a CSV file: `experiment`, `control`, `treatment`, and a column of lifts for
                  each online metric, higher being better; `ctr_se`, or `ctr_low` and `ctr_high`, say how sure `ctr` is
    comparisons : a comparison, or revision -> comparison: `als@v1.2` is the model als of the comparison `v1.2`, and
                  `als` that of the first one

    Raises
    ------
    InputError : a row cannot be read, or names a model or a revision that is not there

    References
    ----------
    Garcin et al. (2014), RecSys, 169-176.  doi:10.1145/2645710.2645745
    Rossetti, Stella & Zanker (2016), RecSys, 31-34.  doi:10.1145/2959100.2959176
    Jeunen, Potapov & Ustimenko (2024), KDD.  doi:10.1145/3637528.3671687
    """
    if isinstance(comparisons, Comparison):
        comparisons = {"": comparisons}
    if not comparisons:
        raise refuse("comparisons", "there is none", "give what `concord.compare` returned")
    if not isinstance(comparisons, Mapping) or not all(
        isinstance(each, Comparison) for each in comparisons.values()
    ):
        raise refuse("comparisons", "is neither a comparison nor a dict of them", "write {'v1': concord.compare(…), …}")  # fmt: skip
    first = next(iter(comparisons.values()))
    found = offline_of(given_experiments(experiments), {"": first, **comparisons})
    return calibrated(found, first.primary[0], first.confidence)
