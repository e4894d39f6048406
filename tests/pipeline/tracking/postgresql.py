"""A PostgreSQL of its own on this machine, and the driver that MLflow's server needs, kept in .cache."""

import getpass
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.pipeline.tracking.log_project import free_port

HERE = Path(__file__).parent
PINNED = HERE / "postgresql.txt"


@contextmanager
def postgresql() -> Iterator[str]:
    """Yields the address of an empty database, which vanishes with the block."""
    folder = Path(tempfile.mkdtemp(prefix="concord-postgresql-"))
    owner = "postgres" if os.geteuid() == 0 else getpass.getuser()  # it refuses to run as root
    if os.geteuid() == 0:
        shutil.chown(folder, owner)
    data, port = folder / "data", free_port()
    options = f"-h 127.0.0.1 -p {port} -k {folder} -c fsync=off"
    try:
        _run(owner, folder, "initdb", "-D", str(data), "-U", "concord", "-A", "trust")
        _run(owner, folder, "pg_ctl", "-D", str(data), "-w", "-l", "log", "-o", options, "start")
        yield f"postgresql+psycopg2://concord@127.0.0.1:{port}/postgres"
    finally:
        _run(owner, folder, "pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder)


def _run(owner: str, folder: Path, *command: str) -> None:
    user = {"user": owner} if os.geteuid() == 0 else {}
    done = subprocess.run(
        command,
        cwd=folder,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        **user,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, command


def driver() -> Path:
    """The folder of psycopg2, fetched once."""
    digest = hashlib.sha256(PINNED.read_bytes()).hexdigest()[:12]
    folder = HERE.parents[2] / ".cache" / f"postgresql-{digest}"
    if not folder.is_dir():
        beside = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(beside, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*command, str(beside), "--require-hashes", "-r", str(PINNED)], check=True)
        beside.rename(folder)
    return folder
