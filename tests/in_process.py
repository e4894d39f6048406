"""Run the command line in the test's process, which saves the second that a start takes."""

import gc
import io
import logging
import os
import shlex
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from concord.pipeline.commands.cli import main

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_concord(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `concord ARGUMENTS` in a folder; return its exit code, stdout and stderr."""
    stdout, stderr = _Captured(), _Captured()
    with _own_process_state(folder, environment or {}, stdout, stderr):
        try:
            main(list(arguments))
            code: object = 0
        except SystemExit as end:
            code = end.code
    if isinstance(code, str):
        stderr.write(f"{code}\n")
        code = 1
    exit_code = int(code) if isinstance(code, int) else 0
    return subprocess.CompletedProcess(
        ["concord", *arguments], exit_code, stdout.text(), stderr.text()
    )


def run_dvc(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `dvc ARGUMENTS` in a folder, and the stages of `dvc repro` by `run_concord`."""
    with patch("colorama.init"):  # it would replace sys.stdout
        from dvc.cli import main as dvc_main

    from dvc.stage.run import _run as run_process

    stdout, stderr = _Captured(), _Captured()
    environment = {**(environment or {}), "DVC_TEST": "1"}  # without colorama, once more
    with (
        warnings.catch_warnings(action="ignore"),  # those of DVC are not Concord's
        _own_process_state(folder, environment, stdout, stderr),
        _dvc_logs_to(stdout, stderr),
        patch("dvc.stage.run._run", partial(_run_stage, run_process)),
        _yaml_parsed_once(),
    ):
        code = dvc_main(list(arguments))
    return subprocess.CompletedProcess(["dvc", *arguments], code, stdout.text(), stderr.text())


def commit_stages(folder: Path, names: Collection[str], environment: Mapping[str, str]) -> None:
    """Do the same as `dvc commit -f NAMES`, but write dvc.lock once, which takes seconds."""
    with patch("colorama.init"):
        from dvc.repo import Repo

    stdout, stderr = _Captured(), _Captured()
    with (
        warnings.catch_warnings(action="ignore"),
        _own_process_state(folder, environment, stdout, stderr),
        _dvc_logs_to(stdout, stderr),
        _yaml_parsed_once(),
        Repo() as repo,
        repo.lock,
    ):
        stages = [stage for stage in repo.index.stages if stage.addressing in names]
        for stage in stages:
            stage.save()
            stage.commit()
        stages[0].dvcfile.dump_stages(stages, update_pipeline=False)


@contextmanager
def _yaml_parsed_once() -> Iterator[None]:
    """Parse equal texts once: DVC reads params.yaml for each stage, which takes a third of it."""
    from dvc.utils.serialize import _yaml

    parse = lru_cache(maxsize=None)(_yaml.parse_yaml)

    def copied(text: str, path: str, typ: str = "safe") -> Any:
        return deepcopy(parse(text, path, typ))

    with patch.object(_yaml, "parse_yaml", copied):
        yield


def _run_stage(
    run_process: Callable[..., None], executable: str, command: str, **options: Any
) -> None:
    """Run the command of a stage: Concord's in this process."""
    from dvc.stage.exceptions import StageCmdFailedError

    program, *arguments = shlex.split(command.removeprefix("exec "))
    if program != "concord":
        run_process(executable, command, **options)
        return
    stage = {name: value for name, value in options["env"].items() if name.startswith("DVC_")}
    done = run_concord(Path(options["cwd"]), *arguments, environment=stage)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise StageCmdFailedError(command, done.returncode)


@contextmanager
def _dvc_logs_to(stdout: "_Captured", stderr: "_Captured") -> Iterator[None]:
    """Send DVC's log to these streams instead of those at its import."""
    handlers = [
        handler
        for handler in logging.getLogger("dvc").handlers
        if isinstance(handler, logging.StreamHandler)
    ]
    streams = [handler.stream for handler in handlers]
    for handler in handlers:
        handler.stream = stderr if handler.level >= logging.WARNING else stdout
    try:
        yield
    finally:
        for handler, stream in zip(handlers, streams, strict=True):
            handler.stream = stream


class _Captured(io.TextIOWrapper):
    """A stream in memory that behaves like a pipe."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="", write_through=True)

    def text(self) -> str:
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode("utf-8", "replace")


@contextmanager
def _own_process_state(
    folder: Path, environment: Mapping[str, str], stdout: _Captured, stderr: _Captured
) -> Iterator[None]:
    """Give the command a process's state, and restore it afterwards."""
    before, logger = Path.cwd(), logging.getLogger("concord")
    handlers, level, propagate = logger.handlers[:], logger.level, logger.propagate
    raise_exceptions, collects = logging.raiseExceptions, gc.isenabled()
    on_signal = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        os.chdir(folder)
        with (
            patch.dict(os.environ, environment),
            patch.object(sys, "argv", ["concord"]),
            patch.object(sys, "stdout", stdout),
            patch.object(sys, "stderr", stderr),
            # A process that dies with its parent or leaves by itself would take the tests with it.
            patch("concord.pipeline.running.signals.prepare_process"),
            patch("concord.pipeline.running.signals._stop_signals", []),
            patch("concord.pipeline.running.stage.raise_on_signal"),
            patch("concord.pipeline.running.stage.end_process", sys.exit),
        ):
            yield
    finally:
        os.chdir(before)
        logger.handlers[:], logger.propagate = handlers, propagate
        logger.setLevel(level)
        logging.raiseExceptions = raise_exceptions
        for number, handler in on_signal.items():
            signal.signal(number, handler)
        if collects:
            gc.enable()
        gc.unfreeze()
