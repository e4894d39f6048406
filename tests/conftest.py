"""Options and hooks of all tests.

Hypothesis tries the same examples in every run. `--hypothesis-profile=nightly` looks for new
ones, `quick` tries few.

A test is skipped where a program is not installed. With CONCORD_SKIP_NOTHING it fails instead.
"""

import atexit
import json
import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.movielens import finished_movielens
from tests.project import copied, made_once, run
from tests.reports.samples.browser import CHROMIUM, Page, chromium

_ALLOW_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "default", max_examples=25, derandomize=True, deadline=None, suppress_health_check=_ALLOW_SLOW
)
settings.register_profile("quick", settings.get_profile("default"), max_examples=6)
settings.register_profile(
    "nightly", max_examples=1000, deadline=None, suppress_health_check=_ALLOW_SLOW
)
settings.load_profile("default")

DURATIONS = Path(__file__).with_name("durations.json")
SLOW_TEST = 0.4  # seconds of a test, beside two other workers
SLOW_SETUP = 5.0  # seconds of all fixtures of a file

if "PYTEST_XDIST_WORKER" in os.environ:
    # Registered first, so run last: the worker has sent its results and ends before DuckDB's
    # bindings count the objects that the interpreter still holds, and print them.
    atexit.register(os._exit, 0)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-durations", action="store_true", help=f"write {DURATIONS.name}")
    parser.addoption(
        "--quick", action="store_true", help=f"leave out what {DURATIONS.name} calls slow"
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the slowest files first, so that all workers end together; `--quick` skips slow tests."""
    recorded = json.loads(DURATIONS.read_text())
    if config.getoption("--quick"):
        slow = {*recorded["slow"]}
        excluded = [each for each in items if slow & {each.nodeid, _file(each.nodeid)}]
        config.hook.pytest_deselected(items=excluded)
        items[:] = [each for each in items if not slow & {each.nodeid, _file(each.nodeid)}]
    items.sort(key=lambda item: -recorded["files"].get(_file(item.nodeid), 0))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the seconds of each file and the slow tests if `--record-durations` is set."""
    if not terminalreporter.config.getoption("--record-durations"):
        return
    files: dict[str, float] = defaultdict(float)
    setups: dict[str, float] = defaultdict(float)
    slow = set()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                file = _file(report.nodeid)
                files[file] += report.duration
                setups[file] += report.duration if report.when == "setup" else 0.0
                if report.when == "call" and report.duration > SLOW_TEST:
                    slow.add(report.nodeid)
    slow |= {file for file, seconds in setups.items() if seconds > SLOW_SETUP}
    recorded = {
        "files": {file: round(seconds) for file, seconds in sorted(files.items()) if seconds > 1},
        "slow": sorted(each for each in slow if each in setups or _file(each) not in slow),
    }
    DURATIONS.write_text(json.dumps(recorded, indent=1) + "\n")


def _file(test: str) -> str:
    return test.partition("::")[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("CONCORD_SKIP_NOTHING"):
        report.outcome = "failed"
    return report


def finished_demo(folder: Path) -> None:
    output = run(copied(folder), "dvc", "repro")  # as processes: tests/installed
    (folder / "said.txt").write_text(output, encoding="utf-8")


@pytest.fixture(autouse=True)
def _tracking_uri_as_it_was() -> Iterator[None]:
    """Restore the environment: MLflow writes the store that it uses into it."""
    before = os.environ.get("MLFLOW_TRACKING_URI")
    yield
    if before is None:
        os.environ.pop("MLFLOW_TRACKING_URI", None)
    else:
        os.environ["MLFLOW_TRACKING_URI"] = before


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return the demo after its first `dvc repro`, to copy; its output is beside it."""
    return made_once(tmp_path_factory, worker_id, finished_demo) / "a project"


@pytest.fixture(scope="session")
def movielens_project(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Return MovieLens after all stages, to read."""
    return made_once(tmp_path_factory, worker_id, finished_movielens) / "a project"


@pytest.fixture(scope="session")
def browser() -> Iterator[Page]:
    """Return one browser tab for all tests of a worker."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with chromium() as page:
        yield page
