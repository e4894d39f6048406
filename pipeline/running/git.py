"""Run git."""

import subprocess
from pathlib import Path


def run_git(
    *arguments: str, stdin: str = "", folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run git; texts are UTF-8, and line ends are kept."""
    command = ["git", *arguments]
    process = subprocess.run(
        command, input=stdin.encode(), cwd=folder, capture_output=True, check=False
    )
    stdout, stderr = (
        output.decode("utf-8", errors="replace") for output in (process.stdout, process.stderr)
    )
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)
