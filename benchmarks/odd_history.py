"""Histories of git that chance has made: odd words, tags, merges, conflicts, renamed models, lost and damaged objects."""

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
GATE = {"guardrails": {"nDCG@5": "5%"}}
CHARACTERS = (
    "a é\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\x1f\r\t\x7f\u202e\ufeff\U0001f600'\"`$%<>|;,=*{}\\-\n"
)
SETTINGS = {
    "log.showSignature": "true", "log.follow": "true", "log.date": "relative", "color.ui": "always", "core.abbrev": "5",
    "i18n.logOutputEncoding": "ISO-8859-1", "log.decorate": "full", "format.pretty": "fuller", "core.quotePath": "false",
    "diff.renames": "copies", "log.showRoot": "false", "core.autocrlf": "true", "status.showUntrackedFiles": "all",
}  # fmt: skip


@dataclass(frozen=True)
class State:
    """A commit of the branch, and what is to be read of it.

    lock    : text of dvc.lock; None if there is none
    of      : the state of the project whose results it names, `v1` or `v2`; None if it cannot be read
    renamed : the model `first` has another name, and whether the present says so
    """

    name: str
    lock: str | None
    of: str | None
    params: str
    renamed: bool | None = None


@cache
def project() -> Path:
    """A project of two commits, the tags v1 and v2, between which the model `first` has changed; made once for a process."""
    made = small_project(Path(tempfile.mkdtemp(prefix="concord-history-")) / "project")
    atexit.register(shutil.rmtree, made.parent)
    for name in ("dvc.yaml", ".dvcignore"):
        shutil.copy(ROOT / name, made / name)
    (made / ".dvc").mkdir()
    shutil.copy(ROOT / ".dvc/config", made / ".dvc/config")
    without_code(made)
    (made / ".gitignore").write_text("/results\n/.dvc/cache\n/.dvc/tmp\n")
    change_params(made, {"gate": GATE})
    git(made, "init", "-q", "-b", "main")
    git(made, "config", "gc.auto", "0")
    lists = made / "data/first.csv"
    for tag in ("v1", "v2"):
        run_all_stages(made, last="compare")
        commit_results(made, last="compare")
        commit(made, tag)
        git(made, "tag", tag)
        lists.write_text("".join(lists.read_text().splitlines(keepends=True)[:-2]))
    git(made, "checkout", "-q", "--", "data")
    return made


@cache
def sound(command: str, of: str) -> int:
    """The exit code of a command against a state of the project where nothing is odd."""
    return attempt(project(), "concord", command, of).returncode


@kind
def history(chance: random.Random) -> Case:
    """A history, and a command that reads it."""
    there = Path(shutil.copytree(project(), Path.cwd() / "project"))
    states = [_first(there, tag) for tag in ("v1", "v2")]
    present = (there / "dvc.lock").read_text()
    for number in range(chance.randint(1, 6)):
        states.append(chance.choice(STEPS)(chance, there, states, number))
    for _ in range(chance.randint(0, 3)):
        chance.choice((_tag, _setting))(chance, there, states)
    lost = chance.randrange(8) == 0
    if lost:
        _lose_object(chance, there)
    elif chance.randrange(3) == 0:
        states = _lose_file(chance, there, states)
    (there / "params.yaml").write_text(states[1].params)
    (there / "dvc.lock").write_text(present)
    command = chance.choice(("history", "gate", "diff", "comment"))
    state = chance.choice(states)
    words = ["history", "--csv", "rows.csv"] if command == "history" else [command, state.name]

    def read() -> list[Row]:
        done = attempt(there, "concord", *words)
        said = " ".join((done.stdout + done.stderr).split())
        told = f"`concord {' '.join(words)}`: {done.returncode}: {said}"
        if "bug in Concord" in said or "Traceback" in said or done.returncode not in {0, 1, 2, 3}:
            raise RuntimeError(told)
        if command == "history":
            is_right = done.returncode == 0 and _rows(there) == _expected_rows(states)
        else:
            is_right = done.returncode == _expected_code(command, state)
        is_refused = done.returncode == REFUSED
        if is_refused and (is_right or lost) and ("fix: " in said or "cannot be decided on" in said):  # fmt: skip
            raise InputError([Problem("history", told, "do what it says")])
        return [] if is_right or (lost and not is_refused) else [{"told": told, "states": str(states)[-900:]}]  # fmt: skip

    return Case("history", str(there), [], read=read)


