"""Results of this project as another revision left them, from DVC's cache or remote."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from concord.metrics_core.comparison.config import Asked
from concord.metrics_core.comparison.inputs import Evaluated
from concord.metrics_core.comparison.replicate_config import KEY, Named, models_of
from concord.metrics_core.comparison.replicated_models import replicated
from concord.metrics_core.errors import InputError, Problem, refuse
from concord.metrics_core.files import load_json
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import read_comparison
from concord.pipeline.diffing.dvc_lock import replicates_of
from concord.pipeline.diffing.renames import renamed_lists
from concord.pipeline.diffing.revision_files import RevisionFiles
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.safe_yaml import load_yaml

_SUFFIXES = {"per_user": ".parquet", "summary": ".json", "lists": ".parquet"}  # of results
_COMPARISON = "comparison.json"


@dataclass(frozen=True)
class Former:
    """A revision: its params.yaml, the models that it named, and the evaluations of those that were asked for.

    evaluations  : model, by its name of now -> its results; of several trainings together
    lists        : list, by its name of now -> its results: of a model, or of each of its trainings
    former_names : model -> its name at the revision, if that was another one
    replicates   : model of the revision -> number of the training -> list
    """

    name: str
    params: Mapping[str, Any]
    models: list[str]
    evaluations: Mapping[str, Evaluated]
    lists: Mapping[str, Evaluated] = field(default_factory=dict)
    former_names: Mapping[str, str] = field(default_factory=dict)
    replicates: Named = field(default_factory=dict)

    def vanished(self, models: Collection[str]) -> list[str]:
        """Return the models of the revision that are not among these: by no name, and by none of their trainings."""
        continued = {*models, *self.former_names.values()}
        names = {name: {name, *self.replicates.get(name, {}).values()} for name in self.models}
        return [name for name, own in names.items() if not own & continued]


@contextmanager
def former(
    revision: str, params: Params, asked: Asked, models: Sequence[str], *, lists: bool = False
) -> Iterator[Former]:
    """The results of a revision, in files that live as long as the block; with the models' lists, if they are read.

    A model has the trainings that the revision says it had, or else those that it has now, as far as they were there.
    A model that the revision lacks may continue a model of another name (`renamed_lists`).

    Raises
    ------
    InputError : there is no such revision, it holds no project, or its results are gone
    """
    files = RevisionFiles(revision)
    content, folders = _read_params(files, _SUFFIXES)
    known = _mapping(content.get("models"))
    named = list(known)
    then = replicates_of(_mapping(content.get("comparison")).get(KEY), named)
    entries = {name: entry.model_dump() for name, entry in params.models.items()}
    renamed = renamed_lists(entries, known)
    current = models_of(entries, asked.replicates)
    all_names = {
        model: own for model in current if (own := _lists(model, then, asked, named, renamed))
    }
    names = {model: all_names[model] for model in models if model in all_names}
    every = [name for own in names.values() for name in own]
    with TemporaryDirectory() as name:
        folder = Path(name)
        problems = [
            files.fetch(path, folder / f"{model}.{kind}")
            for model in every
            for kind, path in _paths(folders, model, lists=lists).items()
        ]
        if found_problems := [each for each in problems if each is not None]:
            raise InputError(found_problems)
        found = {name: _evaluation(folder, name, content) for name in every}
        evaluations = {
            model: _together(asked, {name: found[name] for name in own}, revision)
            for model, own in names.items()
        }
        compared = models_of(named, {**asked.replicates, **then})
        vanished = [name for name in compared if name not in current]
        owners = {model: _owners(own, then) for model, own in all_names.items()}
        current_names = {former_name: name for name, former_name in renamed.items()}
        yield Former(
            name=revision,
            params=content,
            models=compared,
            evaluations=evaluations,
            lists={current_names.get(name, name): each for name, each in found.items()},
            former_names={
                m: of[0] for m, of in owners.items() if len(of) == 1 and of[0] in vanished
            },
            replicates=then,
        )


def _lists(
    model: str, then: Named, asked: Asked, named: Sequence[str], renamed: Mapping[str, str]
) -> list[str]:
    """The lists of a model at a revision; none where it had no such model."""
    if model in then:
        return list(then[model].values())
    if model in named:
        return [model]
    own = list(asked.replicates.get(model, {model: model}).values())
    if known := [name for name in own if name in named]:
        return known
    owners = _owners([renamed[name] for name in own if name in renamed], then)
    return _lists(owners[0], then, asked, named, {}) if len(owners) == 1 else []


def _owners(lists: Iterable[str], replicates: Named) -> list[str]:
    """Return the models of lists, each once."""
    owner = {name: model for model, of in replicates.items() for name in of.values()}
    return list(dict.fromkeys(owner.get(name, name) for name in lists))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _together(asked: Asked, lists: Mapping[str, Evaluated], revision: str) -> Evaluated:
    """One model of its trainings, which are not taken for those of now."""
    first, *others = lists.values()
    if not others:
        return first
    labels = [
        label
        for label in asked.labels
        if all(str(label) in each.summary["metrics"] for each in lists.values())
    ]
    return replicated(
        {f"{name} at {revision}": each for name, each in lists.items()},
        labels=labels,
        conventions=asked.conventions,
        confidence=asked.confidence,
    )


def comparison_at(revision: str, folder: Path = Path()) -> Comparison:
    """The comparison that a revision of the project in a folder left.

    Raises
    ------
    InputError : there is no such revision, it holds no project, or its comparison is gone, damaged or of another version
    """
    files = RevisionFiles(revision, folder)
    _, folders = _read_params(files, ["comparison"])
    place = folders["comparison"]
    with TemporaryDirectory() as name:
        copy = Path(name) / _COMPARISON
        if problem := files.fetch_from_folder(place, _COMPARISON, copy):
            raise InputError([problem])
        try:
            return read_comparison(copy)
        except InputError as error:
            told = f"{place / _COMPARISON} of {revision}"
            fix = "evaluate it again with this Concord, or name another revision"
            raise InputError(
                Problem(told, problem.what, fix) for problem in error.problems
            ) from None


def _read_params(
    files: RevisionFiles, kinds: Iterable[str]
) -> tuple[Mapping[str, Any], dict[str, Path]]:
    """All of it, and folders of results; all else may be of an older version."""
    text = files.read_text(PARAMS.name)
    try:
        content = load_yaml(text or "", str(PARAMS))
        folders = content["results"]
        return content, {kind: Path(folders[kind]) for kind in kinds}
    except (KeyError, TypeError, InputError):
        what = f"{files.revision} holds no {PARAMS} with results"
        fix = "name a revision in which this folder was a project of Concord"
        raise refuse(files.where, what, fix) from None


def _paths(folders: Mapping[str, Path], model: str, *, lists: bool) -> dict[str, Path]:
    """Kind of result -> its file."""
    return {
        kind: folders[kind] / f"{model}{suffix}"
        for kind, suffix in _SUFFIXES.items()
        if lists or kind != "lists"
    }


def _evaluation(folder: Path, model: str, params: Mapping[str, Any]) -> Evaluated:
    summary = load_json(folder / f"{model}.summary", "evaluate that revision again")
    entry = params["models"][model]
    fold = entry.get("fold") if isinstance(entry, Mapping) else None
    quality = {} if fold is None else {"fold": str(fold)}
    values, lists = (folder / f"{model}.{kind}" for kind in ("per_user", "lists"))
    return Evaluated(values, folder, lists, summary, quality)
