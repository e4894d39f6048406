"""Input files that are not there yet, though DVC knows of them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from concord.metrics_core.files import is_remote
from concord.pipeline.params.model import Params, RunIdFile
from concord.pipeline.params.places import input_paths
from concord.pipeline.params.repository import repository
from concord.pipeline.project.outs import outs_below, stage_of


class Awaited(NamedTuple):
    """A missing file of an input, such as a model, and the stage that makes it; empty: `dvc add` keeps it."""

    name: str
    path: str
    stage: str


def awaited(params: Params) -> list[Awaited]:
    """Return the input files that are not there and that a stage makes or DVC keeps.

    Raises
    ------
    InputError : DVC cannot read one of its own files
    """
    missing = [(name, path) for name, path in _inputs(params) if not os.path.lexists(path)]
    root = repository()
    if not missing or not (root / ".dvc").is_dir():
        return []
    outs = outs_below(root, Path.cwd().resolve()).stages
    stages = [stage_of(Path(os.path.abspath(path)), outs) for _, path in missing]  # noqa: PTH100 - links are kept
    return [
        Awaited(name, path, stage)
        for (name, path), stage in zip(missing, stages, strict=True)
        if stage is not None
    ]


def _inputs(params: Params) -> Iterator[tuple[str, str]]:
    """Each input with its file; a model whose training leaves an id in a file has two."""
    for keys, path in input_paths(params):
        if not is_remote(path):
            yield keys[1], path
    for model, entry in params.models.items():
        if isinstance(entry.training_run_id, RunIdFile):
            yield model, entry.training_run_id.file
