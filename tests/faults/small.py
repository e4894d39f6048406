"""A project of 30 users whose stages run in the test's process, and a demo of two models."""

import hashlib
import io
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import polars as pl
import pytest
from ruamel.yaml import YAML

from concord.pipeline.commands.cli import main
from concord.pipeline.running import signals
from concord.pipeline.running.messages import LOG
from tests.project import ROOT, change_params, copied, process_environment

TINY: dict[str, Any] = {
    "background": {},
    "segments": {},
    "evaluation.metrics": ["nDCG", "AP"],
    "evaluation.ks": [5],
    "evaluation.panel": False,
    "comparison.primary": ["nDCG@5"],
    "comparison.resamples": 199,
}
MODELS = ("first", "second")
LOAD = ("load", "first")
STAGES = (
    ("load-truth",),
    *(("load", model) for model in MODELS),
    *(("evaluate", model) for model in MODELS),
    ("reference",),
    ("compare",),
    ("report",),
)
_LISTS = [(user, rank, (7 * user + 3 * rank) % 20) for user in range(30) for rank in range(1, 6)]


class Ended(NamedTuple):
    """Exit code and output of a stage."""

    code: int
    out: str
    err: str


def small_project(folder: Path) -> Path:
    """Write params.yaml and the data; no results."""
    (folder / "data").mkdir(parents=True)
    truth = pl.DataFrame(
        [(f"u{user:02}", f"i{(5 * user + n) % 20}", n + 1) for user in range(30) for n in range(3)],
        schema=["user", "item", "grade"],
        orient="row",
    )
    truth.write_parquet(folder / "data/truth.parquet")
    for shift, model in enumerate(MODELS):
        rows = [(f"u{user:02}", f"i{(item + shift) % 20}", rank) for user, rank, item in _LISTS]
        lists = pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row")
        lists.write_csv(folder / f"data/{model}.csv")
    shutil.copy(ROOT / "params.yaml", folder)
    models = {model: {"path": f"data/{model}.csv"} for model in MODELS}
    data = {"data.truth": {"path": "data/truth.parquet"}, "comparison.baseline": MODELS[0]}
    change_params(folder, {**TINY, "models": models, **data, "comparison.resamples": 99})
    return folder


def run_stage(*words: str, stdout: TextIO | None = None, stderr: TextIO | None = None) -> Ended:
    """Run `concord stage …` in the current folder and in this process."""
    return run_command("stage", *words, stdout=stdout, stderr=stderr)


def run_command(*words: str, stdout: TextIO | None = None, stderr: TextIO | None = None) -> Ended:
    """Run `concord …` in this process."""
    return run_in_process(lambda: main(words), "concord", *words, stdout=stdout, stderr=stderr)


def run_in_process(
    work: Callable[[], object],
    *arguments: str,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> Ended:
    """Run what leaves its process, with these arguments and streams."""
    output, err = stdout or io.StringIO(), stderr or io.StringIO()
    with _as_they_were(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [*arguments])
        patch.setattr(sys, "stdout", output)
        patch.setattr(sys, "stderr", err)
        try:
            work()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return Ended(code, *(s.getvalue() if isinstance(s, io.StringIO) else "" for s in (output, err)))


@contextmanager
def _as_they_were() -> Iterator[None]:
    """Restore signals and the log, which a stage sets for its process; disable its exit."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    log = (LOG.handlers[:], LOG.propagate, LOG.level, logging.raiseExceptions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signals, "die_with_parent", lambda: None)
        patch.setattr(os, "_exit", _leave)
        patch.setattr("concord.pipeline.running.stage.end_process", _leave)
        yield
    LOG.handlers[:], LOG.propagate, logging.raiseExceptions = log[0], log[1], log[3]
    LOG.setLevel(log[2])
    for number, handler in handlers.items():
        signal.signal(number, handler)


def _leave(code: int) -> None:
    raise SystemExit(code)


def run_all(*stages: tuple[str, ...]) -> None:
    """Run the stages, or else all up to the report, in the current folder."""
    for words in stages or STAGES:
        ended = run_stage(*words)
        assert ended.code == 0, ended.err


def digests(project: Path) -> dict[str, str]:
    """Return the hash of every result; temporary files are none."""
    return {
        path.relative_to(project).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((project / "results").rglob("*"))
        if path.is_file() and path.suffix != ".part"
    }


def parts(project: Path) -> list[Path]:
    """Return the temporary files that are left."""
    return sorted((project / "results").rglob("*.part"))


def demo_of_two_models(folder: Path) -> Path:
    """Return the checkout without results, cut down to two models and few metrics."""
    project = copied(folder)
    models = YAML(typ="safe").load(project / "params.yaml")["models"]
    remaining = {name: models[name] for name in ("popularity", "als")}
    change_params(project, {**TINY, "models": remaining})
    return project


def start(project: Path, *command: str, **environment: str) -> subprocess.Popen[str]:
    """Start a command in a session of its own, as a terminal gives it."""
    return subprocess.Popen(
        command,
        cwd=project,
        env=process_environment(project, **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
