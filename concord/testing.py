"""Assertions on results, for tests in pytest or any other framework.

>>> from concord.testing import assert_passes_gate
"""

import warnings
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from concord.metrics_core.results.comparison import Comparison

__all__ = ["assert_passes_gate"]


def assert_passes_gate(
    comparison: "Comparison",
    *,
    undecided: Literal["pass", "fail"] | None = None,
) -> None:
    """Raise an AssertionError unless all models of a comparison pass its gate.

    Serious warnings about the comparison are part of the message; without an error, each becomes a
    UserWarning.

    Parameters
    ----------
    comparison : Comparison
        A comparison with a gate. For the results of a project, use the fixture
        `concord_comparison`: it applies the current gate and warns if inputs have changed.
    undecided : {"pass", "fail"}, optional
        Result if guardrails are undecided. Default: the setting `undecided` of the gate.

    Raises
    ------
    AssertionError
        If a model is suspicious, worse or undecided; the message is what `concord gate` prints, and
        its warnings.
    InputError
        If `comparison` is not a Comparison, or has no gate.

    Examples
    --------
    >>> import concord as cc
    >>> from concord.testing import assert_passes_gate
    >>> users = range(40)
    >>> models = {"new": dict.fromkeys(users, ["a", "b"]), "old": dict.fromkeys(users, ["b", "c"])}
    >>> truth = dict.fromkeys(users, ["a", "b"])
    >>> gate = {"guardrails": {"nDCG@2": "2%"}}
    >>> comparison = cc.compare(models, truth, metrics=["nDCG@2"], baseline="old", gate=gate)
    >>> assert_passes_gate(comparison)
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    from concord.metrics_core.comparison.gate import with_undecided
    from concord.metrics_core.errors import printable, refuse
    from concord.metrics_core.results.comparison import Comparison
    from concord.reports.text.display_words import display_words

    if undecided not in (None, "pass", "fail"):
        raise refuse("undecided", f"is {undecided!r}", "write 'pass' or 'fail', or leave it out")
    if not isinstance(comparison, Comparison):
        fix = "pass a result of `concord.compare`, or the pytest fixture `concord_comparison`"
        raise refuse("comparison", f"is of type {type(comparison).__name__}", fix)
    decision = comparison.gate
    if decision is None:
        fix = "write `gate:` in params.yaml, or pass `gate` to `concord.compare`"
        raise refuse("comparison", "has no gate", fix)
    if undecided is not None:
        decision = with_undecided(decision, undecided_passes=undecided == "pass")
    show = display_words(comparison).show
    sentences = [printable(show(f"warning: {each.sentence}")) for each in comparison.prominent]
    if decision.outcome != "pass":
        lines = [printable(show(line)) for line in decision.lines]
        raise AssertionError("\n".join([*lines, *sentences]))
    for message in sentences:
        warnings.warn(message, stacklevel=2)
