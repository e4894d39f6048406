"""The history of this project, newest revision last."""

from collections.abc import Iterator, Sequence
from typing import cast

from concord.metrics_core.comparison.what_changed import models_changed, what_changed
from concord.metrics_core.errors import in_words, refuse
from concord.metrics_core.metrics.catalogue import parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Verdict
from concord.metrics_core.results.history import Changed, History, Revision, Standing
from concord.metrics_core.results.words import listed
from concord.pipeline.diffing.dvc_lock import LOCK
from concord.pipeline.history.cache import Cached, cache
from concord.pipeline.history.commits import is_shallow, since
from concord.pipeline.history.pairing import paired
from concord.pipeline.history.reused import reuse
from concord.pipeline.history.states import State, states
from concord.reports.writing.verdicts import VERDICTS

CONFIDENCE = 0.95  # where no comparison can be read
_NAMES = {verdict.word: name for name, verdict in VERDICTS.items()}


def history(revision: str | None = None) -> History:
    """The revisions of this branch that changed the comparison; with `revision` those that came after it.

    Raises
    ------
    InputError : there is no git or DVC repository here, no such revision, or no comparison was ever committed
    """
    wanted = None if revision is None else since(revision)
    cached = cache()
    found = states(cached)
    if not found:
        what = "no commit of this branch holds the results of `dvc repro`"
        raise refuse(LOCK, what, "run `dvc repro`, and commit dvc.lock")
    shown = [(then, now) for then, now in _steps(found) if wanted is None or now.commit.name in {*wanted, ""}]  # fmt: skip
    if not shown:
        what = f"the comparison has not changed since {revision}"
        raise refuse("command line", what, "leave the revision out, or name an earlier one")
    readable = [state.comparison for state in found if state.comparison is not None]
    confidence = readable[-1].confidence if readable else CONFIDENCE
    return History(
        title=readable[-1].title if readable else "",
        confidence=confidence,
        revisions=tuple(_told(then, now, cached) for then, now in shown),
        reuse=reuse([state for state in found if state.mark], confidence),
        notes=(*_notes([now for _, now in shown]), *_over_users([now for _, now in shown])),
    )


def _steps(found: Sequence[State]) -> Iterator[tuple[State | None, State]]:
    """Each state, after the last one before it whose dvc.lock can be read."""
    then: State | None = None
    for now in found:
        yield then, now
        then = now if now.mark else then


def _notes(shown: Sequence[State]) -> list[str]:
    lost = [state for state in shown if state.mark and state.comparison is None]
    notes = []
    if lost:
        what = f"{in_words(len(lost), 'revision')} cannot be read in full: means and verdicts are those of {{}} in git"
        notes.append(
            what.format("primary.json")
            + "; `dvc fetch --all-commits` brings back what a remote has"
        )
    if is_shallow():
        notes.append("this checkout holds the last commits only: `git fetch --unshallow` brings the others")  # fmt: skip
    return notes


def _over_users(shown: Sequence[State]) -> list[str]:
    """Of models with replicates, what the intervals do not cover."""
    found = [at.comparison.replicates for at in shown if at.comparison]
    trained = list(dict.fromkeys(model for each in found if each for model in each.models))
    if not trained:
        return []
    return [f"intervals and verdicts are over users: other trainings of {listed(trained)} are not in them"]  # fmt: skip


def _told(then: State | None, now: State, cached: Cached) -> Revision:
    unpaired, same, changes = ("", (), ()) if then is None else paired(then, now, cached)
    commit = now.commit
    return Revision(
        name=commit.short,
        tags=commit.tags,
        date=commit.date,
        subject=commit.subject,
        truth=now.lock.truth,
        baseline=None if now.comparison is None else now.comparison.baseline,
        gone=now.gone,
        standings=_standings(now.comparison) if now.comparison else _of_git(now.primary),
        changed=changed_between(then, now) if then is not None and now.mark else (),
        unpaired=unpaired,
        same=same,
        changes=changes,
    )


def changed_between(then: State, now: State) -> tuple[Changed, ...]:
    """What git and the cache know of it; less where a comparison is gone."""
    was, is_now = then.lock.background, now.lock.background
    other = [table for table in {**was, **is_now} if was.get(table) != is_now.get(table)]
    background = [Changed("background", f"other {listed(other)}")] if other else []
    if then.comparison is not None and now.comparison is not None:
        return (*what_changed(then.comparison, now.comparison), *background)
    before, after = then.lock.comparison_params.models, now.lock.comparison_params.models
    found = [*models_changed(before, after)]
    if new := [m for m in after if m in before and then.lock.lists(m) != now.lock.lists(m)]:
        found.append(Changed("lists", f"other lists: {listed(new)}"))
    if then.lock.truth != now.lock.truth:
        found.append(Changed("truth", "another truth"))
    return (*found, *background)


def _standings(comparison: Comparison) -> tuple[Standing, ...]:
    found = []
    for label in comparison.primary:
        for score in comparison.scores_of(label):
            pair = comparison.difference(score.model, comparison.baseline, label)
            found.append(
                Standing(
                    label=label,
                    model=score.model,
                    higher_is_better=comparison.metric(label).higher_is_better,
                    mean=score.mean,
                    ci_low=score.ci_low,
                    ci_high=score.ci_high,
                    difference=pair.difference if pair else None,
                    diff_low=pair.ci_low if pair else None,
                    diff_high=pair.ci_high if pair else None,
                    verdict=pair.verdict if pair else None,
                )
            )
    return tuple(found)


def _of_git(primary: dict[str, dict[str, object]]) -> tuple[Standing, ...]:
    """Means and verdicts of primary.json; it has no intervals."""
    return tuple(
        Standing(
            label=label,
            model=model,
            higher_is_better=_higher_is_better(label),
            mean=float(mean) if isinstance(mean, int | float) else None,
            ci_low=None,
            ci_high=None,
            difference=None,
            diff_low=None,
            diff_high=None,
            verdict=_named(primary.get(f"{label} verdict", {}).get(model)),
        )
        for label, means in primary.items()
        if not label.endswith(" verdict")
        for model, mean in means.items()
    )


def _named(word: object) -> Verdict | None:
    """The verdict that stands in words."""
    return cast("Verdict | None", _NAMES.get(str(word)))


def _higher_is_better(label: str) -> bool:
    try:
        return parse(label).metric.higher_is_better
    except ValueError:  # of another version
        return True
