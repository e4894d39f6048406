"""axe-core, taken from a package that carries it: kept in .cache, without what that package itself needs."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PINNED = HERE / "axe.txt"


def axe_script() -> str:
    """The text of axe.min.js, fetched once."""
    digest = hashlib.sha256(PINNED.read_bytes()).hexdigest()[:12]
    folder = HERE.parents[2] / ".cache" / f"axe-{digest}"
    found = folder / "axe_playwright_python" / "axe.min.js"
    if not found.is_file():
        beside = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(beside, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*command, str(beside), "--require-hashes", "-r", str(PINNED)], check=True)
        beside.rename(folder)
    return found.read_text(encoding="utf-8")
