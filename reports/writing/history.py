"""Cells of a history, for the terminal and the page."""

from concord.metrics_core.errors import in_words
from concord.metrics_core.results.history import WORKING_TREE, Change, History, Revision, Standing
from concord.reports.writing import numbers
from concord.reports.writing.verdicts import VERDICTS

SHOWN = 12  # characters of a hash


def name(revision: Revision) -> str:
    """Return such as `0ba27de v1.0`."""
    return " ".join((revision.name, *revision.tags))


def digits(history: History, label: str) -> int:
    """Return the decimals of a metric, the same for all revisions."""
    standings = [each for revision in history.revisions for each in revision.standings_of(label)]
    return numbers.decimals(standings, [each.mean for each in standings])


def changed(revision: Revision, *, first: bool) -> str:
    """Return what changed at a revision, or why it is unknown."""
    known = "; ".join(each.text for each in revision.changed)
    start = "the first shown" if first and not known else known
    return "; ".join(filter(None, (start, revision.gone))) or "nothing that decides"


def mean(standing: Standing, digits: int) -> str:
    """Return such as `ease 0.2425`."""
    return f"{standing.model} {numbers.number(standing.mean, digits)}"


def against_baseline(revision: Revision, standing: Standing, digits: int) -> str:
    """Return such as `better, +0.0139 (+0.0066 to +0.0211)`."""
    if standing.verdict is None:
        return "baseline" if standing.model == revision.baseline else numbers.MISSING
    return _verdict(standing.verdict, standing.difference, (standing.diff_low, standing.diff_high), digits)  # fmt: skip


def against_former(change: Change, digits: int) -> str:
    """Return such as `worse, −0.0301 (−0.0365 to −0.0237)`."""
    return _verdict(change.verdict, change.difference, (change.ci_low, change.ci_high), digits)


def _verdict(verdict: str, difference: float | None, ends: tuple[float | None, float | None], digits: int) -> str:  # fmt: skip
    word = VERDICTS[verdict].word
    if difference is None:
        return word
    interval = numbers.signed_interval(*ends, digits)
    return f"{word}, {numbers.signed(difference, digits)}" + (f" ({interval})" if interval else "")


def since_before(revision: Revision, standing: Standing, digits: int) -> str:
    """Return the change of a model since the revision before; empty if unknown."""
    if standing.model in revision.same:
        return "the same for every user"
    change = revision.change(standing.model, standing.label)
    return "" if change is None else against_former(change, digits)


def higher_is_better(history: History, label: str) -> bool:
    """True if larger values are better, by the last revision with the metric."""
    standings = [each for revision in history.revisions for each in revision.standings_of(label)]
    return standings[-1].higher_is_better


def headline(history: History) -> str:
    """Return such as `nDCG@10 in the working tree: ease 0.2214, slightly better than knn`, for the last revision."""
    last = history.revisions[-1]
    at = "in the working tree" if last.name == WORKING_TREE else f"at {name(last)}"
    for label in last.labels:
        best = last.standings_of(label)[0]
        text = f"{label} {at}: {mean(best, digits(history, label))}"
        if best.verdict is None or last.baseline is None:
            return text
        verdict = VERDICTS[best.verdict]
        return f"{text}, {verdict.word} {verdict.link} {last.baseline}"
    return f"Nothing is known {at}"


def extent(history: History) -> str:
    """Return such as `4 revisions of the comparison since 2026-11-23`."""
    revisions = in_words(len(history.revisions), "revision")
    first = history.revisions[0].date
    return f"{revisions} of the comparison" + (f" since {first}" if first else "")
