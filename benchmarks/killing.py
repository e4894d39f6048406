"""One trial: a half-done state, a kill at a random moment, and a `dvc repro` that completes it."""

import hashlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.faults import small
from tests.project import attempt

WITHIN = 300  # seconds, for any `dvc repro`
FINISHED = (
    "SELECT r.name, r.status FROM runs r JOIN tags t ON r.run_uuid = t.run_uuid WHERE t.key = "
    "'concord.fingerprint'"
)


@dataclass(frozen=True)
class Reference:
    """Results of an undisturbed run, and its duration."""

    digests: Mapping[str, str]
    runs: list[tuple[str, str]]
    seconds: float


@dataclass(frozen=True)
class Strike:
    """One kill of a running `dvc repro`.

    cut_off : DVC was killed while it wrote dvc.lock or its rwlock, which had to be deleted
    """

    kill: str
    after: float
    stage: str
    wrong: list[str]
    cut_off: bool


@dataclass(frozen=True)
class Outcome:
    """What one trial did, and the errors after it."""

    number: int
    start: str
    strikes: list[Strike]
    completed_in: float
    wrong: list[str]
    leftover: int = 0  # hidden .part files, where no stage had to run again that would remove them

    def in_words(self) -> str:
        """Return one line with all that a repetition needs."""
        struck = ", ".join(f"{s.kill} after {s.after:.2f} s in {s.stage}" for s in self.strikes)
        return f"trial {self.number} ({struck}, from {self.start}): {'; '.join(self.wrong)}"


def reference(project: Path) -> Reference:
    """Run everything once, and keep the result beside the project as a state to start from."""
    began = time.monotonic()
    done = attempt(project, "dvc", "repro")
    if done.returncode:
        raise RuntimeError(done.stderr)
    seconds = time.monotonic() - began
    shutil.copytree(project, _saved_copy(project), symlinks=True)
    return Reference(digests(project), runs(project), seconds)


def trial(
    project: Path, expected: Reference, chance: random.Random, number: int, kills: int
) -> Outcome:
    """Kill each of several runs, then complete the last one; randomness comes from `chance`."""
    begin = chance.choice(sorted(STARTS))
    STARTS[begin](project, chance)
    longest = expected.seconds * SHARE[begin] / kills**0.5
    struck = [_strike(project, chance, longest) for _ in range(kills)]
    began = time.monotonic()
    wrong = [each for strike in struck for each in strike.wrong] + _complete(project, expected)
    seconds = time.monotonic() - began
    return Outcome(number, begin, struck, seconds, wrong, len(small.parts(project)))


def _strike(project: Path, chance: random.Random, longest: float) -> Strike:
    kill = chance.choice(sorted(KILLS))
    after = chance.uniform(0.2, longest)
    running = small.start(project, "dvc", "repro")
    with suppress(subprocess.TimeoutExpired):
        running.wait(timeout=after)
    struck = _stage(running.pid) or ("between stages" if running.poll() is None else "the end")
    KILLS[kill](running.pid)
    wrong = _ended(running)
    wrong += [f"orphan {orphan}" for orphan in _alive(running.pid)]
    return Strike(kill, after, struck, wrong, _delete_cut_off(project))


def _delete_cut_off(project: Path) -> bool:
    """Delete the files of DVC that `concord validate` finds cut off; True if there was one."""
    message = attempt(project, "concord", "validate").stderr
    cut_off = re.findall(r"^(\S+): is cut off", message, re.MULTILINE)
    for path in cut_off:
        (project / path).unlink()
    return bool(cut_off)


def runs(project: Path) -> list[tuple[str, str]]:
    """Return name and state of every MLflow run of Concord."""
    database = project / "mlflow.db"
    if not database.exists():
        return []
    with closing(sqlite3.connect(database)) as connection:
        return sorted(connection.execute(FINISHED).fetchall())


def _complete(project: Path, expected: Reference) -> list[str]:
    """Return the errors after one more `dvc repro`; there must be none."""
    done = attempt(project, "timeout", str(WITHIN), "dvc", "repro")
    wrong = []
    if done.returncode:
        wrong.append(f"dvc repro: {done.returncode}: {' '.join(done.stderr.split())[-300:]}")
    results = digests(project)
    names = results.keys() | expected.digests.keys()
    differ = sorted(name for name in names if results.get(name) != expected.digests.get(name))
    wrong += [f"differs: {', '.join(differ)}"] if differ else []
    wrong += _broken_objects(project)
    if (logged := runs(project)) != expected.runs:
        wrong.append(f"MLflow runs: {logged}")
    return wrong


def _broken_objects(project: Path) -> list[str]:
    """Return objects of DVC's cache whose content does not match their name."""
    cache = project / ".dvc" / "cache" / "files" / "md5"
    return [
        f"cache object {path.parent.name}{path.name} is broken"
        for path in cache.glob("??/*")
        if hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
        != path.parent.name + path.name.removesuffix(".dir")
    ]


