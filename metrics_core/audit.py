"""`audit`: lists of models, truth and train in; what is wrong with the split, and what it weighs, out."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from concord.metrics_core.auditing.audited import audited, refuse_requests
from concord.metrics_core.auditing.parts import Audit
from concord.metrics_core.checking.known_by import WHOLE
from concord.metrics_core.checking.problems import InputError, Problem
from concord.metrics_core.checking.settings import Arguments
from concord.metrics_core.comparing.evidence.asked import (
    Asked,
    Finding,
    choice_findings,
    in_report_order,
    label_findings,
    model_findings,
    number_findings,
)
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.evidence.folds import fold_findings, truths_of
from concord.metrics_core.comparing.evidence.replicated import with_replicates
from concord.metrics_core.comparing.evidence.replicating import replicate_findings, unfolded
from concord.metrics_core.conventions.presets import Chosen
from concord.metrics_core.evaluate import labels_of, pinned_by
from concord.metrics_core.model_tables import evaluations
from concord.metrics_core.reading.formats.frames import Data
from concord.metrics_core.reading.given import Columns

TIMES = "name their columns: `columns={'truth': {'time': …}, 'train': {'time': …}}`"
_RESAMPLES, _SEED = 2000, 1  # an audit draws nothing that they decide


def audit(
    models: Mapping[str, Data | Mapping[str, Mapping[Any, Data]]],
    truth: Data | Mapping[str, Mapping[Any, Data]],
    *,
    train: Data,
    metrics: Sequence[str],
    conventions: Chosen,
    items: Data | None = None,
    columns: Columns | None = None,
    input: Mapping[str, Any] | None = None,
    confidence: float = 0.95,
) -> Audit:
    """Does anything of the truth leak into train, what is cold, and would the order of the models be another without it?

    Each check tells how many rows, users and items it touches, and each metric of each model with and without the touched
    users. `concord audit` tells the same of a project.

    Parameters
    ----------
    models      : name -> lists, as `compare` takes them
    truth       : as `compare` takes it; its column `time` is read where `columns` names it
    train       : `user`, `item` [, `time`]: what the models learned from
    metrics     : labels such as "nDCG@10", each with a value for every user; lists are looked at up to the first cutoff
    conventions : `concord.preset(name)`, the name of a preset, or a dict
    items       : the catalogue: `item` [, `title`] [, `vector`], by which copies are found
    columns     : what tables call their columns: {"truth": {"user": "user_id"}, "als": {"score": "prediction"}}
    input       : what tables may hold beside the usual, such as {"negative_grade": "zero"}
    confidence  : of all intervals

    Raises
    ------
    ValueError : what is wrong, where, and what to do

    References
    ----------
    Meng, McCreadie, Macdonald & Ounis (2020), RecSys, 681-686.  doi:10.1145/3383313.3418479
    Ji, Sun, Zhang & Li (2023), ACM TOIS 41(3), 75.  doi:10.1145/3569930
    Sun (2023), SIGIR.  doi:10.1145/3539618.3591931
    Hidasi & Czapp (2023), RecSys.  arXiv:2307.14951
    Gusak, Volodkevich, Klenitskiy, Vasilev & Frolov (2025), RecSys.  arXiv:2507.16289
    Kaufman, Rosset, Perlich & Stitelman (2012), ACM TKDD 6(4), 15.  doi:10.1145/2382577.2382579
    """
    pinned, settings = pinned_by(conventions), Arguments("truth")
    refuse_requests(pinned)
    labels = labels_of(metrics)
    names = [str(label) for label in labels]
    _refuse([*model_findings(models), *label_findings(names, names)])
    _refuse([*number_findings(confidence=confidence, resamples=_RESAMPLES, seed=_SEED)])
    lists, replicates = unfolded(models)
    truths = truths_of(truth)
    folds = truths.keys() - {WHOLE}
    _refuse(
        [
            *replicate_findings(replicates, lists, paired=False),
            *fold_findings(folds, list(models), replicates),
            *_as_metrics(choice_findings(names, 0.0, names, settings)),
        ]
    )
    asked = Asked(
        title="Audit",
        conventions=pinned,
        labels=in_report_order(labels),
        ks=sorted({label.k for label in labels if label.k is not None}),
        primary=names,
        min_effects=dict.fromkeys(names, 0.0),
        baseline=next(iter(models)),
        confidence=confidence,
        adjustment="holm",
        wilcoxon=False,
        resamples=_RESAMPLES,
        seed=_SEED,
        panel=False,
        settings=settings,
        replicates=replicates,
    )
    background = {"train": train, "items": items, "users": None}
    results, ground = evaluations(asked, lists, truths, background, columns=columns, input=input)
    return audited(Evidence(asked, with_replicates(results, asked), ground), times=TIMES)


def _as_metrics(found: Iterable[Finding]) -> list[Finding]:
    """What is wrong with primary labels, of which `metrics` are all."""
    return [("metrics", what, fix) for _, what, fix in found]


def _refuse(found: Sequence[Finding]) -> None:
    if problems := [Problem(*each) for each in found]:
        raise InputError(problems)
