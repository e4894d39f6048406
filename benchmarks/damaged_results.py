"""Results of an evaluated project, in the folder or in DVC's cache, after chance has damaged one of them."""

import atexit
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl

from benchmarks.broken_files import stroke
from benchmarks.fuzz_cases import Case, Row, kind
from concord.metrics_core.errors import InputError, Problem
from tests.faults.small import small_project
from tests.pipeline.dvc.revisions import commit, git, without_code
from tests.project import ROOT, attempt, change_params, commit_results, run_all_stages

EXPERIMENTS = "experiment,control,treatment,clicks\n1,first@v1,second@v1,0.1\n2,second,first,0.2\n"
STUDY = "datasets: {then: {project: ., rev: v1}, now: .}\nreport: study\n"
COMMANDS = (
    "leaderboard", "gate", "gate v1", "diff v1", "comment", "comment v1", "history", "audit", "plan", "study",
    "calibrate experiments.csv", "cases first --versus second", "log", "explain u00 nDCG@5 --model first",
    "reconcile 0.5 --metric nDCG@5 --model first", "stage compare", "stage report", "stage evaluate first", "stage log",
)  # fmt: skip
OTHER = (b"null", b"[]", b"{}", b'"text"', b"[" * 9999, b"3", b"\xff\xfe{}", b'{"schema": 5}')
NUMBERS = (b"1e999", b"-1e999", b"NaN", b"Infinity", b'"0.5"', b"null", b"{}", b"1" * 5000, b"true")
REFUSED = 2
WARNINGS = ("warning: ", "cannot be read", "not in DVC's cache", "not logged: ")


@cache
def project() -> Path:
    """A project of two commits, the first of which is the tag v1; made once for a process."""
    made = small_project(Path(tempfile.mkdtemp(prefix="concord-damaged-")) / "project")
    atexit.register(shutil.rmtree, made.parent)
    for name in ("dvc.yaml", ".dvcignore"):
        shutil.copy(ROOT / name, made / name)
    (made / ".dvc").mkdir()
    shutil.copy(ROOT / ".dvc/config", made / ".dvc/config")
    without_code(made)
    (made / ".gitignore").write_text("/results\n/mlflow.db*\n")
    (made / "experiments.csv").write_text(EXPERIMENTS)
    (made / "study.yaml").write_text(STUDY)
    truth = pl.read_parquet(made / "data/truth.parquet")
    truth.select("user", "item").write_parquet(made / "data/train.parquet")
    background = {"train": {"path": "data/train.parquet"}}
    change_params(made, {"background": background, "gate": {"guardrails": {"nDCG@5": "5%"}}})
    git(made, "init", "-q")
    _evaluate(made)
    git(made, "tag", "v1")
    lists = (made / "data/first.csv").read_text().splitlines(keepends=True)
    (made / "data/first.csv").write_text("".join(lists[:-2]))
    _evaluate(made)
    return made


def _evaluate(made: Path) -> None:
    run_all_stages(made)
    commit_results(made)
    commit(made, "a state")


@cache
def sound(command: str) -> str:
    """What a command prints where nothing is damaged."""
    with tempfile.TemporaryDirectory() as folder:
        return _printed(attempt(_copy(Path(folder)), "concord", *command.split()))


def _printed(done: subprocess.CompletedProcess[str]) -> str:
    return f"{done.returncode}\n{done.stdout}"


def _copy(folder: Path) -> Path:
    """A copy; results and caches are the same files until they are damaged."""
    copy = shutil.copytree(project(), folder / "project", copy_function=_linked)
    return Path(copy)


def _linked(source: str, copy: str) -> None:
    is_replaced_whole = "/results/" in source or "/.dvc/cache/" in source
    (os.link if is_replaced_whole else shutil.copy2)(source, copy)


