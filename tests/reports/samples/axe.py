"""The script axe-core, from a Python package that contains it; stored in .cache."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PINNED = FOLDER / "axe.txt"


def axe_script() -> str:
    """Return the text of axe.min.js, downloaded once."""
    digest = hashlib.sha256(PINNED.read_bytes()).hexdigest()[:12]
    folder = FOLDER.parents[2] / ".cache" / f"axe-{digest}"
    result = folder / "axe_playwright_python" / "axe.min.js"
    if not result.is_file():
        partial = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*command, str(partial), "--require-hashes", "-r", str(PINNED)], check=True)
        partial.rename(folder)
    return result.read_text(encoding="utf-8")
