"""Cases with random git histories: odd messages, tags, merges, conflicts, damaged objects."""

import atexit
import csv
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from benchmarks.fuzz_cases import Case, Row, kind
from concord.metrics_core.errors import InputError, Problem
from tests.faults.small import small_project
from tests.pipeline.dvc.revisions import IDENTITY, commit, git, without_code
from tests.project import ROOT, attempt, change_params, commit_results, run_all_stages

REFUSED, UNDECIDED = 2, 3
DATE, PATH = "2026-01-02 03:04:05", "/usr/bin:/bin:/usr/local/bin"
GATE = {"guardrails": {"nDCG@5": "5%"}}
CHARACTERS = (
    "a é\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\x1f\r\t\x7f\u202e\ufeff\U0001f600'\"`$%<>|;,=*{}\\-\n"
)
SETTINGS = {
    "log.showSignature": "true",
    "log.follow": "true",
    "log.date": "relative",
    "color.ui": "always",
    "core.abbrev": "5",
    "i18n.logOutputEncoding": "ISO-8859-1",
    "log.decorate": "full",
    "format.pretty": "fuller",
    "core.quotePath": "false",
    "diff.renames": "copies",
    "log.showRoot": "false",
    "core.autocrlf": "true",
    "status.showUntrackedFiles": "all",
}


@dataclass(frozen=True)
class State:
    """A commit of the branch, and the expected result of reading it.

    Attributes
    ----------
    name : str
        Hash or tag of the commit.
    lock : str or None
        Text of dvc.lock; None if it is missing.
    version : str or None
        `v1` or `v2`, whose results the lock names; None if it cannot be read.
    params : str
        Text of params.yaml.
    renamed : bool or None
        True if the model `first` has another name but the same file, False with another file.
    """

    name: str
    lock: str | None
    version: str | None
    params: str
    renamed: bool | None = None


@cache
def project() -> Path:
    """Return a project of two commits, v1 and v2, with different lists of the model `first`."""
    repository = small_project(Path(tempfile.mkdtemp(prefix="concord-history-")) / "project")
    atexit.register(shutil.rmtree, repository.parent)
    for name in ("dvc.yaml", ".dvcignore"):
        shutil.copy(ROOT / name, repository / name)
    (repository / ".dvc").mkdir()
    shutil.copy(ROOT / ".dvc/config", repository / ".dvc/config")
    without_code(repository)
    (repository / ".gitignore").write_text("/results\n/.dvc/cache\n/.dvc/tmp\n")
    change_params(repository, {"gate": GATE})
    git(repository, "init", "-q", "-b", "main")
    git(repository, "config", "gc.auto", "0")
    lists = repository / "data/first.csv"
    for tag in ("v1", "v2"):
        run_all_stages(repository, last="compare")
        commit_results(repository, last="compare")
        commit(repository, tag)
        git(repository, "tag", tag)
        lists.write_text("".join(lists.read_text().splitlines(keepends=True)[:-2]))
    git(repository, "checkout", "-q", "--", "data")
    return repository


@cache
def expected_code(command: str, version: str) -> int:
    """Return the exit code of a command against an unchanged version of the project."""
    return attempt(project(), "concord", command, version).returncode


@kind
def history(rng: random.Random) -> Case:
    """Return a repository with a random history, and a command that reads it."""
    repository = Path(shutil.copytree(project(), Path.cwd() / "project"))
    states = [_first(repository, tag) for tag in ("v1", "v2")]
    present = (repository / "dvc.lock").read_text()
    for number in range(rng.randint(1, 6)):
        states.append(rng.choice(STEPS)(rng, repository, states, number))
    for _ in range(rng.randint(0, 3)):
        rng.choice((_tag, _setting))(rng, repository, states)
    is_object_lost = rng.randrange(8) == 0
    if is_object_lost:
        _lose_object(rng, repository)
    elif rng.randrange(3) == 0:
        states = _lose_file(rng, repository, states)
    (repository / "params.yaml").write_text(states[1].params)
    (repository / "dvc.lock").write_text(present)
    command = rng.choice(("history", "gate", "diff", "comment"))
    state = rng.choice(states)
    words = ["history", "--csv", "rows.csv"] if command == "history" else [command, state.name]

    def read() -> list[Row]:
        done = attempt(repository, "concord", *words)
        output = " ".join((done.stdout + done.stderr).split())
        description = f"`concord {' '.join(words)}`: {done.returncode}: {output}"
        if (
            "bug in Concord" in output
            or "Traceback" in output
            or done.returncode not in {0, 1, 2, 3}
        ):
            raise RuntimeError(description)
        if command == "history":
            is_right = done.returncode == 0 and _rows(repository) == _expected_rows(states)
        else:
            is_right = done.returncode == _expected_code(command, state)
        is_refused = done.returncode == REFUSED
        has_message = "fix: " in output or "cannot be decided on" in output
        if is_refused and (is_right or is_object_lost) and has_message:
            raise InputError([Problem("history", description, "do what it says")])
        if is_right or (is_object_lost and not is_refused):
            return []
        return [{"told": description, "states": str(states)[-900:]}]

    return Case("history", str(repository), [], read=read)


