"""The history of a project: its comparison at each revision, paired with the one before."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

from concord.metrics_core.comparison.min_effect import PERCENT, Effect
from concord.metrics_core.comparison.replicate_config import ReplicateNames, model_names
from concord.metrics_core.comparison.replicated_models import replicated
from concord.metrics_core.comparison.what_changed import former_names, models_changed, what_changed
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import InputError, in_words, refuse
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.files import load_json
from concord.metrics_core.metrics.label import Label, parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Verdict
from concord.metrics_core.results.history import (
    Change,
    History,
    InputChange,
    Reuse,
    Revision,
    Standing,
)
from concord.metrics_core.results.words import listed, percent
from concord.metrics_core.stats.adjustment import chance_of_false_winner, reuse_severity
from concord.pipeline.dvc.cache import DvcCache, FindFile
from concord.pipeline.dvc.changes import changes, find_mismatch
from concord.pipeline.dvc.history_states import State, commits_since, is_shallow, states
from concord.pipeline.dvc.lock import LOCK, DvcLock
from concord.pipeline.dvc.revision import RevisionResults, list_owners, renamed_lists
from concord.reports.writing.verdicts import VERDICTS

StateChanges = tuple[
    str, tuple[str, ...], tuple[Change, ...]
]  # why not all, unchanged models, the others


@dataclass(frozen=True)
class _PrimaryRules:
    """Conventions, levels and minimum effects of a revision's primary labels."""

    conventions: Conventions
    labels: list[Label]
    primary: list[str]
    min_effects: dict[str, Effect]
    confidence: float
    max_missing_lists: float

    @property
    def alpha(self) -> float:
        return 1 - self.confidence

    def without(self, labels: Container[str]) -> "_PrimaryRules":
        kept = [label for label in self.labels if str(label) not in labels]
        return replace(self, labels=kept, primary=[str(label) for label in kept])


def compare_states(then: State, now: State, find: FindFile) -> StateChanges:
    """Compare the primary labels of the models that both have; files of values with one hash are not read."""
    if then.comparison is None or now.comparison is None:
        return now.gone or "the revision before cannot be read", (), ()
    renamed = _renamed_models(then, now)
    names = former_names(then.comparison.models, now.comparison.models, renamed)
    same = tuple(
        m for m, was in names.items() if _is_same_file(_hashes(now, m), _hashes(then, was))
    )
    other = [model for model in names if model not in same]
    if not other:
        return "", same, ()
    sides = _sides(now, then, {model: names[model] for model in other}, find)
    if isinstance(sides, str):
        return sides, same, ()
    ours, theirs = sides
    before = RevisionResults(then.commit.short, {}, [names[model] for model in other], theirs)
    try:
        terms = _primary_rules(now, now.comparison, ours[other[0]])
    except InputError:
        return "its conventions are those of another version of Concord", same, ()
    differing = find_mismatch(terms, ours, before)
    whose = f"{', '.join(other)} had "  # left out of the note: it concerns all of them
    told = [each.what.partition(": ")[0].removeprefix(whose) for each in differing.truth]
    told += [each.partition(": ")[0] for each in differing.differences()]
    told += [f"{x} is no longer a metric" for x in now.comparison.primary if x not in terms.primary]
    compared = () if differing.truth else changes(terms.without(differing.labels), ours, before)
    return "; ".join(told), same, tuple(compared)


def _sides(
    now: State, then: State, names: Mapping[str, str], find: FindFile
) -> list[dict[str, ModelResult]] | str:
    """Return the results of models now and, by their former names, then; or why they cannot be read."""
    try:
        sides = [
            {model: _evaluated(now, model, find) for model in names},
            {model: _evaluated(then, name, find) for model, name in names.items()},
        ]
    except InputError as error:
        problem = error.problems[0]
        return f"users' values cannot be read: one file {problem.what}; {problem.fix}"
    if lost := [m for m in names if any(side[m] is None for side in sides)]:
        return f"users' values of {', '.join(lost)} are not in DVC's cache"
    return [{m: found for m, found in side.items() if found is not None} for side in sides]


