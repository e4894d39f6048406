"""A replay as text: what is verified, what is different, and what was not checked."""

from collections.abc import Iterator

from concord.metrics_core.decision.result import Outcome, Replay
from concord.reports.text.blocks import Block, Heading

_ANSWERS = {
    "verified": "Verified: the inputs give these values, and the values this comparison.",
    "inputs_not_seen": "Verified from the stored values; not all inputs were seen.",
    "different": "Different: the decision does not follow from what it holds, or from the inputs.",
}
_KINDS = {"comparison": "comparison", "values": "values per user", "input": "inputs"}
_OUTCOMES: dict[Outcome, str] = {
    "equal": "equal",
    "close": "equal up to 1e-9",
    "different": "different",
    "not_checked": "not checked without all inputs",
}


def describe(result: Replay) -> Iterator[Block]:
    """Yield the answer, the outcomes by kind, and the versions of programs if they differ."""
    yield result.answer
    yield Heading(_ANSWERS[result.outcome])
    for kind, title in _KINDS.items():
        for outcome, text in _OUTCOMES.items():
            parts = [x for x in result.parts if (x.kind, x.outcome) == (kind, outcome)]
            if parts:
                yield f"  {title}, {text}: {', '.join(x.difference or x.name for x in parts)}"
    written, replayed = result.written_with, result.replayed_with
    changed = [name for name in written if written[name] != replayed.get(name)]
    if changed:
        versions = (f"{name} {written[name]}, now {replayed.get(name)}" for name in changed)
        yield f"  other versions, so that numbers may differ by 1e-9: {'; '.join(versions)}"
