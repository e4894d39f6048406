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
KEPT = (
    ROOT / ".cache" / "installed"
)  # environments without Concord, made anew when what they hold changes


def built(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it and not from the checkout."""
    _run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder), cwd=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    unpacked = folder / "unpacked"
    shutil.unpack_archive(sdist, unpacked)
    (inside,) = unpacked.iterdir()
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=inside)
    (wheel,) = folder.glob("*.whl")
    return sdist, wheel


def environment(name: str, wheel: Path, extras: str, *pins: str, python: str = sys.executable) -> Path:  # fmt: skip
    """The `bin` of an environment with the wheel and what extras of it need: of the versions in the lock, or `pins`."""
    needs = "\n".join([*_needed(wheel, extras), *pins])
    mark = hashlib.sha256(f"{python}{needs}{'' if pins else LOCK.read_text()}".encode())
    folder = KEPT / f"{name}-{mark.hexdigest()[:12]}"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run("uv", "venv", "--quiet", "--python", python, str(folder))
        wanted = folder / "needs.txt"
        wanted.write_text(needs)
        locked = () if pins else ("--constraint", str(LOCK))
        _run("uv", "pip", "install", "--quiet", "--python", str(folder), "--requirement", str(wanted), *locked)  # fmt: skip
        (folder / "made").touch()
    _run("uv", "pip", "install", "--quiet", "--no-deps", "--reinstall", "--python", str(folder), str(wheel))  # fmt: skip
    return folder / "bin"


def _needed(wheel: Path, extras: str) -> list[str]:
    """What the wheel says that it needs, so that an environment can be kept while its code changes."""
    with ZipFile(wheel) as files:
        (name,) = (n for n in files.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(files.read(name), validate=False)
    wanted, found = [e for e in extras.split(",") if e], []
    for each in metadata.requires_dist or []:
        marker = each.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in wanted):
            if each.name == "concord-eval":
                found += _needed(wheel, ",".join(each.extras))
            else:
                found.append(f"{each.name}{each.specifier}")
    return found


def _run(*command: str, cwd: Path | None = None) -> None:
    plain = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=plain, check=False)
    assert done.returncode == 0, (
        f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    )