def _primary_rules(state: State, comparison: Comparison, evaluated: ModelResult) -> _PrimaryRules:
    labels = [*_known(comparison.primary)]
    return _PrimaryRules(
        conventions=Conventions.from_mapping(evaluated.summary["conventions"]),
        labels=labels,
        primary=[str(label) for label in labels],
        min_effects={x: _effect(comparison.metric(x).min_effect) for x in comparison.primary},
        confidence=comparison.confidence,
        max_missing_lists=state.lock.comparison_params.max_missing_lists,
    )


def _known(primary: Sequence[str]) -> Iterator[Label]:
    """Yield the labels whose metrics still exist."""
    for text in primary:
        with suppress(ValueError):
            yield parse(text)


def _effect(text: str) -> Effect:
    return text if PERCENT.fullmatch(text) else float(text)


def _lists(state: State, model: str) -> list[str]:
    """Return the names of a model's lists: one, or one per replicate."""
    assert state.comparison is not None, "told before"
    return [name for name, of in state.comparison.lists.items() if of == model]


def _hashes(state: State, model: str) -> list[str | None]:
    """Return the hashes of a model's values per user, one per list."""
    return [state.lock.values(name) for name in _lists(state, model)]


def _is_same_file(now: Sequence[str | None], then: Sequence[str | None]) -> bool:
    return now == then and all(now)


def _renamed_models(then: State, now: State) -> dict[str, str]:
    """Return new model -> the vanished model that its lists continue, by the rules of `renamed_lists`."""
    was, is_now = (each.lock.comparison_params for each in (then, now))
    renamed = renamed_lists(now.lock.model_entries, then.lock.model_entries)
    former_models = model_names(was.models, was.replicates)
    models = model_names(is_now.models, is_now.replicates)
    owners = {
        model: list_owners(
            [
                renamed[name]
                for name in is_now.replicates.get(model, {"": model}).values()
                if name in renamed
            ],
            was.replicates,
        )
        for model in models
        if model not in former_models
    }
    return {
        model: names[0]
        for model, names in owners.items()
        if len(names) == 1 and names[0] not in models
    }


def _evaluated(state: State, model: str, find: FindFile) -> ModelResult | None:
    """Return a model's results, those of its replicates as one; None if a file is missing."""
    found = {name: _of_lists(state, name, find) for name in _lists(state, model)}
    known = {name: each for name, each in found.items() if each is not None}
    if len(known) < len(found):
        return None
    first, *others = known.values()
    if not others:
        return first
    assert state.comparison is not None, "told before"
    terms = _primary_rules(state, state.comparison, first)
    return replicated(
        known,
        labels=terms.labels,
        conventions=terms.conventions,
        confidence=terms.confidence,
    )


def _of_lists(state: State, model: str, find: FindFile) -> ModelResult | None:
    marks = state.lock.values(model), state.lock.summary(model)
    values, summary = (None if mark is None else find(mark) for mark in marks)
    if values is None or summary is None:
        return None
    content = load_json(summary, "`dvc fetch --all-commits`")
    return ModelResult(values, values, values, content, {})


Lists = frozenset[str | None]  # of a model, or of all its trainings
Decision = tuple[Lists, Lists, str, str]  # a model, the baseline, a label, under which conventions


def reuse(found: Sequence[State], confidence: float) -> Reuse | None:
    """Return how often the current ground truth decided; None if it has no hash."""
    truth = found[-1].lock.truth if found else None
    if truth is None:
        return None
    known: set[Decision] = set()
    comparisons = 0
    for state in found:
        if state.lock.truth == truth:
            new = {*_decisions(state.lock)} - known
            comparisons += bool(new)
            known |= new
    chance = chance_of_false_winner(comparisons, 1 - confidence)
    severity = reuse_severity(chance)
    return Reuse(
        truth, comparisons, len(known), chance, severity, _sentence(comparisons, len(known), chance)
    )


def _decisions(lock: DvcLock) -> Iterator[Decision]:
    """Yield the decisions by dvc.lock alone, so that those without results count too."""
    params = lock.comparison_params
    baseline = _reused_lists(lock, params.replicates, params.baseline or "")
    for model in model_names(params.models, params.replicates):
        if model != params.baseline:
            for label in params.primary:
                yield (
                    _reused_lists(lock, params.replicates, model),
                    baseline,
                    label,
                    params.conventions,
                )