def _rows(there: Path) -> int:
    with (there / "rows.csv").open(encoding="utf-8", newline="") as file:
        return len({row["revision"] for row in csv.DictReader(file)})


def _expected_rows(states: list[State]) -> int:
    """A row where dvc.lock is another one and cannot be read, or names other results than the row before; and the working tree."""
    rows, last, before = 0, None, None
    for state in states:
        is_other = state.lock != before and state.lock is not None
        before = state.lock
        if not is_other or (state.of is not None and state.of == last):
            continue
        rows, last = rows + 1, state.of
    return rows + (last != "v2")


def _expected_code(command: str, state: State) -> int:
    if state.of is None:
        return REFUSED
    if state.renamed is False and command != "diff":
        return UNDECIDED
    return sound(command, state.of)


def _first(there: Path, tag: str) -> State:
    return State(tag, git(there, "show", f"{tag}:dvc.lock"), tag, git(there, "show", f"{tag}:params.yaml"))  # fmt: skip


def _commit(there: Path, state: State, message: bytes, *parents: str) -> State:
    """Commit dvc.lock and params.yaml of a state as the next one of the branch."""
    (there / "params.yaml").write_text(state.params)
    if state.lock is None:
        (there / "dvc.lock").unlink(missing_ok=True)
    else:
        (there / "dvc.lock").write_bytes(state.lock.encode("utf-8", errors="surrogateescape"))
    git(there, "add", "-A")
    tree = git(there, "write-tree").strip()
    heads = [argument for parent in ("HEAD", *parents) for argument in ("-p", parent)]
    done = subprocess.run(
        ["git", "commit-tree", tree, *heads], cwd=there, input=message, capture_output=True, check=True,
        env=IDENTITY | {"GIT_AUTHOR_DATE": "2026-01-02 03:04:05", "GIT_COMMITTER_DATE": "2026-01-02 03:04:05", "PATH": "/usr/bin:/bin:/usr/local/bin"},
    )  # fmt: skip
    name = done.stdout.decode().strip()
    git(there, "update-ref", "HEAD", name)
    return replace(state, name=name)


def _words(chance: random.Random, length: int) -> str:
    return "".join(chance.choice(CHARACTERS) for _ in range(length))


def _message(chance: random.Random) -> bytes:
    text = _words(chance, chance.choice((0, 1, 20, 2000)))
    encoding = chance.choice(("utf-8", "utf-8", "latin-1"))
    return text.encode(encoding, errors="replace")


def _sound_state(chance: random.Random, states: list[State], number: int) -> State:
    """One of the first two, whose dvc.lock is a file of its own in git."""
    chosen = states[chance.randrange(2)]
    return replace(chosen, lock=f"{chosen.lock}# {number}\n")


def _odd_words(chance: random.Random, there: Path, states: list[State], number: int) -> State:
    return _commit(there, _sound_state(chance, states, number), _message(chance))


def _merge(chance: random.Random, there: Path, states: list[State], number: int) -> State:
    side = _commit(there, _sound_state(chance, states, number), b"side")
    git(there, "update-ref", "HEAD", states[-1].name)
    return _commit(there, _sound_state(chance, states, -number), _message(chance), side.name)


def _signed(chance: random.Random, there: Path, states: list[State], number: int) -> State:
    plain = _commit(there, _sound_state(chance, states, number), b"signed")
    head, _, body = git(there, "cat-file", "commit", plain.name).partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    done = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"], cwd=there, capture_output=True, check=True,
        input=f"{head}\n{signature}\n\n{body}".encode(),
    )  # fmt: skip
    name = done.stdout.decode().strip()
    git(there, "update-ref", "HEAD", name)
    return replace(plain, name=name)


