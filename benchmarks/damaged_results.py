"""Cases with damaged results of an evaluated project, in its folder or in DVC's cache."""

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

from benchmarks.broken_files import mutate
from benchmarks.fuzz_cases import Case, Row, kind
from concord.metrics_core.errors import InputError, Problem
from tests.faults.small import small_project
from tests.pipeline.dvc.revisions import commit, git, without_code
from tests.project import ROOT, attempt, change_params, commit_results, run_all_stages

STUDY = "datasets: {then: {project: ., rev: v1}, now: .}\nreport: study\n"
COMMANDS = (
    "leaderboard", "gate", "gate v1", "diff v1", "comment", "comment v1", "history", "audit",
    "plan", "study", "cases first --versus second", "log",
    "explain u00 nDCG@5 --model first", "reconcile 0.5 --metric nDCG@5 --model first",
    "stage compare", "stage report", "stage evaluate first", "stage log",
)  # fmt: skip
OTHER = (b"null", b"[]", b"{}", b'"text"', b"[" * 9999, b"3", b"\xff\xfe{}", b'{"schema": 5}')
NUMBERS = (b"1e999", b"-1e999", b"NaN", b"Infinity", b'"0.5"', b"null", b"{}", b"1" * 5000, b"true")
REFUSED = 2
WARNINGS = ("warning: ", "cannot be read", "not in DVC's cache", "not logged: ")


@cache
def project() -> Path:
    """Return a project of two commits, with the tag v1 on the first; made once per process."""
    root = small_project(Path(tempfile.mkdtemp(prefix="concord-damaged-")) / "project")
    atexit.register(shutil.rmtree, root.parent)
    for name in ("dvc.yaml", ".dvcignore"):
        shutil.copy(ROOT / name, root / name)
    (root / ".dvc").mkdir()
    shutil.copy(ROOT / ".dvc/config", root / ".dvc/config")
    without_code(root)
    (root / ".gitignore").write_text("/results\n/mlflow.db*\n")
    (root / "study.yaml").write_text(STUDY)
    truth = pl.read_parquet(root / "data/truth.parquet")
    truth.select("user", "item").write_parquet(root / "data/train.parquet")
    background = {"train": {"path": "data/train.parquet"}}
    change_params(root, {"background": background, "gate": {"guardrails": {"nDCG@5": "5%"}}})
    git(root, "init", "-q")
    _evaluate(root)
    git(root, "tag", "v1")
    lists = (root / "data/first.csv").read_text().splitlines(keepends=True)
    (root / "data/first.csv").write_text("".join(lists[:-2]))
    _evaluate(root)
    return root


def _evaluate(root: Path) -> None:
    run_all_stages(root)
    commit_results(root)
    commit(root, "a state")


@cache
def expected_output(command: str) -> str:
    """Return the output of a command if nothing is damaged."""
    with tempfile.TemporaryDirectory() as folder:
        return _output(attempt(_copy(Path(folder)), "concord", *command.split()))


def _output(done: subprocess.CompletedProcess[str]) -> str:
    return f"{done.returncode}\n{done.stdout}"


def _copy(folder: Path) -> Path:
    """Return a copy of the project; results and caches are hard links until they are damaged."""
    return Path(shutil.copytree(project(), folder / "project", copy_function=_link_or_copy))


def _link_or_copy(source: str, copy: str) -> None:
    is_replaced_whole = "/results/" in source or "/.dvc/cache/" in source
    (os.link if is_replaced_whole else shutil.copy2)(source, copy)


@kind
def results(rng: random.Random) -> Case:
    """Return a project with one damaged result, and a command that may read it."""
    command = rng.choice(COMMANDS)
    expected = expected_output(command)
    root = _copy(Path())
    file = _random_result(rng, root)
    damage = _damage(rng, file, is_stage=command.startswith("stage"))
    description = f"`concord {command}` with {file.relative_to(root)} {damage}"

    def read() -> list[Row]:
        done = attempt(root, "concord", *command.split())
        output = " ".join((done.stdout + done.stderr).split())
        if "bug in Concord" in output or "Traceback" in output:
            msg = f"{description}: {output}"
            raise RuntimeError(msg)
        if _output(done) == expected or any(words in output for words in WARNINGS):
            return []
        if done.returncode == REFUSED and ("fix: " in output or "cannot be decided on" in output):
            raise InputError([Problem(description, done.stderr, "do what it says")])
        return [{"told": description, "printed": _output(done)[:300]}]

    return Case("damaged", str(file), [], read=read)


