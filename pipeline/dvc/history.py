"""The history of a project: its comparison at each revision, paired with the one before."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import cast

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.min_effect import PERCENT
from concord.metrics_core.comparison.replicate_config import ReplicateNames, model_names
from concord.metrics_core.comparison.what_changed import former_names, models_changed, what_changed
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.conventions.validation import ConventionError
from concord.metrics_core.errors import InputError, format_count, refuse
from concord.metrics_core.evaluation.model_result import ModelResult
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
from concord.pipeline.dvc.revision import (
    RevisionResults,
    combine_replicates,
    list_owners,
    read_list_result,
    renamed_lists,
)
from concord.pipeline.terminal.parser import COMMAND_LINE
from concord.reports.text.verdict_styles import VERDICTS

DEFAULT_CONFIDENCE = 0.95  # if no comparison can be read
# Why models or labels were not compared, models with the same values, changes of the others.
StateChanges = tuple[str, tuple[str, ...], tuple[Change, ...]]
_VERDICT_OF_WORD = {verdict.word: name for name, verdict in VERDICTS.items()}


def history(revision: str | None = None) -> History:
    """Return the revisions of this branch that changed the comparison; if `revision` is set, those after it.

    Raises
    ------
    InputError
        There is no git or DVC repository here, no such revision, or no comparison was ever committed.
    """
    commits = None if revision is None else {*commits_since(revision), ""}
    find = DvcCache().find
    every_state = states(find)
    if not every_state:
        problem = "no commit of this branch holds the results of `dvc repro`"
        raise refuse(LOCK, problem, "run `dvc repro`, and commit dvc.lock")
    steps = [
        (then, now)
        for then, now in _steps(every_state)
        if commits is None or now.commit.name in commits
    ]
    if not steps:
        problem = f"the comparison has not changed since {revision}"
        raise refuse(COMMAND_LINE, problem, "leave the revision out, or name an earlier one")
    readable = [state.comparison for state in every_state if state.comparison is not None]
    confidence = readable[-1].confidence if readable else DEFAULT_CONFIDENCE
    return History(
        title=readable[-1].title if readable else "",
        confidence=confidence,
        revisions=tuple(_revision(then, now, find) for then, now in steps),
        reuse=count_reuse([state for state in every_state if state.content_id], confidence),
        notes=tuple(_notes([now for _, now in steps])),
    )


def _steps(every_state: Sequence[State]) -> Iterator[tuple[State | None, State]]:
    """Yield each state with the last one before it whose dvc.lock can be read."""
    then: State | None = None
    for now in every_state:
        yield then, now
        then = now if now.content_id else then


def _notes(states_shown: Sequence[State]) -> Iterator[str]:
    lost = [state for state in states_shown if state.content_id and state.comparison is None]
    if lost:
        yield (
            f"{format_count(len(lost), 'revision')} cannot be read in full: means and verdicts are those of "
            "primary.json in git; `dvc fetch --all-commits` brings back what a remote has"
        )
    if is_shallow():
        yield "this checkout holds the last commits only: `git fetch --unshallow` brings the others"
    replicates = [state.comparison.replicates for state in states_shown if state.comparison]
    if models := list(dict.fromkeys(model for each in replicates if each for model in each.models)):
        yield f"intervals and verdicts are over users: other trainings of {listed(models)} are not in them"


def _revision(then: State | None, now: State, find: FindFile) -> Revision:
    compared: StateChanges = ("", (), ()) if then is None else compare_states(then, now, find)
    not_compared, same, changed_values = compared
    return Revision(
        name=now.commit.short,
        tags=now.commit.tags,
        date=now.commit.date,
        subject=now.commit.subject,
        truth=now.lock.truth,
        baseline=None if now.comparison is None else now.comparison.baseline,
        gone=now.gone,
        standings=tuple(
            _standings_in_git(now.primary) if now.comparison is None else _standings(now.comparison)
        ),
        changed=changed_between(then, now) if then is not None and now.content_id else (),
        unpaired=not_compared,
        same=same,
        changes=changed_values,
    )


def _standings(comparison: Comparison) -> Iterator[Standing]:
    for label in comparison.primary:
        for score in comparison.scores_of(label):
            pair = comparison.difference(score.model, comparison.baseline, label)
            yield Standing(
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


def _standings_in_git(primary: Mapping[str, Mapping[str, object]]) -> Iterator[Standing]:
    """Yield the standings of primary.json, which has no intervals."""
    for label, means in primary.items():
        if label.endswith(" verdict"):
            continue
        parsed = next(_known_labels([label]), None)  # None for a metric of another version
        for model, mean in means.items():
            word = str(primary.get(f"{label} verdict", {}).get(model))
            yield Standing(
                label=label,
                model=model,
                higher_is_better=parsed is None or parsed.metric.higher_is_better,
                mean=float(mean) if isinstance(mean, int | float) else None,
                verdict=cast("Verdict | None", _VERDICT_OF_WORD.get(word)),
            )


def _known_labels(labels: Sequence[str]) -> Iterator[Label]:
    """Yield the labels whose metrics still exist."""
    for text in labels:
        with suppress(ValueError):
            yield parse(text)


def changed_between(then: State, now: State) -> tuple[InputChange, ...]:
    """Return what changed by both comparisons, or by dvc.lock if one is missing."""
    hashes_then, hashes_now = then.lock.background, now.lock.background
    names = {**hashes_then, **hashes_now}
    tables = [name for name in names if hashes_then.get(name) != hashes_now.get(name)]
    background = [InputChange("background", f"other {listed(tables)}")] if tables else []
    renamed = renamed_lists(now.lock.model_entries, then.lock.model_entries)
    if then.comparison is not None and now.comparison is not None:
        return (*what_changed(then.comparison, now.comparison, renamed), *background)
    before, after = then.lock.model_entries, now.lock.model_entries
    changed = [*models_changed(before, after, renamed)]
    continued = former_names(before, after, renamed)
    if other := [m for m, was in continued.items() if then.lock.lists(was) != now.lock.lists(m)]:
        changed.append(InputChange("lists", f"other lists: {listed(other)}"))
    if then.lock.truth != now.lock.truth:
        changed.append(InputChange("truth", "another truth"))
    return (*changed, *background)


def compare_states(then: State, now: State, find: FindFile) -> StateChanges:
    """Compare the primary labels of the models that two states have; equal files of values are not read."""
    if then.comparison is None or now.comparison is None:
        return now.gone or "the revision before cannot be read", (), ()
    names = former_names(then.comparison.models, now.comparison.models, _renamed_models(then, now))
    same = tuple(
        model
        for model, was in names.items()
        if all(hashes := _value_hashes(now, model)) and hashes == _value_hashes(then, was)
    )
    others = {model: was for model, was in names.items() if model not in same}
    if not others:
        return "", same, ()
    try:
        results = {model: _model_result(now, model, find) for model in others}
        former_results = {model: _model_result(then, was, find) for model, was in others.items()}
        known = {model: each for model, each in results.items() if each is not None}
        known_then = {model: each for model, each in former_results.items() if each is not None}
        missing = [model for model in others if model not in known or model not in known_then]
        config = None if missing else _primary_config(now, known[next(iter(others))])
    except InputError as error:
        problem = error.problems[0]
        reason = f"users' values cannot be read: one file {problem.message}; {problem.fix}"
        return reason, same, ()
    except ConventionError:
        return "its conventions are those of another version of Concord", same, ()
    if config is None:
        return f"users' values of {', '.join(missing)} are not in DVC's cache", same, ()
    before = RevisionResults(then.commit.short, {}, list(others.values()), known_then)
    mismatch = find_mismatch(config, known, before)
    all_models = f"{', '.join(others)} had "  # left out, as it concerns all of them
    reasons = [each.message.partition(": ")[0].removeprefix(all_models) for each in mismatch.truth]
    reasons += [each.partition(": ")[0] for each in mismatch.differences()]
    unknown = [label for label in now.comparison.primary if label not in config.primary]
    reasons += [f"{label} is no longer a metric" for label in unknown]
    compared = () if mismatch.truth else changes(config.without(mismatch.labels), known, before)
    return "; ".join(reasons), same, tuple(compared)


def _renamed_models(then: State, now: State) -> dict[str, str]:
    """Return new model -> the vanished model that its lists continue, by the rules of `renamed_lists`."""
    params_then, params_now = then.lock.comparison_params, now.lock.comparison_params
    renamed = renamed_lists(now.lock.model_entries, then.lock.model_entries)
    former_models = model_names(params_then.models, params_then.replicates)
    models = model_names(params_now.models, params_now.replicates)
    renamed_models: dict[str, str] = {}
    for model in models:
        lists = params_now.replicates.get(model, {"": model}).values()
        owners = list_owners([renamed[n] for n in lists if n in renamed], params_then.replicates)
        if model not in former_models and len(owners) == 1 and owners[0] not in models:
            renamed_models[model] = owners[0]
    return renamed_models


def _lists(state: State, model: str) -> list[str]:
    """Return the names of a model's lists: one, or one per replicate."""
    assert state.comparison is not None, "checked before"
    return [name for name, owner in state.comparison.lists.items() if owner == model]


