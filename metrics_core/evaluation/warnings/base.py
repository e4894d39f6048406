"""One warning."""

from collections.abc import Sequence

from concord.metrics_core.results.comparison_parts import Severity, Warned

MATTERS = 0.01  # a share that a reader must know of
FEWEST = 10  # users, before a pattern in their lists says anything


def severity_of_rows(rows: int, of_rows: int) -> Severity:
    """Return how serious it is that so many rows of a table are not as they should be."""
    return "serious" if rows / of_rows >= MATTERS else "notice"


def warned(kind: str, severity: Severity, who: Sequence[str], sentence: str, fix: str) -> Warned:
    """A warning on these models; on all where nobody is named."""
    return Warned(kind, severity, tuple(who), sentence, fix)
