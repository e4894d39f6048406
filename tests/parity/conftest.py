"""At the end of a run: how many values of other libraries were compared."""

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = terminalreporter.stats.get("passed", [])
    counts = [n for report in reports for name, n in report.user_properties if name == "compared"]
    if counts:
        terminalreporter.write_line(
            f"parity: {sum(counts):,} values of {len(counts)} libraries compared"
        )