def digests(project: Path) -> dict[str, str]:
    """Return the hash of every result but the ids of MLflow's runs, and of dvc.lock."""
    lock = project / "dvc.lock"
    content = lock.read_bytes() if lock.exists() else b""
    results = {k: v for k, v in small.digests(project).items() if not k.endswith("/runs.json")}
    return {**results, "dvc.lock": hashlib.sha256(content).hexdigest()}


def forget(project: Path) -> None:
    """Remove everything that runs have written."""
    for name in ("results", ".dvc/cache", ".dvc/tmp", "mlruns"):
        shutil.rmtree(project / name, ignore_errors=True)
    for name in ("dvc.lock", "mlflow.db"):
        (project / name).unlink(missing_ok=True)


def _saved_copy(project: Path) -> Path:
    return project.with_name("as it should be")


def _from_nothing(project: Path, _: random.Random) -> None:
    forget(project)


def _half_done(project: Path, chance: random.Random) -> None:
    """Remove some results from the finished project, and DVC's records of them."""
    forget(project)
    for name in ("results", ".dvc/cache", "mlruns"):
        shutil.copytree(_saved_copy(project) / name, project / name, dirs_exist_ok=True)
    for name in ("dvc.lock", "mlflow.db"):
        shutil.copy2(_saved_copy(project) / name, project / name)
    shutil.rmtree(project / ".dvc" / "cache", ignore_errors=True)
    files = sorted(path for path in (project / "results").rglob("*") if path.is_file())
    for path in chance.sample(files, chance.randint(1, 4)):
        path.unlink()
    if chance.random() < 0.5:  # noqa: PLR2004
        (project / "mlflow.db").unlink()
        (project / "results" / "mlflow" / "receipt.json").unlink(missing_ok=True)
        shutil.rmtree(project / "mlruns", ignore_errors=True)


def _only_log(project: Path, chance: random.Random) -> None:
    """Keep all results, without any run in MLflow."""
    forget(project)
    for name in ("results", ".dvc/cache"):
        shutil.copytree(_saved_copy(project) / name, project / name, dirs_exist_ok=True)
    shutil.copy2(_saved_copy(project) / "dvc.lock", project / "dvc.lock")
    shutil.rmtree(project / "results" / "mlflow")


def _as_left(project: Path, chance: random.Random) -> None:
    """Restore what the trial before left; one input stage must run again, DVC caches the rest."""
    if not (project / "dvc.lock").exists():
        return
    lists = sorted((project / "results" / "lists").glob("*.parquet"))
    for path in lists[: chance.randint(1, 2)]:
        path.unlink()
    shutil.rmtree(project / ".dvc" / "cache", ignore_errors=True)


STARTS: dict[str, Callable[[Path, random.Random], None]] = {
    "nothing": _from_nothing,
    "half done": _half_done,
    "only log": _only_log,
    "as left": _as_left,
}
SHARE = {"nothing": 1.0, "half done": 0.6, "only log": 0.4, "as left": 0.6}  # of the whole run


def _group(signal_number: int) -> Callable[[int], None]:
    def kill(pid: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal_number)

    return kill


def _dvc_only(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _stage_only(pid: int) -> None:
    for child in _alive(pid):
        if child != pid:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


KILLS: dict[str, Callable[[int], None]] = {
    "SIGKILL to all": _group(signal.SIGKILL),
    "SIGKILL to dvc": _dvc_only,
    "SIGKILL to the stage": _stage_only,
    "SIGTERM to all": _group(signal.SIGTERM),
    "SIGINT to all": _group(signal.SIGINT),
}


def _ended(running: "subprocess.Popen[str]") -> list[str]:
    try:
        running.communicate(timeout=WITHIN)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        return ["dvc repro did not end"]
    return []


def _alive(session: int) -> list[int]:
    """Return the living processes of a session, after a moment for those just killed."""
    for _ in range(40):
        alive = [
            pid
            for pid, (state, session_id, _) in _processes().items()
            if session_id == session and state not in "ZX"
        ]
        if not alive or alive[0] == session:
            break
        time.sleep(0.05)
    return alive


def _stage(session: int) -> str:
    """Return the command of the running stage."""
    for pid, (_, session_id, command) in _processes().items():
        if session_id == session and pid != session and "\0stage\0" in command:
            return command.partition("\0stage\0")[2].replace("\0", " ").strip()
    return ""


def _processes() -> dict[int, tuple[str, int, str]]:
    """Return state, session and command line by process id."""
    processes = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            command = (folder / "cmdline").read_text()
            processes[int(folder.name)] = (state, int(session), command)
    return processes