def _conflict(chance: random.Random, there: Path, states: list[State], number: int) -> State:
    ours, theirs = (state.lock or "" for state in states[:2])
    lines = ours.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    lines[at:at] = ["<<<<<<< HEAD\n", "=======\n", theirs.splitlines(keepends=True)[-1], f">>>>>>> {number}\n"]  # fmt: skip
    state = replace(states[0], lock="".join(lines), of=None)
    return _commit(there, state, _message(chance))


def _no_lock(chance: random.Random, there: Path, states: list[State], _: int) -> State:
    state = replace(states[0], lock=None, of=None)
    return _commit(there, state, _message(chance))


def _bytes(chance: random.Random, there: Path, states: list[State], number: int) -> State:
    text = chance.choice(("\x00\udcff", "\udcfe\x00x", "{}", "text: [", "- 1\n"))
    state = replace(states[0], lock=f"{text}{number}", of=None)
    return _commit(there, state, _message(chance))


def _windows(chance: random.Random, there: Path, states: list[State], number: int) -> State:
    state = _sound_state(chance, states, number)
    return _commit(there, replace(state, lock=(state.lock or "").replace("\n", "\r\n")), _message(chance))  # fmt: skip


def _renamed(chance: random.Random, there: Path, states: list[State], number: int) -> State:
    """The model `first` was called `former` then; the file is the same one, or another."""
    state = _sound_state(chance, states, number)
    same = chance.randrange(2) == 0
    lock, params = ((text or "").replace("first", "former") for text in (state.lock, state.params))
    if same:
        params = params.replace("data/former.csv", "data/first.csv")
    return _commit(there, replace(state, lock=lock, params=params, renamed=same), _message(chance))


STEPS: tuple[Callable[[random.Random, Path, list[State], int], State], ...] = (
    _odd_words, _merge, _signed, _conflict, _no_lock, _bytes, _windows, _renamed,
)  # fmt: skip


def _tag(chance: random.Random, there: Path, states: list[State]) -> None:
    """A tag whose name git allows, of a commit, a tag or a file."""
    name = "t" + "".join(c for c in _words(chance, 9) if c.isprintable() and c not in " ~^:?*[\\@{}-'`\"\n") + "\u2028\u00a0\x85"  # fmt: skip
    target = chance.choice((chance.choice(states).name, "v1", "v2:params.yaml"))
    annotated = ["-a", "-m", _words(chance, 30)] if chance.randrange(2) else []
    git(there, "-c", "advice.nestedTag=false", "tag", "-f", *annotated, name, target)


def _setting(chance: random.Random, there: Path, _: list[State]) -> None:
    git(there, "config", *chance.choice([*SETTINGS.items()]))


def _lose_file(chance: random.Random, there: Path, states: list[State]) -> list[State]:
    """Damage what git has of dvc.lock at one commit; commits with the same file lose it, too."""
    spoilt = chance.choice([state for state in states if state.lock is not None])
    _damage(chance, there, git(there, "rev-parse", f"{spoilt.name}:dvc.lock").strip())
    return [replace(state, of=None) if state.lock == spoilt.lock else state for state in states]


def _lose_object(chance: random.Random, there: Path) -> None:
    """Damage any object but those of the two first commits."""
    listed = git(there, "rev-list", "--objects", "--all", "--not", "v1", "v2").split("\n")
    names = [line.split(" ")[0] for line in listed if line]
    if names:
        _damage(chance, there, chance.choice(names))


def _damage(chance: random.Random, there: Path, name: str) -> None:
    file = there / ".git/objects" / name[:2] / name[2:]
    if not file.is_file():
        return
    content = file.read_bytes()
    file.unlink()
    other = (there / ".git/objects").glob("[0-9a-f][0-9a-f]/*")
    damaged = chance.choice((None, b"", content[: len(content) // 2], b"damaged", sorted(other)[0].read_bytes()))  # fmt: skip
    if damaged is not None:
        file.write_bytes(damaged)