def _random_result(rng: random.Random, root: Path) -> Path:
    """Return a random result that commands read: in the folder, or in DVC's cache."""
    if rng.randrange(2):
        files = [*(root / "results").rglob("*")]
    else:
        lock = git(root, "show", f"{rng.choice(('v1', 'HEAD'))}:dvc.lock")
        md5s = re.findall(r"path: results/.*\n +hash: md5\n +md5: (.*)", lock)
        files = [root / ".dvc/cache/files/md5" / md5[:2] / md5[2:] for md5 in md5s]
        for listing in [file for file in files if file.suffix == ".dir" and file.is_file()]:
            entries = json.loads(listing.read_bytes())
            md5s = [each["md5"] for each in entries if each["relpath"].endswith(".json")]
            files += [root / ".dvc/cache/files/md5" / md5[:2] / md5[2:] for md5 in md5s]
    unread = {".csv", ".html", ".md", ".tex"}
    candidates = [file for file in files if file.is_file() and file.suffix not in unread]
    return rng.choice(sorted(file for file in candidates if not file.match("comparison/*.parquet")))


def _damage(rng: random.Random, file: Path, *, is_stage: bool) -> str:
    """Damage a file; return the kind of damage.

    Stages are not tested with other content, because DVC compares hashes before it runs a stage.
    """
    content = file.read_bytes()
    file.unlink()
    damage = rng.choice([*CUTS] if is_stage else [*REPLACEMENTS, *CUTS, *CONTENTS])
    if damage in REPLACEMENTS:
        REPLACEMENTS[damage](file)
    else:
        file.write_bytes({**CUTS, **CONTENTS}[damage](rng, content))
    return damage


def _modified(rng: random.Random, content: bytes) -> bytes:
    text = bytearray(content)
    for _ in range(rng.choice((1, 1, 4))):
        mutate(rng, text)
    return bytes(text)


def _another_number(rng: random.Random, content: bytes) -> bytes:
    numbers = [*re.finditer(rb"(?<=[:\[,] )-?\d[\d.e+-]*", content)]
    if not numbers:
        return b""
    start, end = rng.choice(numbers).span()
    return content[:start] + rng.choice(NUMBERS) + content[end:]


def _without_a_key(rng: random.Random, content: bytes) -> bytes:
    if content[:1] not in {b"{", b"["}:
        return b""
    document = json.loads(content)
    inner = document
    while True:
        nested = [
            each
            for each in (inner.values() if isinstance(inner, dict) else inner)
            if isinstance(each, dict | list) and each
        ]
        if not nested or rng.randrange(3) == 0:
            break
        inner = rng.choice(nested)
    if isinstance(inner, dict):
        inner.pop(rng.choice([*inner]))
    else:
        inner.pop()
    return json.dumps(document).encode()


REPLACEMENTS: dict[str, Callable[[Path], object]] = {
    "gone": lambda _: None,
    "a folder": lambda file: file.mkdir(),
    "a dead link": lambda file: file.symlink_to("nothing"),
}
CUTS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "empty": lambda _, __: b"",
    "cut": lambda rng, content: content[: rng.randrange(len(content))],
    "binary": lambda rng, _: rng.randbytes(rng.randrange(2000)),
}
CONTENTS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "modified": _modified,
    "twice": lambda _, content: content * 2,
    "another result": lambda rng, _: rng.choice(
        [*project().glob("results/*/*.[jp]*")]
    ).read_bytes(),
    "other JSON": lambda rng, _: rng.choice(OTHER),
    "another number": _another_number,
    "without a key": _without_a_key,
}
