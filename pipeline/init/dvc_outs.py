"""Outs of DVC: the files and folders that stages of a repository make."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from concord.metrics_core.errors import refuse
from concord.pipeline.params.repository import has_dvc, is_concord_project, repository


class Outs(NamedTuple):
    """Outs with the stages that make them (empty for `dvc add`), and the stages' folders."""

    stages: dict[Path, str]
    folders: set[Path]


def stage_of(path: Path, outs: Mapping[Path, str]) -> str | None:
    """Return the stage that makes a file or its folder; None if it is not an out."""
    return next((outs[out] for out in (path, *path.parents) if out in outs), None)


def list_outs(folder: Path, excluded: Path) -> Outs:
    """Return the outs of all stages below a folder; none without DVC.

    Metrics, plots, `excluded` and other evaluations of Concord are left out.

    Raises
    ------
    InputError
        If DVC cannot read one of its own files.
    """
    stages: dict[Path, str] = {}
    folders: set[Path] = set()
    if not has_dvc(folder) or find_spec("dvc") is None:
        return Outs(stages, folders)
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    root = repository(folder)
    try:
        with Repo(str(root)) as repo:
            for stage in repo.index.stages:
                if is_concord_project(Path(stage.path).parent):
                    continue
                for output in filter(_is_local_data, stage.outs):
                    path = Path(output.fs_path)
                    if path.is_relative_to(folder) and not path.is_relative_to(excluded):
                        stages[path] = "" if stage.is_data_source else str(stage.addressing)
                        if not stage.is_data_source:
                            folders |= {Path(stage.wdir), Path(stage.path).parent}
    except DvcException as error:
        problem = f"DVC cannot read it: {_error_text(error)}"
        raise refuse(str(root), problem, "fix that first; `dvc status` shows more") from None
    return Outs(stages, folders)


def _is_local_data(output: Any) -> bool:
    return output.protocol == "local" and not output.metric and not output.plot


def _error_text(error: BaseException) -> str:
    """Return the messages of an error and of its causes, which DVC does not show."""
    errors = [error]
    while (cause := errors[-1].__cause__) is not None and len(errors) < 3:  # noqa: PLR2004
        errors.append(cause)
    texts = [" ".join(str(cause).split()) for cause in errors]
    return ": ".join(dict.fromkeys(filter(None, texts)))[:500]
