"""Hypothesis repeats itself by default; `--hypothesis-profile=search` looks for new examples.

Tests are skipped where a program is not installed, unless CONCORD_SKIP_NOTHING is set: then a skip is a failure.
"""

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "repeatable",
    max_examples=60,
    derandomize=True,
    deadline=None,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile(
    "search", max_examples=1000, deadline=None, suppress_health_check=_SLOW_IS_FINE
)
settings.load_profile("repeatable")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("CONCORD_SKIP_NOTHING"):
        report.outcome = "failed"
    return report
