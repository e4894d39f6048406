"""One environment a library: made by uv from its pinned requirements, kept until they change."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LIBRARIES = HERE / "libraries"
BUILD = "# build: "
KEPT = HERE.parents[1] / ".cache" / "parity"
# folders of wheels that lie on the machine, such as a CPU build of torch
_WHEELS = [each for each in os.environ.get("PIP_FIND_LINKS", "").split() if Path(each).is_dir()]


def requirements(library: str) -> Path:
    """The library and what it needs, pinned; lines `# build: …` pin what it is built with."""
    return LIBRARIES / f"{library}.txt"


def is_slow(library: str) -> bool:
    """Does it say that it takes minutes?"""
    return requirements(library).read_text().startswith("# slow")


def python_of(library: str) -> Path:
    """The interpreter of the library's environment."""
    return python_with(requirements(library))


def python_with(wanted: Path) -> Path:
    """The interpreter of an environment with these requirements, which is made if it is not there yet."""
    name = f"{wanted.stem}-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]}"
    folder = KEPT / name
    python = folder / "bin" / "python"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run("uv", "venv", "--quiet", "--python", sys.executable, str(folder))
        built_with = folder / "built_with.txt"
        lines = wanted.read_text().splitlines()
        built_with.write_text(
            "\n".join(x.removeprefix(BUILD) for x in lines if x.startswith(BUILD))
        )
        how = ["--build-constraint", str(built_with), *(f"--find-links={each}" for each in _WHEELS)]
        install = ("uv", "pip", "install", "--quiet", "--python", str(python))
        _run(*install, *how, "--requirement", str(wanted))
        (folder / "made").touch()
    return python


def measure(library: str, cases: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """What the library says about the cases: {"values": […], "refusals": […]}."""
    return measured(library, {"cases": cases}, folder)


def measured(library: str, asked: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What the library's script writes where it is given this."""
    given, made = folder / "cases.json", folder / f"{library}.json"
    given.write_text(json.dumps(asked))
    _run(str(python_of(library)), str(LIBRARIES / f"{library}.py"), str(given), str(made))
    return dict(json.loads(made.read_text()))


def _run(*command: str, **environment: str) -> None:
    plain = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**plain, "PYTHONWARNINGS": "ignore", **environment},
    )
    if done.returncode:
        msg = f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        raise RuntimeError(msg)