def _rows(repository: Path) -> int:
    with (repository / "rows.csv").open(encoding="utf-8", newline="") as file:
        return len({row["revision"] for row in csv.DictReader(file)})


def _expected_rows(states: list[State]) -> int:
    """Return the number of rows of `concord history`.

    There is a row for each commit whose dvc.lock differs from the previous one, and cannot be read
    or names other results than the previous row; and one for the working tree.
    """
    rows, last, previous = 0, None, None
    for state in states:
        is_changed = state.lock != previous and state.lock is not None
        previous = state.lock
        if not is_changed or (state.version is not None and state.version == last):
            continue
        rows, last = rows + 1, state.version
    return rows + (last != "v2")


def _expected_code(command: str, state: State) -> int:
    if state.version is None:
        return REFUSED
    if state.renamed is False and command != "diff":
        return UNDECIDED
    return expected_code(command, state.version)


def _first(repository: Path, tag: str) -> State:
    lock, params = (
        git(repository, "show", f"{tag}:{name}") for name in ("dvc.lock", "params.yaml")
    )
    return State(tag, lock, tag, params)


def _commit(repository: Path, state: State, message: bytes, *parents: str) -> State:
    """Commit dvc.lock and params.yaml of a state as the next commit of the branch."""
    (repository / "params.yaml").write_text(state.params)
    if state.lock is None:
        (repository / "dvc.lock").unlink(missing_ok=True)
    else:
        (repository / "dvc.lock").write_bytes(state.lock.encode("utf-8", errors="surrogateescape"))
    git(repository, "add", "-A")
    tree = git(repository, "write-tree").strip()
    heads = [argument for parent in ("HEAD", *parents) for argument in ("-p", parent)]
    done = subprocess.run(
        ["git", "commit-tree", tree, *heads],
        cwd=repository,
        input=message,
        capture_output=True,
        check=True,
        env=IDENTITY | {"GIT_AUTHOR_DATE": DATE, "GIT_COMMITTER_DATE": DATE, "PATH": PATH},
    )
    name = done.stdout.decode().strip()
    git(repository, "update-ref", "HEAD", name)
    return replace(state, name=name)


def _random_text(rng: random.Random, length: int) -> str:
    return "".join(rng.choice(CHARACTERS) for _ in range(length))


def _message(rng: random.Random) -> bytes:
    text = _random_text(rng, rng.choice((0, 1, 20, 2000)))
    encoding = rng.choice(("utf-8", "utf-8", "latin-1"))
    return text.encode(encoding, errors="replace")


def _valid_state(rng: random.Random, states: list[State], number: int) -> State:
    """Return one of the first two states with a different dvc.lock."""
    base = states[rng.randrange(2)]
    return replace(base, lock=f"{base.lock}# {number}\n")


def _odd_message(rng: random.Random, repository: Path, states: list[State], number: int) -> State:
    return _commit(repository, _valid_state(rng, states, number), _message(rng))


def _merge(rng: random.Random, repository: Path, states: list[State], number: int) -> State:
    side = _commit(repository, _valid_state(rng, states, number), b"side")
    git(repository, "update-ref", "HEAD", states[-1].name)
    return _commit(repository, _valid_state(rng, states, -number), _message(rng), side.name)


def _signed(rng: random.Random, repository: Path, states: list[State], number: int) -> State:
    plain = _commit(repository, _valid_state(rng, states, number), b"signed")
    head, _, body = git(repository, "cat-file", "commit", plain.name).partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    done = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=repository,
        capture_output=True,
        check=True,
        input=f"{head}\n{signature}\n\n{body}".encode(),
    )
    name = done.stdout.decode().strip()
    git(repository, "update-ref", "HEAD", name)
    return replace(plain, name=name)


