"""Build Concord's packages and install them into environments that know no checkout."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

from packaging.metadata import Metadata

from tests.project import ROOT

LOCK = ROOT / "requirements.lock"
CONSTRAINTS = ROOT / "packaging" / "constraints.txt"  # published with a release
INHERITED_VARIABLES = (
    ROOT / ".cache" / "installed"
)  # environments without Concord, made anew when what they hold, or the lock, changes
LOCKED = "locked"
HIGHEST, LOWEST = "highest", "lowest-direct"


def built(folder: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """Return the sdist, and the wheel built from it instead of the checkout."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder), cwd=source)
    (sdist,) = folder.glob("*.tar.gz")
    unpacked = folder / "unpacked"
    shutil.unpack_archive(sdist, unpacked)
    (inside,) = unpacked.iterdir()
    return sdist, wheel_of(inside, folder)


def wheel_of(source: Path, folder: Path) -> Path:
    """Build the wheel of a project into a folder and return it."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(
    name: str,
    wheel: Path,
    extras: str,
    *more: str,
    python: str | Path = sys.executable,
    resolution: str = LOCKED,
) -> Path:
    """Return the `bin` of an environment with the wheel, its `extras` and the requirements `more`.

    resolution : LOCKED (the constraints of the release), or uv's HIGHEST or LOWEST in the ranges
    """
    needs = [*_needed(wheel, extras), *more]
    is_locked = resolution == LOCKED
    how = ("--constraint", str(CONSTRAINTS)) if is_locked else ("--resolution", resolution)
    folder = packages(name, needs, *how, python=python)
    command = ["uv", "pip", "install", "--quiet", "--no-deps", "--reinstall"]
    run(*command, "--python", str(folder), str(wheel))
    return folder / "bin"


def packages(
    name: str, needs: list[str], *options: str, python: str | Path = sys.executable
) -> Path:
    """Return the folder of an environment with packages, made anew when they change."""
    text = "\n".join(needs)
    marker = hashlib.sha256(f"{python}{text}{options}{LOCK.read_text()}".encode())
    folder = INHERITED_VARIABLES / f"{name}-{marker.hexdigest()[:12]}"
    if not (folder / "made").exists():
        for old in INHERITED_VARIABLES.glob(f"{name}-{'[0-9a-f]' * 12}"):
            shutil.rmtree(old)
        run("uv", "venv", "--quiet", "--python", str(python), str(folder))
        requirements = folder / "needs.txt"
        requirements.write_text(text)
        command = ["uv", "pip", "install", "--quiet", "--python", str(folder)]
        run(*command, "--requirement", str(requirements), *options)
        (folder / "made").touch()
    return folder


def _needed(wheel: Path, extras: str) -> list[str]:
    """Return the requirements of the wheel; the environment is kept while only code changes."""
    with ZipFile(wheel) as files:
        (name,) = (n for n in files.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(files.read(name), validate=False)
    extra_names, results = [e for e in extras.split(",") if e], []
    for each in metadata.requires_dist or []:
        marker = each.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extra_names):
            if each.name == "concord-eval":
                results += _needed(wheel, ",".join(each.extras))
            else:
                results.append(f"{each.name}{each.specifier}")
    return results


def run(*command: str, cwd: Path | None = None) -> str:
    """Return the output of a command that must succeed, run outside the checkout."""
    plain = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=plain, check=False)
    assert done.returncode == 0, (
        f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    )
    return done.stdout
