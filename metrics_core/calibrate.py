"""`calibrate`: which offline metric, cutoff and definition agreed with past A/B experiments?"""

from collections.abc import Mapping

from concord.metrics_core.calibrating.calibrated import calibrated
from concord.metrics_core.calibrating.calibration import Calibration
from concord.metrics_core.calibrating.experiments import given_experiments
from concord.metrics_core.calibrating.offline import offline_of
from concord.metrics_core.checking.problems import refuse
from concord.metrics_core.comparison.comparison import Comparison
from concord.metrics_core.reading.formats.frames import Data


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
