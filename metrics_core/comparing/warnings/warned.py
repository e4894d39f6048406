"""One warning."""

from collections.abc import Sequence

from concord.metrics_core.comparison.parts import Severity, Warned

MATTERS = 0.01  # a share that a reader must know of
FEWEST = 10  # users, before a pattern in their lists says anything


def warned(kind: str, severity: Severity, who: Sequence[str], sentence: str, fix: str) -> Warned:
    """A warning on these models; on all where nobody is named."""
    return Warned(kind, severity, tuple(who), sentence, fix)