def _value_hashes(state: State, model: str) -> list[str | None]:
    """Return the hashes of a model's values per user, one per list."""
    return [state.lock.result_hash(name, "per_user") for name in _lists(state, model)]


def _model_result(state: State, model: str, find: FindFile) -> ModelResult | None:
    """Return a model's results, those of its replicates combined; None if a file is missing."""
    results: dict[str, ModelResult] = {}
    for name in _lists(state, model):
        hashes = {kind: state.lock.result_hash(name, kind) for kind in ("per_user", "summary")}
        paths = {kind: find(md5) for kind, md5 in hashes.items() if md5 is not None}
        files = {kind: path for kind, path in paths.items() if path is not None}
        if len(files) < len(hashes):
            return None
        results[name] = read_list_result(files, "`dvc fetch --all-commits`")
    if len(results) == 1:
        return next(iter(results.values()))
    return combine_replicates(results, _primary_config(state, next(iter(results.values()))))


def _primary_config(state: State, result: ModelResult) -> ComparisonConfig:
    """Return conventions, levels and minimum effects of a state's primary labels.

    Raises
    ------
    ConventionError
        The conventions are those of another version.
    """
    comparison = state.comparison
    assert comparison is not None, "checked before"
    labels = {text: label for text in comparison.primary for label in _known_labels([text])}
    effects = {str(label): comparison.metric(text).min_effect for text, label in labels.items()}
    return ComparisonConfig(
        conventions=Conventions.from_mapping(result.summary["conventions"]),
        labels=list(labels.values()),
        ks=[],
        primary=list(effects),
        baseline=comparison.baseline,
        min_effect={x: e if PERCENT.fullmatch(e) else float(e) for x, e in effects.items()},
        confidence=comparison.confidence,
        max_missing_lists=state.lock.comparison_params.max_missing_lists,
    )