def _conflict(rng: random.Random, repository: Path, states: list[State], number: int) -> State:
    lock_a, lock_b = (state.lock or "" for state in states[:2])
    lines = lock_a.splitlines(keepends=True)
    position = rng.randrange(len(lines))
    last_line = lock_b.splitlines(keepends=True)[-1]
    conflict = ["<<<<<<< HEAD\n", "=======\n", last_line, f">>>>>>> {number}\n"]
    lines[position:position] = conflict
    state = replace(states[0], lock="".join(lines), version=None)
    return _commit(repository, state, _message(rng))


def _no_lock(rng: random.Random, repository: Path, states: list[State], _: int) -> State:
    state = replace(states[0], lock=None, version=None)
    return _commit(repository, state, _message(rng))


def _bytes(rng: random.Random, repository: Path, states: list[State], number: int) -> State:
    text = rng.choice(("\x00\udcff", "\udcfe\x00x", "{}", "text: [", "- 1\n"))
    state = replace(states[0], lock=f"{text}{number}", version=None)
    return _commit(repository, state, _message(rng))


def _windows(rng: random.Random, repository: Path, states: list[State], number: int) -> State:
    state = _valid_state(rng, states, number)
    lock = (state.lock or "").replace("\n", "\r\n")
    return _commit(repository, replace(state, lock=lock), _message(rng))


def _renamed(rng: random.Random, repository: Path, states: list[State], number: int) -> State:
    """Rename the model `first` to `former`, with the same file or another."""
    state = _valid_state(rng, states, number)
    is_same_file = rng.randrange(2) == 0
    lock, params = ((text or "").replace("first", "former") for text in (state.lock, state.params))
    if is_same_file:
        params = params.replace("data/former.csv", "data/first.csv")
    return _commit(
        repository, replace(state, lock=lock, params=params, renamed=is_same_file), _message(rng)
    )


STEPS: tuple[Callable[[random.Random, Path, list[State], int], State], ...] = (
    _odd_message, _merge, _signed, _conflict, _no_lock, _bytes, _windows, _renamed,
)  # fmt: skip


def _tag(rng: random.Random, repository: Path, states: list[State]) -> None:
    """Tag a commit, a tag or a file with a random valid name."""
    invalid = " ~^:?*[\\@{}-'`\"\n"
    valid = [c for c in _random_text(rng, 9) if c.isprintable() and c not in invalid]
    name = f"t{''.join(valid)}\u2028\u00a0\x85"
    target = rng.choice((rng.choice(states).name, "v1", "v2:params.yaml"))
    annotated = ["-a", "-m", _random_text(rng, 30)] if rng.randrange(2) else []
    git(repository, "-c", "advice.nestedTag=false", "tag", "-f", *annotated, name, target)


def _setting(rng: random.Random, repository: Path, _: list[State]) -> None:
    git(repository, "config", *rng.choice([*SETTINGS.items()]))


def _lose_file(rng: random.Random, repository: Path, states: list[State]) -> list[State]:
    """Damage dvc.lock of one commit, and so of all commits with the same file."""
    damaged_state = rng.choice([state for state in states if state.lock is not None])
    _damage(rng, repository, git(repository, "rev-parse", f"{damaged_state.name}:dvc.lock").strip())
    return [
        replace(state, version=None) if state.lock == damaged_state.lock else state
        for state in states
    ]


def _lose_object(rng: random.Random, repository: Path) -> None:
    """Damage any object except those of the first two commits."""
    listed = git(repository, "rev-list", "--objects", "--all", "--not", "v1", "v2").split("\n")
    names = [line.split(" ")[0] for line in listed if line]
    if names:
        _damage(rng, repository, rng.choice(names))


def _damage(rng: random.Random, repository: Path, name: str) -> None:
    file = repository / ".git/objects" / name[:2] / name[2:]
    if not file.is_file():
        return
    content = file.read_bytes()
    file.unlink()
    other = (repository / ".git/objects").glob("[0-9a-f][0-9a-f]/*")
    half, another = content[: len(content) // 2], sorted(other)[0].read_bytes()
    damaged = rng.choice((None, b"", half, b"damaged", another))
    if damaged is not None:
        file.write_bytes(damaged)
