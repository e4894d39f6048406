"""axe-core, taken from a package that carries it: kept in .cache, without what that package itself needs."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PINNED = FOLDER / "axe.txt"


def axe_script() -> str:
    """The text of axe.min.js, fetched once."""
    digest = hashlib.sha256(PINNED.read_bytes()).hexdigest()[:12]
    folder = FOLDER.parents[2] / ".cache" / f"axe-{digest}"
    result = folder / "axe_playwright_python" / "axe.min.js"
    if not result.is_file():
        other = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(other, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*command, str(other), "--require-hashes", "-r", str(PINNED)], check=True)
        other.rename(folder)
    return result.read_text(encoding="utf-8")
