"""`concord run` and faults: what its state records is what the stages used."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from concord.metrics_core.metrics import custom_metric
from concord.pipeline.commands import stage
from concord.pipeline.params.read import read_params
from concord.pipeline.stages.run_state import RunState, select_stages, stage_specs
from tests.pipeline.init.repository import LISTS, USUAL, tree, write
from tests.project import attempt, change_params, copied_from, made_once

Change = Callable[[Path], None]
Results = dict[str, bytes]
MORE = LISTS.replace("u1,c,2", "u1,b,2")
OTHER_LISTS = MORE.replace("u3,b", "u3,c")
LOCK, STATE = "results/.concord-run.lock", "results/concord-run.json"


OWN_METRIC = {
    "background": {"metrics": {"path": "my_metrics.py"}},
    "evaluation.metrics": ["nDCG", "mine"],
    "comparison.primary": ["nDCG@1", "mine@1"],
    "comparison.resamples": 99,
    "evaluation.panel": False,
    "conventions.preset": "custom",
    "gate": {"guardrails": {"nDCG@1": 0.9, "mine@1": 9}},
}


def write_metric(project: Path, factor: int) -> None:
    write(
        project,
        {
            "my_metrics.py": "import concord\nimport shop_values\n\n\n@concord.metric(high=99)\n"
            f"def mine(lists, k):\n    'mine@k = hits'\n"
            f"    return lists.count(k) * {factor} * shop_values.VALUE\n"
        },
    )


def write_module(project: Path, value: int) -> None:
    write(project, {"modules/shop_values.py": f"VALUE = {value}\n"})


def _evaluated_with_own_metric(folder: Path) -> None:
    project = folder / "shop/evaluation"
    write(project.parent, USUAL | {"out/als.csv": MORE})
    concord(project.parent, "init", "--no-dvc")
    write_metric(project, 2)
    write_module(project, 2)
    change_params(project, OWN_METRIC)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(project / "modules")
        concord(project, "run", "report").check_returncode()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return a folder with an own metric, which imports a module, after its first run."""
    return made_once(tmp_path_factory, worker_id, _evaluated_with_own_metric) / "shop"


