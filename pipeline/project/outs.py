"""What the stages of a DVC repository make, and what `dvc add` keeps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from concord.metrics_core.checking.problems import refuse
from concord.pipeline.params.repository import is_concords, repository


def outs_below(folder: Path, but: Path) -> dict[Path, str]:
    """The outs of all stages below a folder -> the name of the stage, none for what `dvc add` keeps.

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
            found = dict(_outs(repo.index.stages))
    except DvcException as error:
        what = f"DVC cannot read it: {_said(error)}"
        raise refuse(str(root), what, "mend that first; `dvc status` tells more") from None
    return {
        path: stage
        for path, stage in found.items()
        if path.is_relative_to(folder) and not path.is_relative_to(but)
    }


def _outs(stages: Any) -> Iterator[tuple[Path, str]]:
    for stage in stages:
        name = "" if stage.is_data_source else str(stage.addressing)
        if not is_concords(Path(stage.path).parent):
            for out in stage.outs:
                if out.protocol == "local" and not out.metric and not out.plot:
                    yield Path(out.fs_path), name


def _said(error: BaseException) -> str:
    """What went wrong, and the cause of it, which DVC keeps to itself."""
    causes = [error]
    while (cause := causes[-1].__cause__) is not None and len(causes) < 3:  # noqa: PLR2004
        causes.append(cause)
    said = [" ".join(str(each).split()) for each in causes]
    return ": ".join(dict.fromkeys(filter(None, said)))[:500]
