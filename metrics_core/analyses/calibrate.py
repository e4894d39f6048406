"""`calibrate`: agreement of offline metrics and their definitions with past A/B experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from concord.metrics_core.analyses.calibrate_experiments import (
    Experiment,
    Lift,
    OfflineDifferences,
    load_experiments,
    offline_differences,
)
from concord.metrics_core.analyses.calibrate_statistics import (
    best_sign_test_p,
    experiments_needed,
    mcnemar,
    permutation_p_values,
    tau_b,
    tau_interval,
)
from concord.metrics_core.data.argument_types import Data
from concord.metrics_core.errors import refuse
from concord.metrics_core.metrics.judged import Bools, Floats
from concord.metrics_core.results.calibration import (
    PINNED,
    POWER,
    SHARE_TO_FIND,
    Agreement,
    Calibration,
    OnlineMetric,
)
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import or_none
from concord.metrics_core.stats.mean_interval import clopper_pearson


def calibrate(experiments: Data, comparisons: Comparison | Mapping[str, Comparison]) -> Calibration:
    """Compare offline differences with the online lifts of past A/B experiments.

    Nothing is evaluated again. All labels of the comparisons are used with the comparisons'
    conventions, and primary labels also with all definitions of the panel. Signs are such that
    higher is better.

    Parameters
    ----------
    experiments : frame or path of a CSV file
        Columns `experiment`, `control`, `treatment`, and one column of lifts for each online
        metric, for which higher must be better. Optional columns `ctr_se`, or `ctr_low` and
        `ctr_high`: standard error or interval of `ctr`.
    comparisons : Comparison or dict
        A comparison, or revision -> comparison. `als@v1.2` is the model als of the comparison
        `v1.2`, and `als` is that of the first comparison.

    Returns
    -------
    Calibration
        Agreement in sign and order of every label, best first, with intervals and p-values.

    Raises
    ------
    InputError
        If a row is invalid, or names an unknown model or revision.

    References
    ----------
    Garcin et al. (2014), RecSys, 169-176.  doi:10.1145/2645710.2645745
    Rossetti, Stella & Zanker (2016), RecSys, 31-34.  doi:10.1145/2959100.2959176
    Jeunen, Potapov & Ustimenko (2024), KDD.  doi:10.1145/3637528.3671687

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
    >>> calibration.to_frame().select("online", "label", "agree", "n").rows()
    [('clicks', 'RR@2', 1, 1)]
    """
    if isinstance(comparisons, Comparison):
        comparisons = {"": comparisons}
    if not isinstance(comparisons, Mapping) or not all(
        isinstance(each, Comparison) for each in comparisons.values()
    ):
        raise refuse(
            "comparisons",
            "must be a Comparison or a dict of comparisons",
            "write {'v1': concord.compare(…), …}",
        )
    if not comparisons:
        raise refuse("comparisons", "is empty", "pass results of `concord.compare`")
    first = next(iter(comparisons.values()))
    return calibrate_experiments(load_experiments(experiments), {"": first, **comparisons})


def calibrate_experiments(
    experiments: Sequence[Experiment], comparisons: Mapping[str, Comparison]
) -> Calibration:
    """Return the calibration of loaded experiments; `comparisons[""]` is the current one."""
    current = comparisons[""]
    reference, confidence = current.primary[0], current.confidence
    offline = offline_differences(experiments, comparisons)
    names = dict.fromkeys(name for each in offline.experiments for name in each.lifts)
    return Calibration(
        experiments=tuple(each.name for each in offline.experiments),
        skipped=offline.skipped,
        reference=reference,
        confidence=confidence,
        experiments_needed=experiments_needed(SHARE_TO_FIND, 1 - confidence, POWER),
        online=tuple(_online_metric(offline, name, reference, confidence) for name in names),
    )


def _online_metric(
    offline: OfflineDifferences, name: str, reference: str, confidence: float
) -> OnlineMetric:
    """Return the agreement of all labels with an online metric, where it was measured."""
    measured = [i for i, each in enumerate(offline.experiments) if name in each.lifts]
    lifts = [offline.experiments[i].lifts[name] for i in measured]
    online = np.array([lift.value for lift in lifts])
    settled_signs = _settled_signs(lifts, confidence)
    differences = offline.differences[:, measured]
    key = (reference, PINNED)
    reference_differences = (
        differences[offline.keys.index(key)] if key in offline.keys else np.full(len(lifts), np.nan)
    )
    p = permutation_p_values(differences, online, settled_signs)
    agreements = []
    for i, (label, definition) in enumerate(offline.keys):
        defined = ~np.isnan(differences[i])
        nonzero = defined & (differences[i] != 0) & (online != 0)
        settled = nonzero & (settled_signs != 0)
        unsettled = nonzero & (settled_signs == 0)
        is_right = _same_sign(differences[i], online)
        agree, n, n_ranked = int((is_right & settled).sum()), int(settled.sum()), int(defined.sum())
        low, high = clopper_pearson(agree, n, confidence)
        tau = tau_b(differences[i][defined], online[defined])
        tau_low, tau_high = tau_interval(tau, n_ranked, confidence)
        both = settled & (np.nan_to_num(reference_differences) != 0)
        reference_right = _same_sign(reference_differences, online)
        only_this = int((both & is_right & ~reference_right).sum())
        only_reference = int((both & reference_right & ~is_right).sum())
        discordant = only_this + only_reference
        agreements.append(
            Agreement(
                online=name,
                label=label,
                definition=definition,
                agree=agree,
                n=n,
                share=agree / n if n else None,
                low=or_none(low),
                high=or_none(high),
                n_unsettled=int(unsettled.sum()),
                agree_unsettled=int((unsettled & is_right).sum()),
                n_zero=int((defined & ~nonzero).sum()),
                n_missing=int((~defined).sum()),
                tau=or_none(tau),
                tau_low=or_none(tau_low),
                tau_high=or_none(tau_high),
                n_ranked=n_ranked,
                p_sign=or_none(float(p.sign[i])),
                p_sign_best=or_none(float(p.sign_best[i])),
                p_tau=or_none(float(p.tau[i])),
                p_tau_best=or_none(float(p.tau_best[i])),
                only_this=only_this,
                only_reference=only_reference,
                p_reference=mcnemar(only_this, only_reference) if discordant else None,
            )
        )
    agreements.sort(key=_sort_key)
    best = agreements[0] if agreements else None
    if best is None or not best.n:
        return OnlineMetric(name, tuple(agreements), perfect_low=None, p_coins=None)
    return OnlineMetric(
        name,
        tuple(agreements),
        perfect_low=clopper_pearson(best.n, best.n, confidence)[0],
        p_coins=best_sign_test_p(best.agree, best.n, len(agreements)),
    )


def _sort_key(row: Agreement) -> tuple[float, float]:
    """Return the sort key: lower end of the share of signs, then tau, descending, None last."""
    return 1.0 if row.low is None else -row.low, 2.0 if row.tau is None else -row.tau


def _settled_signs(lifts: Sequence[Lift], confidence: float) -> Floats:
    """Return the sign of each lift; 0 if its interval includes 0."""
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    return np.array([np.sign(lift.value) if lift.is_settled(z) else 0.0 for lift in lifts])


def _same_sign(differences: Floats, online: Floats) -> Bools:
    return np.asarray(np.sign(np.nan_to_num(differences)) == np.sign(online))
