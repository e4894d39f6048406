"""The plug-in for pytest: the fixture `concord_comparison` and its option `--concord-dir`.

pytest loads this module at every start; the fixture imports everything else when it is used.
"""

import re
import warnings
from argparse import Namespace
from contextlib import chdir
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from concord.metrics_core.results.comparison import Comparison

_OPTION = "--concord-dir"
_COMMANDS_OPTION = re.compile(r"(?<![^\s`])--dir(?![^\s`:])")  # a path may hold `--dir` too


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the evaluation."""
    parser.getgroup("concord").addoption(
        _OPTION,
        metavar="DIR",
        help="folder of the evaluation that the fixture `concord_comparison` reads "
        "(default: the nearest evaluation)",
    )


@pytest.fixture(scope="session")
def concord_comparison(pytestconfig: pytest.Config) -> "Comparison":
    """Return the comparison of the nearest evaluation, or of that of `--concord-dir`.

    Its gate is the decision of `concord gate`, by the gate that params.yaml has now. Missing
    results are an error; a UserWarning names what has changed since they were made.

    Examples
    --------
    >>> from concord.testing import assert_passes_gate
    >>> def test_release_gate(concord_comparison):
    ...     assert_passes_gate(concord_comparison)
    """
    from concord.metrics_core.errors import InputError, report_missing_extra

    try:
        with report_missing_extra():
            from concord.pipeline.dvc.current_results import (
                damaged_results,
                load_comparison,
                stale_message,
            )
            from concord.pipeline.dvc.gate import decide_gate
            from concord.pipeline.params.read import read_params
            from concord.pipeline.running.failures import report_damaged_results
            from concord.pipeline.terminal import in_evaluation

            arguments = Namespace(dir=pytestconfig.getoption(_OPTION))
            with (
                chdir(pytestconfig.invocation_params.dir),
                in_evaluation(arguments),
                report_damaged_results(damaged_results),
            ):
                params = read_params()
                comparison = load_comparison(params)
                stale = stale_message(params)
                decision = None
                if params.gate is not None:
                    decision = decide_gate(params, comparison).decision
    except InputError as error:
        message = _COMMANDS_OPTION.sub(_OPTION, str(error))
        raise pytest.fail.Exception(message, pytrace=False) from None
    if stale is not None:
        warnings.warn(stale, stacklevel=1)
    return replace(comparison, gate=decision)
