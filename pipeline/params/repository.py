"""Where the project lies: params.yaml may stand in a folder of a larger DVC repository."""

import os
from pathlib import Path


def repository(folder: Path | None = None) -> Path:
    """The root of the DVC repository around a folder (here, if none is given); without one, the folder itself."""
    here = (folder or Path.cwd()).resolve()
    return next((at for at in (here, *here.parents) if (at / ".dvc").is_dir()), here)


def original_repository() -> Path:
    """That which an experiment of DVC is a temporary copy of; where none runs, the repository itself."""
    return Path(os.environ.get("DVC_ROOT") or repository())


def original_project() -> Path:
    """The folder of params.yaml in the original repository: what is kept there outlives an experiment."""
    here = Path.cwd().resolve()
    return original_repository() / here.relative_to(repository(here))
