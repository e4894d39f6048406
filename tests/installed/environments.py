"""Concord as others install it: its packages are built, and installed into environments that know no checkout."""

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
INHERITED_VARIABLES = (
    ROOT / ".cache" / "installed"
)  # environments without Concord, made anew when what they hold, or the lock, changes
LOCKED = "locked"
HIGHEST, LOWEST = "highest", "lowest-direct"


def built(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it and not from the checkout."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder), cwd=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    unpacked = folder / "unpacked"
    shutil.unpack_archive(sdist, unpacked)
    (inside,) = unpacked.iterdir()
    return sdist, wheel_of(inside, folder)


def wheel_of(source: Path, folder: Path) -> Path:
    """The wheel of a project, built into a folder."""
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(
    name: str, wheel: Path, extras: str, *more: str, python: str | Path = sys.executable, resolution: str = LOCKED
) -> Path:  # fmt: skip
    """The `bin` of an environment with the wheel, what `extras` of it need, and `more`.

    resolution : LOCKED (the versions in the lock), or uv's HIGHEST or LOWEST that the wheel's ranges allow
    """
    needs = "\n".join([*_needed(wheel, extras), *more])
    marker = hashlib.sha256(f"{python}{needs}{resolution}{LOCK.read_text()}".encode())
    folder = INHERITED_VARIABLES / f"{name}-{marker.hexdigest()[:12]}"
    if not (folder / "made").exists():
        for old in INHERITED_VARIABLES.glob(f"{name}-{'[0-9a-f]' * 12}"):
            shutil.rmtree(old)
        run("uv", "venv", "--quiet", "--python", str(python), str(folder))
        requirements = folder / "needs.txt"
        requirements.write_text(needs)
        how = ("--constraint", str(LOCK)) if resolution == LOCKED else ("--resolution", resolution)
        run("uv", "pip", "install", "--quiet", "--python", str(folder), "--requirement", str(requirements), *how)  # fmt: skip
        (folder / "made").touch()
    run("uv", "pip", "install", "--quiet", "--no-deps", "--reinstall", "--python", str(folder), str(wheel))  # fmt: skip
    return folder / "bin"


def _needed(wheel: Path, extras: str) -> list[str]:
    """What the wheel says that it needs, so that an environment can be kept while its code changes."""
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
    """What a command that has to succeed prints; it knows neither the checkout nor the environment of the tests."""
    plain = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=plain, check=False)
    assert done.returncode == 0, (
        f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    )
    return done.stdout
