"""What the stages of a DVC repository make, and what `dvc add` keeps."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from concord.metrics_core.errors import refuse
from concord.pipeline.params.repository import is_concords, repository


class Outs(NamedTuple):
    """Outs -> the name of the stage, none for what `dvc add` keeps; and the folders from which these stages run."""

    stages: dict[Path, str]
    folders: set[Path]


def stage_of(path: Path, outs: Mapping[Path, str]) -> str | None:
    """The stage that makes a file, which may lie in an out that is a folder; None for what is no out."""
    return next((outs[at] for at in (path, *path.parents) if at in outs), None)


def outs_below(folder: Path, but: Path) -> Outs:
    """The outs of all stages below a folder.

    Left out are metrics and plots, what lies below `but`, and what another evaluation of Concord makes.

    Raises
    ------
    InputError : DVC cannot read one of its own files
    """
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    root = repository(folder)
    try:
        with Repo(str(root)) as repo:
            found = list(_outs(repo.index.stages))
    except DvcException as error:
        what = f"DVC cannot read it: {_said(error)}"
        raise refuse(str(root), what, "mend that first; `dvc status` tells more") from None
    kept = [
        (path, stage, runs_in)
        for path, stage, runs_in in found
        if path.is_relative_to(folder) and not path.is_relative_to(but)
    ]
    return Outs({path: stage for path, stage, _ in kept}, {at for *_, some in kept for at in some})


def _outs(stages: Any) -> Iterator[tuple[Path, str, tuple[Path, ...]]]:
    for stage in stages:
        name = "" if stage.is_data_source else str(stage.addressing)
        runs_in = () if stage.is_data_source else (Path(stage.wdir), Path(stage.path).parent)
        if not is_concords(Path(stage.path).parent):
            for out in stage.outs:
                if out.protocol == "local" and not out.metric and not out.plot:
                    yield Path(out.fs_path), name, runs_in


def _said(error: BaseException) -> str:
    """What went wrong, and the cause of it, which DVC keeps to itself."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None and len(causes) < 3:  # noqa: PLR2004
        causes.append(cause)
    said = [" ".join(str(each).split()) for each in causes]
    return ": ".join(dict.fromkeys(filter(None, said)))[:500]