@pytest.fixture
def project(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy that a test may change."""
    copy = copied_from(finished, tmp_path) / "evaluation"
    monkeypatch.syspath_prepend(copy / "modules")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return copy


def concord(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a new process does: own metrics and their modules are imported."""
    sys.modules.pop("shop_values", None)
    custom_metric._registry = custom_metric.Registry()
    return attempt(project, "concord", *arguments, COLUMNS="200")


def results(project: Path) -> Results:
    internal = {Path(STATE).name, Path(LOCK).name}
    return {
        name: content for name, content in tree(project / "results").items() if name not in internal
    }


def from_scratch(project: Path) -> Results:
    """Return the results of the inputs as they are now."""
    kept = project.with_name("kept")
    (project / "results").rename(kept)
    done = concord(project, "run", "report")
    assert done.returncode == 0, done.stderr
    made = results(project)
    shutil.rmtree(project / "results")
    kept.rename(project / "results")
    return made


def _lists_of_the_same_size_and_time(project: Path) -> None:
    concord(project, "run", "load@als", "--force")  # the state has the inode of the copied file
    lists = project.parent / "out/als.csv"
    before = lists.stat()
    lists.write_text(OTHER_LISTS)
    os.utime(lists, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = lists.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        before.st_size,
        before.st_mtime_ns,
        before.st_ino,
    )


def _other_metric_and_module(project: Path) -> None:
    write_metric(project, 3)
    write_module(project, 3)


def _params(change: Mapping[str, Any]) -> Change:
    return lambda project: change_params(project, change)


EDITS: dict[str, Change] = {
    "metric": lambda project: write_metric(project, 3),
    "module": lambda project: write_module(project, 3),
    "threshold": _params({"conventions.relevance_threshold": 5}),
    "confidence": _params({"comparison.confidence": 0.9}),
    "lists": lambda project: write(project.parent, {"out/als.csv": OTHER_LISTS}),
    "metric and module": _other_metric_and_module,
    "lists of the same size and time": _lists_of_the_same_size_and_time,
    "threshold with a decimal point": _params({"conventions.relevance_threshold": 4.0}),
    "zero with a sign": _params({"conventions.hlu_neutral": -0.0}),
    "models in another order": _params(
        {"models": {name: {"path": f"../out/{name}.csv"} for name in ("popular", "als")}}
    ),
}


@pytest.mark.parametrize("change", EDITS)
def test_after_an_edit_the_advice_leads_to_the_results_of_a_run_from_scratch(
    project: Path, change: str
) -> None:
    EDITS[change](project)
    shown, gate = concord(project, "leaderboard").stdout, concord(project, "gate").stderr
    for command in re.findall(r"run `concord run ?([^`]*)`", gate):
        advised = concord(project, "run", *(command.split() or ["report"]))
        assert "ran none" not in advised.stderr
    after, done = concord(project, "gate"), concord(project, "run", "report")

    assert shown.startswith("warning: ")
    assert "since these results were made: run `concord run`" in shown
    assert "made: run `concord run`" in gate or "run `concord run evaluate@als`" in gate
    assert after.returncode in {0, 3}  # a decision
    assert done.returncode == 0, done.stderr
    assert results(project) == from_scratch(project)


def _while_it_waits(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    lock, changes = fcntl.flock, [change]

    def wait(*arguments: object) -> None:
        if changes:
            changes.pop()()
        lock(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(fcntl, "flock", wait)


def _in_stage(name: str) -> Callable[[pytest.MonkeyPatch, Callable[[], None]], None]:
    def patch(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
        import_main, changes = stage.import_main, [change]

        def changed(imported: str) -> Callable[..., str]:
            main = import_main(imported)

            def run(*arguments: object) -> str:
                if imported == name and changes:
                    changes.pop()()
                return main(*arguments)

            return run

        monkeypatch.setattr(stage, "import_main", changed)

    return patch


MOMENTS = {
    "waiting for the lock": _while_it_waits,
    "loading": _in_stage("load"),
    "loading side data": _in_stage("load-background"),
    "evaluating": _in_stage("evaluate"),
    "comparing": _in_stage("compare"),
}


QUICK = {
    ("metric", "waiting for the lock"),
    ("metric", "loading"),
    ("metric and module", "waiting for the lock"),
    ("module", "evaluating"),
    ("threshold", "waiting for the lock"),
    ("confidence", "comparing"),
    ("lists", "loading"),
}
EDITS_DURING_A_RUN = [
    pytest.param(*row, marks=[] if row in QUICK else pytest.mark.nightly)
    for row in product([*EDITS][:6], MOMENTS)
]


@pytest.mark.parametrize(("change", "moment"), EDITS_DURING_A_RUN)
def test_an_edit_during_a_run_is_never_taken_for_done(
    project: Path, monkeypatch: pytest.MonkeyPatch, change: str, moment: str
) -> None:
    with monkeypatch.context() as patched:
        MOMENTS[moment](patched, lambda: EDITS[change](project))
        interrupted = concord(project, "run", "report", "--force")
    stale = concord(project, "leaderboard").stdout.startswith("warning: ")
    done = concord(project, "run", "report")

    assert interrupted.returncode in {0, 2}
    assert "bug" not in interrupted.stderr
    assert done.returncode == 0, done.stderr
    assert results(project) == from_scratch(project)
    assert stale is ("ran none" not in done.stderr)


def test_a_file_that_is_changed_and_changed_back_during_a_stage_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    EDITS["lists"](project)

    def change_twice() -> None:
        write(project.parent, {"out/als.csv": MORE})
        EDITS["lists"](project)

    _in_stage("load")(monkeypatch, change_twice)
    done = concord(project, "run", "load@als")

    assert done.returncode == 2
    assert "../out/als.csv: als.csv changed while it was read" in done.stderr


def test_an_own_metric_that_changes_after_its_import_is_refused(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _in_stage("load-truth")(monkeypatch, lambda: EDITS["metric"](project))
    done = concord(project, "run", "compare", "--force")

    assert (done.returncode, done.stderr.splitlines()[-2:]) == (
        2,
        [
            "my_metrics.py: changed after it was read",
            "  fix: run `concord run`, which reads it again",
        ],
    )


def test_a_stage_of_dvc_refuses_another_own_metric_than_was_loaded(project: Path) -> None:
    EDITS["metric"](project)
    done = concord(project, "stage", "evaluate", "als")

    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "my_metrics.py: changed after it was read",
    )


def _with(name: str, value: object) -> Callable[[dict[str, object]], object]:
    return lambda state: {**state, name: value}


def _with_each(part: str, name: str, value: object) -> Callable[[dict[str, object]], object]:
    def changed(state: dict[str, object]) -> object:
        entries = state[part]
        assert isinstance(entries, dict)
        return {**state, part: {key: {**each, name: value} for key, each in entries.items()}}

    return changed


DAMAGED: dict[str, object] = {
    "nothing": "",
    "no JSON": "{",
    "deep": "[" * 100_000,
    "no text": b"\xff\xfe\x00",
    "a list": "[]",
    "NaN": '{"format": NaN}',
    "format alone": '{"format": 3}',
    "another format": _with("format", 2),
    "stages are a list": _with("stages", []),
    "a stage is a number": _with("stages", {"compare": 5}),
    "a stage is empty": _with("stages", {"compare": {}}),
    "a stage is null": _with("stages", {"compare": None}),
    "files are text": _with("files", "abc"),
    "a file is null": _with("files", {"../out/als.csv": None}),
    "a file is a number": _with("files", {"../out/als.csv": 5}),
    "a file is empty": _with("files", {"../out/als.csv": []}),
    "a file has text for numbers": _with("files", {"../out/als.csv": [["a"], "b"]}),
    "params are a list": _with_each("stages", "params", []),
    "files of a stage are a list": _with_each("stages", "files", []),
    "outputs are null": _with_each("stages", "outputs", None),
    "version is a number": _with_each("stages", "version", 7),
    "no own metrics": _with_each("stages", "own_metrics", None),
}
STRANGE: dict[str, object] = {  # valid, but of other files
    "NUL in a path": _with_each("stages", "files", {"a\0b": "x"}),
    "long path": _with_each("stages", "files", {"a" * 5000: "x"}),
    "device": _with_each("stages", "files", {"/dev/zero": "x"}),
    "NUL in a file": _with("files", {"a\0b": [[1], "x"]}),
    "long file": _with("files", {"a" * 5000: [[1], "x"]}),
}


@pytest.mark.parametrize("name", [*DAMAGED, *STRANGE])
def test_a_damaged_state_leaves_no_stage_current(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(project)
    damage, file = {**DAMAGED, **STRANGE}[name], Path(STATE)
    content = damage(json.loads(file.read_text())) if callable(damage) else damage
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    params = read_params()
    specs = select_stages(stage_specs(params.content), ["report"])
    state = RunState(file, params)
    keys, changed = state.changes(specs)

    if name in DAMAGED:
        assert (keys, changed) == ([], [f"{STATE} (incomplete)"])
    if name in STRANGE and "file" in name:
        assert (keys, changed) == ([], [])
    else:
        assert not any(state.is_current(spec) for spec in specs)


def _link(path: Path) -> None:
    path.symlink_to("../elsewhere")


SPECIAL: dict[str, Change] = {"link": _link, "folder": Path.mkdir, "pipe": os.mkfifo}
PLACES = [
    *((name, kind) for name in (LOCK, STATE) for kind in SPECIAL),
    ("results/comparison", "link"),
    ("results/comparison", "pipe"),
    ("results/lists", "pipe"),
    ("results/lists/als.parquet", "pipe"),
    ("results/summary/als.json", "folder"),
]


@pytest.mark.parametrize(("name", "kind"), PLACES)
def test_a_link_folder_or_pipe_in_place_of_a_result_is_refused_before_any_work(
    project: Path, name: str, kind: str
) -> None:
    path = project / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    SPECIAL[kind](path)
    before = tree(project)
    done = concord(project, "run", "compare")
    after = tree(project)
    path.rmdir() if kind == "folder" else path.unlink()

    assert (done.returncode, done.stderr.count("\n")) == (2, 2)
    assert name in done.stderr
    assert re.search("  fix: (name another folder, or )?remove it", done.stderr)
    assert after == before
    assert not (project / "elsewhere").exists()
    assert concord(project, "run", "compare").returncode == 0


def test_a_name_that_no_disk_accepts_is_refused(project: Path) -> None:
    change_params(project, {"models.als.path": "ü" * 128 + ".csv", "results.report": "r" * 256})
    done = concord(project, "validate")

    assert done.returncode == 2
    assert "models.als.path: has a name of more than 255 bytes" in done.stderr
    assert "results.report: has a name of more than 255 bytes" in done.stderr


@pytest.mark.parametrize("key", ["models.als.path", "background.metrics.path", "results.report"])
def test_a_path_that_no_disk_accepts_is_refused(project: Path, key: str) -> None:
    change_params(project, {key: "x/" * 2_500})
    done = concord(project, "validate")

    assert (done.returncode, done.stderr.count("\n")) == (2, 2)
    assert len(done.stderr) < 300
    assert re.search("too long.*\n  fix: ", done.stderr)


def test_a_link_instead_of_a_folder_of_results_is_to_be_removed(project: Path) -> None:
    link = project / "results/comparison"
    shutil.rmtree(link, ignore_errors=True)
    link.symlink_to(project.parent)
    done = concord(project, "validate")
    link.unlink()

    assert "'results/comparison' is a link, not a folder" in done.stderr
    assert done.stderr.splitlines()[1] == "  fix: remove the link"
