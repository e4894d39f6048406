"""`concord gate [REV]`: may these models go out? The decision in three lines, and as the exit code."""

import json
from collections.abc import Iterable, Mapping

from concord.metrics_core.errors import in_words
from concord.metrics_core.results.gate import Outcome
from concord.metrics_core.results.stored import plain
from concord.metrics_core.results.words import one_line
from concord.pipeline.commands.leaderboard import comparison_of
from concord.pipeline.commands.stale import warn_if_stale
from concord.pipeline.dvc.gate import gated
from concord.pipeline.params.read import read_params
from concord.pipeline.running.messages import LOG

EXIT_CODES: Mapping[Outcome, int] = {"pass": 0, "worse": 1, "undecided": 3}


def gate(revision: str | None, *, as_json: bool = False) -> int:
    """Prints the decision against the baseline or a revision; the exit code that says it."""
    params = read_params()
    found = gated(params, revision)
    warn_if_stale(params)
    if serious := len(comparison_of(params).serious):
        LOG.warning(
            "beware, %s on these results: see the report", in_words(serious, "serious warning")
        )
    code = EXIT_CODES[found.decision.outcome]
    if as_json:
        content = {"exit_code": code, "notes": found.notes, **plain(found.decision)}
        print(json.dumps(content, indent=2, ensure_ascii=False))
        return code
    tell([*found.decision.lines, *(f"note: {note}" for note in found.notes)])
    return code


def tell(sentences: Iterable[str]) -> None:
    """Prints each in one line, whatever the names in it."""
    for sentence in sentences:
        print(one_line(sentence))
