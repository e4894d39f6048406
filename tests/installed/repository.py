"""Repositories of other people: they train models, and Concord is installed but not used."""

import os
import shutil
import subprocess
from pathlib import Path

from tests.in_process import run_dvc

REPOSITORIES = Path(__file__).parent / "repositories"
GIT_IDENTITY = {
    f"GIT_{who}_{kind}": value
    for who in ("AUTHOR", "COMMITTER")
    for kind, value in (("NAME", "a"), ("EMAIL", "a@b.c"))
}


class Repository:
    """A copy of one of `repositories/` under git and DVC; commands run outside the checkout."""

    def __init__(self, name: str, folder: Path, programs: Path) -> None:
        self.root = folder / name
        self.programs = programs
        shutil.copytree(REPOSITORIES / name, self.root)
        self.run("git", "init", "-q", "-b", "main")
        self.run_here("dvc", "init", "-q")

    @classmethod
    def at(cls, root: Path, programs: Path) -> "Repository":
        """Return an existing repository."""
        result = cls.__new__(cls)
        result.root, result.programs = root, programs
        return result

    def copied(self, folder: Path) -> "Repository":
        """Return a copy to change."""
        shutil.copytree(self.root, folder / self.root.name, symlinks=True)
        return self.at(folder / self.root.name, self.programs)

    def cloned(self, folder: Path, remote: Path, branch: str) -> "Repository":
        """Return a checkout of a branch with all history, as in a CI job."""
        self.run("git", "clone", "-q", f"--branch={branch}", remote.as_uri(), str(folder))
        return self.at(folder, self.programs)

    def attempt(
        self, *command: str, at: str = ".", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder of the repository."""
        return subprocess.run(
            command,
            cwd=self.root / at,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            check=False,
        )

    def environment(self, **more: str) -> dict[str, str]:
        """Return the environment of its commands."""
        remaining = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
        return {
            **remaining,
            **GIT_IDENTITY,
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}",
            "DVC_NO_ANALYTICS": "1",
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "DVC_SITE_CACHE_DIR": str(self.root.parent / "dvc-site"),
            **more,
        }

    def run(self, *command: str, at: str = ".", **environment: str) -> str:
        """Return the output of a command that must succeed."""
        done = self.attempt(*command, at=at, **environment)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def run_here(self, *command: str, at: str = ".") -> str:
        """Return the output of `dvc` in this process, which saves the time to start one."""
        done = run_dvc(self.root / at, *command[1:], environment=self.environment())
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def commit(self, message: str) -> None:
        self.run("git", "add", "-A")
        self.run("git", "commit", "-q", "-m", message)

    def publish(self, folder: Path) -> tuple[Path, str]:
        """Push `main` to a remote in a folder and results to a DVC remote.

        Return the remote and its commit.
        """
        remote = folder / "remote.git"
        self.run("git", "init", "-q", "--bare", str(remote))
        self.run("git", "remote", "add", "origin", remote.as_uri())
        self.run_here("dvc", "remote", "add", "-q", "-d", "shared", str(folder / "dvc remote"))
        self.run_here("dvc", "push", "-q", "--run-cache")
        self.commit("remote")
        return remote, self.push("main")

    def push(self, branch: str) -> str:
        """Push the commit to a branch of the remote and return it."""
        self.run("git", "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
        return self.run("git", "rev-parse", "HEAD").strip()

    def changed(self) -> list[str]:
        """Return tracked files that differ from the commit."""
        return self.run("git", "diff", "--name-only", "HEAD").split()

    def replace(self, file: str, before: str, after: str) -> None:
        """Edit a file of the repository."""
        path = self.root / file
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))
