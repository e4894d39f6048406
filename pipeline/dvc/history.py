"""History of a project: its comparison at each revision, paired with the previous one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

from concord.metrics_core.comparison.config import ComparisonConfig
from concord.metrics_core.comparison.input_changes import (
    find_comparison_changes,
    former_names,
    model_changes,
)
from concord.metrics_core.comparison.min_effect import PERCENT
from concord.metrics_core.conventions.conventions import Conventions
from concord.metrics_core.errors import InputError, format_count, refuse
from concord.metrics_core.evaluation.model_result import ModelResult
from concord.metrics_core.metrics.label import Label, parse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Verdict
from concord.metrics_core.results.history import (
    Change,
    History,
    InputChange,
    Revision,
    Setting,
    Standing,
)
from concord.metrics_core.results.text_format import join_names
from concord.pipeline.commands.parser import COMMAND_LINE
from concord.pipeline.dvc.cache import DvcCache, FindFile
from concord.pipeline.dvc.changes import changes, find_mismatch
from concord.pipeline.dvc.git import is_shallow
from concord.pipeline.dvc.history_states import (
    State,
    commits_since,
    count_reuse,
    read_states,
)
from concord.pipeline.dvc.lock import LOCK
from concord.pipeline.dvc.revision import (
    RevisionResults,
    combine_replicates,
    match_models,
    read_list_result,
    renamed_lists,
)
from concord.pipeline.dvc.training import (
    continued_paths,
    read_repository_stages,
    training_changes,
)
from concord.reports.text.verdict_styles import VERDICTS

DEFAULT_CONFIDENCE = 0.95  # if no comparison can be read
# Reasons why models or labels were not compared, models with equal values, changes of the others.
StateChanges = tuple[str, tuple[str, ...], tuple[Change, ...]]
_VERDICT_OF_WORD = {
    **{verdict.word: name for name, verdict in VERDICTS.items()},
    "undecided": "undecided",  # of two verdicts with this word
    "slightly better": "better_below_threshold",  # in older revisions
    "slightly worse": "worse_below_threshold",
}


def history(revision: str | None = None) -> History:
    """Return the revisions of this branch that changed the comparison.

    Parameters
    ----------
    revision : str, optional
        Return only revisions after this one.

    Raises
    ------
    InputError
        If there is no git or DVC repository, the revision is unknown, or no comparison was ever
        committed.
    """
    commits = None if revision is None else {*commits_since(revision), ""}
    find = DvcCache().find
    states = read_states(find)
    if not states:
        problem = "no commit of this branch has results of `dvc repro`"
        raise refuse(LOCK, problem, "run `dvc repro`, and commit dvc.lock")
    steps = [
        (previous, current)
        for previous, current in _steps(states)
        if commits is None or current.commit.name in commits
    ]
    if not steps:
        problem = f"the comparison has not changed since {revision}"
        raise refuse(COMMAND_LINE, problem, "omit the revision, or name an earlier one")
    training = _training_changes(steps)
    readable = [state.comparison for state in states if state.comparison is not None]
    confidence = readable[-1].confidence if readable else DEFAULT_CONFIDENCE
    return History(
        title=readable[-1].title if readable else "",
        confidence=confidence,
        revisions=tuple(
            replace(_revision(previous, current, find), training_params=settings)
            for (previous, current), settings in zip(steps, training, strict=True)
        ),
        reuse=count_reuse([state for state in states if state.content_id], confidence),
        notes=tuple(_notes([current for _, current in steps])),
        decimals={label: n for each in readable for label, n in each.decimals.items()},
    )


def _steps(states: Sequence[State]) -> Iterator[tuple[State | None, State]]:
    """Yield each state with the last earlier one whose dvc.lock can be read."""
    previous: State | None = None
    for current in states:
        yield previous, current
        previous = current if current.content_id else previous


def _training_changes(
    steps: Sequence[tuple[State | None, State]],
) -> Iterator[tuple[Setting, ...]]:
    """Yield the training parameters that changed at each state."""
    states = [state for pair in steps for state in pair if state is not None and state.content_id]
    commits = list(dict.fromkeys(state.commit.name for state in states))
    stages = dict(zip(commits, read_repository_stages(commits), strict=True))
    for previous, current in steps:
        if previous is None or not current.content_id:
            yield ()
            continue
        paths = continued_paths(previous.lock.model_entries, current.lock.model_entries)
        yield training_changes(stages[previous.commit.name], stages[current.commit.name], paths)


def _notes(states: Sequence[State]) -> Iterator[str]:
    lost = [state for state in states if state.content_id and state.comparison is None]
    if lost:
        yield (
            f"{format_count(len(lost), 'revision')} cannot be read in full: means and verdicts are "
            "those of primary.json in git; `dvc fetch --all-commits` fetches the rest from a remote"
        )
    if is_shallow():
        yield "this checkout has only the last commits: `git fetch --unshallow` fetches the others"
    replicates = [state.comparison.replicates for state in states if state.comparison]
    models = dict.fromkeys(model for group in replicates if group for model in group.models)
    if models:
        yield (
            "intervals and verdicts are over users: "
            f"other replicates of {join_names([*models])} are not in them"
        )


def _revision(previous: State | None, current: State, find: FindFile) -> Revision:
    not_compared, same, changed_values = (
        ("", (), ()) if previous is None else compare_states(previous, current, find)
    )
    comparison = current.comparison
    return Revision(
        name=current.commit.short,
        tags=current.commit.tags,
        date=current.commit.date,
        subject=current.commit.subject,
        truth=current.lock.truth,
        baseline=None if comparison is None else comparison.baseline,
        gone=current.read_error,
        standings=tuple(
            _standings_in_git(current.primary) if comparison is None else _standings(comparison)
        ),
        changed=input_changes(previous, current)
        if previous is not None and current.content_id
        else (),
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
                min_effect=pair.min_effect if pair else None,
                verdict=pair.verdict if pair else None,
            )


def _standings_in_git(primary: Mapping[str, Mapping[str, object]]) -> Iterator[Standing]:
    """Yield the standings of primary.json, which has no intervals."""
    for label, means in primary.items():
        if label.endswith(" verdict"):
            continue
        parsed = next(_known_label(label), None)  # None for a metric of another version
        for model, mean in means.items():
            word = str(primary.get(f"{label} verdict", {}).get(model))
            yield Standing(
                label=label,
                model=model,
                higher_is_better=parsed is None or parsed.metric.higher_is_better,
                mean=float(mean) if isinstance(mean, int | float) else None,
                verdict=cast("Verdict | None", _VERDICT_OF_WORD.get(word)),
            )


def _known_label(text: str) -> Iterator[Label]:
    """Yield the label if its metric still exists."""
    with suppress(ValueError):
        yield parse(text)


def input_changes(previous: State, current: State) -> tuple[InputChange, ...]:
    """Return the changed inputs by both comparisons, or by dvc.lock if one is missing."""
    previous_hashes, hashes = previous.lock.background, current.lock.background
    names = {**previous_hashes, **hashes}
    tables = [name for name in names if previous_hashes.get(name) != hashes.get(name)]
    background = [InputChange("background", f"other {join_names(tables)}")] if tables else []
    previous_entries, entries = previous.lock.model_entries, current.lock.model_entries
    renamed = renamed_lists(entries, previous_entries)
    if previous.comparison is not None and current.comparison is not None:
        return (
            *find_comparison_changes(previous.comparison, current.comparison, renamed),
            *background,
        )
    changed = [*model_changes(previous_entries, entries, renamed)]
    continued = former_names(previous_entries, entries, renamed)
    models = [
        model
        for model, name in continued.items()
        if previous.lock.lists(name) != current.lock.lists(model)
    ]
    if models:
        changed.append(InputChange("lists", f"other lists: {join_names(models)}"))
    if previous.lock.truth != current.lock.truth:
        changed.append(InputChange("truth", "another ground truth"))
    return (*changed, *background)


def compare_states(previous: State, current: State, find: FindFile) -> StateChanges:
    """Compare the models of two states on the primary labels; equal files are not read."""
    if previous.comparison is None or current.comparison is None:
        return current.read_error or "the revision before cannot be read", (), ()
    renamed = match_models(
        current.lock.model_entries,
        current.lock.comparison_params.replicates,
        previous.lock.model_entries,
        previous.lock.comparison_params.replicates,
    ).former_names
    names = former_names(previous.comparison.models, current.comparison.models, renamed)
    same = tuple(
        model
        for model, name in names.items()
        if all(hashes := _value_hashes(current, model)) and hashes == _value_hashes(previous, name)
    )
    others = {model: name for model, name in names.items() if model not in same}
    if not others:
        return "", same, ()
    try:
        results = _readable_results(current, {model: model for model in others}, find)
        previous_results = _readable_results(previous, others, find)
        missing = [m for m in others if m not in results or m not in previous_results]
        config = None if missing else _primary_config(current, results[next(iter(others))])
    except InputError as error:
        problem = error.problems[0]
        if problem.where.startswith("conventions."):
            return "its conventions are those of another version of Concord", same, ()
        reason = f"users' values cannot be read: one file {problem.message}; {problem.fix}"
        return reason, same, ()
    if config is None:
        return f"users' values of {', '.join(missing)} are not in DVC's cache", same, ()
    revision = RevisionResults(previous.commit.short, {}, list(others.values()), previous_results)
    mismatch = find_mismatch(config, results, revision)
    all_models = f"{', '.join(others)} had "  # removed, as it concerns all of them
    reasons = [
        problem.message.partition(": ")[0].removeprefix(all_models) for problem in mismatch.truth
    ]
    reasons += [difference.partition(": ")[0] for difference in mismatch.differences()]
    unknown = [label for label in current.comparison.primary if label not in config.primary]
    reasons += [f"{label} is no longer a metric" for label in unknown]
    comparable = config.without(mismatch.labels)
    compared = () if mismatch.truth else changes(comparable, results, revision)
    return "; ".join(reasons), same, tuple(compared)


def _lists(state: State, model: str) -> list[str]:
    """Return a model's lists: one, or one per replicate."""
    assert state.comparison is not None, "checked before"
    return [name for name, owner in state.comparison.lists.items() if owner == model]