ListHashes = frozenset[str | None]
# Hashes of the lists of a model and of the baseline, label, conventions.
ListDecision = tuple[ListHashes, ListHashes, str, str]


def count_reuse(every_state: Sequence[State], confidence: float) -> Reuse | None:
    """Return how often the current ground truth decided; None if it has no hash."""
    truth = every_state[-1].lock.truth if every_state else None
    if truth is None:
        return None
    decisions: set[ListDecision] = set()
    n_comparisons = 0
    for state in every_state:
        if state.lock.truth == truth:
            new = {*_decisions(state.lock)} - decisions
            n_comparisons += bool(new)
            decisions |= new
    chance = chance_of_false_winner(n_comparisons, 1 - confidence)
    return Reuse(
        truth,
        n_comparisons,
        len(decisions),
        chance,
        reuse_severity(chance),
        _reuse_sentence(n_comparisons, len(decisions), chance),
    )


def _decisions(lock: DvcLock) -> Iterator[ListDecision]:
    """Yield the decisions by dvc.lock alone, so that those without results count too."""
    params = lock.comparison_params
    baseline = _list_hashes(lock, params.replicates, params.baseline or "")
    for model in model_names(params.models, params.replicates):
        if model != params.baseline:
            hashes = _list_hashes(lock, params.replicates, model)
            for label in params.primary:
                yield hashes, baseline, label, params.conventions


def _list_hashes(lock: DvcLock, replicates: ReplicateNames, model: str) -> ListHashes:
    return frozenset(map(lock.lists, replicates.get(model, {"": model}).values()))


def _reuse_sentence(n_comparisons: int, n_decisions: int, chance: float) -> str:
    counts = (
        f"{format_count(n_comparisons, 'comparison')} with {format_count(n_decisions, 'decision')} (a model's lists "
        "against the baseline's, on a primary metric) rest on this truth"
    )
    severity = reuse_severity(chance)
    if severity is None:
        return f"{counts}."
    risk = (
        f"{counts}: had none of these lists been any better, one of them would be called better with a "
        f"chance of up to {percent(chance)}"
    )
    if severity == "notice":
        return f"{risk}. The more often a truth decides, the more its winners owe to it: keep another one for the last word."
    return (
        f"{risk}; and more, if lists were made of what won here. A winner's lead on this truth is no longer evidence by "
        "itself: decide on a truth that has not been used yet (other users, or a later time), and take that for the next ones."
    )