def _reused_lists(lock: DvcLock, replicates: ReplicateNames, model: str) -> Lists:
    return frozenset(map(lock.lists, replicates.get(model, {"": model}).values()))


def _sentence(comparisons: int, decisions: int, chance: float) -> str:
    """Grows with the count."""
    times = in_words(comparisons, "comparison")
    asked = f"{times} with {in_words(decisions, 'decision')} (a model's lists against the baseline's, on a primary metric) rest on this truth"
    severity = reuse_severity(chance)
    if severity is None:
        return f"{asked}."
    said = f"{asked}: had none of these lists been any better, one of them would be called better with a chance of up to {percent(chance)}"
    if severity == "notice":
        return f"{said}. The more often a truth decides, the more its winners owe to it: keep another one for the last word."
    return (
        f"{said}; and more, if lists were made of what won here. A winner's lead on this truth is no longer evidence by "
        "itself: decide on a truth that has not been asked yet (other users, or a later time), and take that for the next ones."
    )


CONFIDENCE = 0.95  # where no comparison can be read
_NAMES = {verdict.word: name for name, verdict in VERDICTS.items()}


def history(revision: str | None = None) -> History:
    """The revisions of this branch that changed the comparison; with `revision` those that came after it.

    Raises
    ------
    InputError : there is no git or DVC repository here, no such revision, or no comparison was ever committed
    """
    wanted = None if revision is None else commits_since(revision)
    find = DvcCache().find
    found = states(find)
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
        revisions=tuple(_revision(then, now, find) for then, now in shown),
        reuse=reuse([state for state in found if state.mark], confidence),
        notes=(*_notes([now for _, now in shown]), *_over_users([now for _, now in shown])),
    )


def _steps(found: Sequence[State]) -> Iterator[tuple[State | None, State]]:
    """Yield each state with the last one before it whose dvc.lock can be read."""
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


def _revision(then: State | None, now: State, find: FindFile) -> Revision:
    unpaired, same, changes = ("", (), ()) if then is None else compare_states(then, now, find)
    commit = now.commit
    return Revision(
        name=commit.short,
        tags=commit.tags,
        date=commit.date,
        subject=commit.subject,
        truth=now.lock.truth,
        baseline=None if now.comparison is None else now.comparison.baseline,
        gone=now.gone,
        standings=_standings(now.comparison) if now.comparison else _standings_of_git(now.primary),
        changed=changed_between(then, now) if then is not None and now.mark else (),
        unpaired=unpaired,
        same=same,
        changes=changes,
    )


def changed_between(then: State, now: State) -> tuple[InputChange, ...]:
    """Return what changed by both comparisons, or by dvc.lock if one is missing."""
    was, is_now = then.lock.background, now.lock.background
    tables = [table for table in {**was, **is_now} if was.get(table) != is_now.get(table)]
    renamed = renamed_lists(now.lock.model_entries, then.lock.model_entries)
    background = [InputChange("background", f"other {listed(tables)}")] if tables else []
    if then.comparison is not None and now.comparison is not None:
        return (*what_changed(then.comparison, now.comparison, renamed), *background)
    before, after = then.lock.comparison_params.models, now.lock.comparison_params.models
    found = [*models_changed(before, after, renamed)]
    names = former_names(before, after, renamed)
    if other := [m for m, was in names.items() if then.lock.lists(was) != now.lock.lists(m)]:
        found.append(InputChange("lists", f"other lists: {listed(other)}"))
    if then.lock.truth != now.lock.truth:
        found.append(InputChange("truth", "another truth"))
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


def _standings_of_git(primary: dict[str, dict[str, object]]) -> tuple[Standing, ...]:
    """Return the standings of primary.json, which has no intervals."""
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
            verdict=_verdict_of_word(primary.get(f"{label} verdict", {}).get(model)),
        )
        for label, means in primary.items()
        if not label.endswith(" verdict")
        for model, mean in means.items()
    )


def _verdict_of_word(word: object) -> Verdict | None:
    """The verdict that stands in words."""
    return cast("Verdict | None", _NAMES.get(str(word)))


def _higher_is_better(label: str) -> bool:
    try:
        return parse(label).metric.higher_is_better
    except ValueError:  # of another version
        return True