def _value_hashes(state: State, model: str) -> list[str | None]:
    """Return the hashes of a model's per-user values, one per list."""
    return [state.lock.result_hash(name, "per_user") for name in _lists(state, model)]


def _readable_results(
    state: State, names: Mapping[str, str], find: FindFile
) -> dict[str, ModelResult]:
    """Return model -> results of the state's model of this name, if they are in the cache."""
    results = {model: _model_result(state, name, find) for model, name in names.items()}
    return {model: result for model, result in results.items() if result is not None}


def _model_result(state: State, model: str, find: FindFile) -> ModelResult | None:
    """Return a model's results, replicates combined; None if a file is missing."""
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
    """Return the configuration of a comparison on a state's primary labels.

    Raises
    ------
    InputError
        If the conventions are those of another version.
    """
    comparison = state.comparison
    assert comparison is not None, "checked before"
    labels = {text: label for text in comparison.primary for label in _known_label(text)}
    effects = {str(label): comparison.metric(text).min_effect for text, label in labels.items()}
    return ComparisonConfig(
        conventions=Conventions.from_mapping(result.summary["conventions"]),
        labels=list(labels.values()),
        primary=list(effects),
        baseline=comparison.baseline,
        min_effect={x: e if PERCENT.fullmatch(e) else float(e) for x, e in effects.items()},
        confidence=comparison.confidence,
        max_missing_lists=state.lock.comparison_params.max_missing_lists,
    )
