"""`cases`: where the lists of two models differ most, user by user and item by item."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from concord.metrics_core.cases.found import Question, cases_of
from concord.metrics_core.checking.problems import InputError, Problem, refuse
from concord.metrics_core.checking.settings import Arguments
from concord.metrics_core.comparing.evidence.asked import (
    Asked,
    Finding,
    baseline_findings,
    choice_findings,
    label_findings,
    model_findings,
)
from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.evidence.folds import truths_of
from concord.metrics_core.comparing.evidence.replicating import Named, unfolded
from concord.metrics_core.comparing.evidence.segmentations import segment_findings, segmentations_of
from concord.metrics_core.comparison.cases import Cases
from concord.metrics_core.conventions.presets import Chosen
from concord.metrics_core.evaluate import labels_of, pinned_by
from concord.metrics_core.inputs import refuse_unit
from concord.metrics_core.metrics.catalogue import spelled
from concord.metrics_core.model_tables import evaluations, given_of
from concord.metrics_core.reading.formats.frames import Data
from concord.metrics_core.reading.given import Columns
from concord.metrics_core.scoring.result import CONFIDENCE

WORST = 20


def cases(
    models: Mapping[str, Data | Mapping[str, Mapping[Any, Data]]],
    truth: Data | Mapping[str, Mapping[Any, Data]],
    *,
    model: str,
    versus: str,
    metrics: Sequence[str],
    conventions: Chosen,
    worst: int = WORST,
    segment: str | None = None,
    item: Any = None,
    train: Data | None = None,
    items: Data | None = None,
    users: Data | None = None,
    segments: Mapping[str, Mapping[str, Any]] | None = None,
    columns: Columns | None = None,
    input: Mapping[str, Any] | None = None,
    unit: Sequence[str] = (),
    title: str = "Comparison",
) -> Cases:
    """The users for whom `model` does worst against `versus`, with both lists; the items that it finds less often.

    `concord cases` gives the same from the results of the pipeline. The other arguments are those of `compare`.

    Parameters
    ----------
    models  : name -> lists, as `compare` takes them; only two of them are read
    model   : a model, or one training of it such as `als-2`; of a model with replicates the first training
    metrics : the labels shown; users are sorted by the first
    worst   : so many users, and so many items
    segment : only users of this group, such as `channel=app`, of those that `segments` make
    item    : only users who wanted this item or were shown it

    Raises
    ------
    ValueError : what is wrong, where, and what to do
    """
    pinned, labels = pinned_by(conventions), labels_of(metrics)
    refuse_unit(unit, pinned)
    settings, names = Arguments("truth"), [str(label) for label in labels]
    background = {"train": train, "items": items, "users": users}
    segmentations = segmentations_of(segments or {})
    _refuse([*model_findings(models), *label_findings(names, names)])
    chosen = choice_findings(names, "0%", names, settings)
    _refuse(("metrics", what, fix) for _, what, fix in chosen)
    _refuse(segment_findings(segmentations, given_of(background), settings))
    if type(worst) is not int or worst < 1:
        raise refuse("worst", f"is {worst!r}", "write a whole number from 1 on")
    lists, trained = unfolded(models)
    pair = [list_of(name, lists, trained, where) for name, where in ((model, "model"), (versus, "versus"))]  # fmt: skip
    refuse_same(*pair)
    truths = truths_of(truth)
    asked = Asked(
        title=title,
        conventions=pinned,
        labels=labels,
        ks=sorted({label.k for label in labels if label.k is not None}),
        primary=[spelled(text) for text in names],
        min_effects={},
        baseline=pair[1],
        confidence=CONFIDENCE,
        adjustment="holm",
        wilcoxon=False,
        resamples=0,
        seed=0,
        panel=False,
        settings=settings,
        segments=segmentations,
        replicates=trained,
    )
    results, ground = evaluations(
        asked, lists, truths, background, columns=columns, input=input, unit=unit, names=pair
    )
    question = Question((model, versus), worst, segment, None if item is None else str(item))
    return cases_of(Evidence(asked, results, ground), question)


def list_of(name: str, lists: Collection[str], trained: Named, where: str) -> str:
    """The lists that a name stands for: of a model that was trained several times those of the first training."""
    if name in trained:
        return next(iter(trained[name].values()))
    for _, what, fix in baseline_findings(name, [*lists, *trained]):
        raise refuse(where, what, fix)
    return name


def refuse_same(a: str, b: str) -> None:
    """Lists beside themselves."""
    if a == b:
        raise refuse("versus", f"{b!r} is the model itself", "name another one")


def _refuse(found: Iterable[Finding]) -> None:
    if problems := [Problem(*each) for each in found]:
        raise InputError(problems)
