"""What was done, in at most 120 words with citations: for a paper or an artifact appendix."""

import re
from collections.abc import Iterator

from concord.metrics_core.errors import format_count
from concord.metrics_core.results.comparison import Comparison
from concord.reports.text.numbers import conventions_name, join_first, min_effect_text
from concord.reports.text.summary import method_note

_MAX_NAMES = 3  # metrics with their sources and thresholds
_PAPER = re.compile(r"[0-9]{4}")  # the source of a metric has a year
_ADVICE = re.compile(r" If more than .*? to their number\.")  # what the reader may set
_PROGRAMS = {"concord-eval": "Concord", "numpy": "NumPy", "scipy": "SciPy"}


def methods(comparison: Comparison) -> str:
    """Return metrics, users, tests, intervals, margins, versions and conventions as one text."""
    return " ".join(_sentences(comparison))


def _sentences(comparison: Comparison) -> Iterator[str]:
    metrics = [comparison.metric(label) for label in comparison.primary]
    names = [f"{x.label} ({x.source})" if _PAPER.search(x.source) else x.label for x in metrics]
    others = len(comparison.compared_models)
    models = f"compared {format_count(others, 'model')} with" if others else "measured"
    yield f"We {models} {comparison.baseline} by {join_first(names, _MAX_NAMES)}."
    yield _ADVICE.sub("", method_note(comparison))
    pairs = [pair for pair in comparison.primary_pairs if pair.p is not None]
    tests = {pair.test for pair in comparison.pairs if pair.p is not None}
    cited = {
        "paired t tests": "t" in tests,
        "sign flips (Fisher 1935)": "sign_flips" in tests,
        "list swaps (Smucker et al. 2007)": "swap" in tests,
        "cluster-robust errors (Bell & McCaffrey 2002)": comparison.unit is not None,
        "joint levels of correlated differences (Hothorn et al. 2008)": len(pairs) > 1,
    }
    if pairs:
        yield f"Methods: {', '.join(name for name, is_used in cited.items() if is_used)}."
        effects = [f"{min_effect_text(comparison, x.label)} ({x.label})" for x in metrics]
        yield f"Smallest relevant difference: {join_first(effects, _MAX_NAMES)}."
    known = comparison.provenance.versions
    programs = [f"{title} {known[name]}" for name, title in _PROGRAMS.items() if name in known]
    pinned = f"; conventions {conventions_name(comparison.conventions)}" * comparison.has_lists
    yield f"Computed with {', '.join(programs)}{pinned}."