@kind
def results(chance: random.Random) -> Case:
    """One damaged result, and a command that may read it."""
    command = chance.choice(COMMANDS)
    expected = sound(command)
    there = _copy(Path())
    file = _chosen(chance, there)
    how = _damage(chance, file, is_stage=command.startswith("stage"))
    told = f"`concord {command}` with {file.relative_to(there)} {how}"

    def read() -> list[Row]:
        done = attempt(there, "concord", *command.split())
        said = " ".join((done.stdout + done.stderr).split())
        if "bug in Concord" in said or "Traceback" in said:
            msg = f"{told}: {said}"
            raise RuntimeError(msg)
        if _printed(done) == expected or any(words in said for words in WARNINGS):
            return []
        if done.returncode == REFUSED and ("fix: " in said or "cannot be decided on" in said):
            raise InputError([Problem(told, done.stderr, "do what it says")])
        return [{"told": told, "printed": _printed(done)[:300]}]

    return Case("damaged", str(file), [], read=read)


def _chosen(chance: random.Random, there: Path) -> Path:
    """A result that a command reads: in the folder, or in the cache of DVC as v1 or HEAD has it."""
    if chance.randrange(2):
        files = [*(there / "results").rglob("*")]
    else:
        lock = git(there, "show", f"{chance.choice(('v1', 'HEAD'))}:dvc.lock")
        md5s = re.findall(r"path: results/.*\n +hash: md5\n +md5: (.*)", lock)
        files = [there / ".dvc/cache/files/md5" / md5[:2] / md5[2:] for md5 in md5s]
        for listing in [file for file in files if file.suffix == ".dir" and file.is_file()]:
            listed = [each["md5"] for each in json.loads(listing.read_bytes()) if each["relpath"].endswith(".json")]  # fmt: skip
            files += [there / ".dvc/cache/files/md5" / md5[:2] / md5[2:] for md5 in listed]
    unread = {".csv", ".html", ".md", ".tex"}
    read = [file for file in files if file.is_file() and file.suffix not in unread]
    return chance.choice(sorted(file for file in read if not file.match("comparison/*.parquet")))


def _damage(chance: random.Random, file: Path, *, is_stage: bool) -> str:
    """Damage a file; return how. Other content is a matter of commands: DVC compares hashes before it runs a stage."""
    content = file.read_bytes()
    file.unlink()
    how = chance.choice([*CUTS] if is_stage else [*PLACES, *CUTS, *CONTENTS])
    if how in PLACES:
        PLACES[how](file)
    else:
        file.write_bytes({**CUTS, **CONTENTS}[how](chance, content))
    return how


def _struck(chance: random.Random, content: bytes) -> bytes:
    text = bytearray(content)
    for _ in range(chance.choice((1, 1, 4))):
        stroke(chance, text)
    return bytes(text)


def _another_number(chance: random.Random, content: bytes) -> bytes:
    numbers = [*re.finditer(rb"(?<=[:\[,] )-?\d[\d.e+-]*", content)]
    if not numbers:
        return b""
    start, end = chance.choice(numbers).span()
    return content[:start] + chance.choice(NUMBERS) + content[end:]


def _without_a_key(chance: random.Random, content: bytes) -> bytes:
    if content[:1] not in {b"{", b"["}:
        return b""
    whole = json.loads(content)
    inner = whole
    while True:
        nested = [
            each
            for each in (inner.values() if isinstance(inner, dict) else inner)
            if isinstance(each, dict | list) and each
        ]
        if not nested or chance.randrange(3) == 0:
            break
        inner = chance.choice(nested)
    if isinstance(inner, dict):
        inner.pop(chance.choice([*inner]))
    else:
        inner.pop()
    return json.dumps(whole).encode()


PLACES: dict[str, Callable[[Path], object]] = {
    "gone": lambda _: None,
    "a folder": lambda file: file.mkdir(),
    "a dead link": lambda file: file.symlink_to("nothing"),
}
CUTS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "empty": lambda _, __: b"",
    "cut": lambda chance, content: content[: chance.randrange(len(content))],
    "binary": lambda chance, _: chance.randbytes(chance.randrange(2000)),
}
CONTENTS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "struck": _struck,
    "twice": lambda _, content: content * 2,
    "another result": lambda chance, _: chance.choice(
        [*project().glob("results/*/*.[jp]*")]
    ).read_bytes(),
    "other JSON": lambda chance, _: chance.choice(OTHER),
    "another number": _another_number,
    "without a key": _without_a_key,
}
