"""Offline differences and online lifts -> a Calibration."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from concord.metrics_core.calibrating.agreement import (
    mcnemar,
    sign_interval,
    tau_b,
    tau_interval,
)
from concord.metrics_core.calibrating.calibration import Agreement, Calibration
from concord.metrics_core.calibrating.experiments import Lift
from concord.metrics_core.calibrating.offline import PINNED, Key, Offline
from concord.metrics_core.calibrating.permuted import by_permutation
from concord.metrics_core.calibrating.sentences import told
from concord.metrics_core.comparison.parts import or_none
from concord.metrics_core.metrics.judged import Bools, Floats


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
