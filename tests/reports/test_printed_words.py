"""No view prints a word that contradicts the interval next to it."""

import html
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import pytest

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Difference, Segmentation
from concord.metrics_core.results.stored import from_content
from concord.reports.comment import Comment, render_comment
from concord.reports.latex import render_latex
from concord.reports.markdown import render_markdown
from concord.reports.page import render_html, render_notebook
from concord.reports.text.answer import answer_numbers
from concord.reports.text.summary import method_note
from concord.reports.text.verdict_styles import VERDICTS
from tests.metrics_core.comparison.test_families import WITHOUT_INTERVAL, word_of
from tests.metrics_core.comparison.test_words_of_parts import compared
from tests.metrics_core.defined import defined
from tests.reports.samples import sample
from tests.reports.samples.markup import Markup
from tests.reports.samples.sample_random import random_comparison
from tests.reports.samples.sample_replicates import replicate_sample

VIEWS: dict[str, Callable[[Comparison], str]] = {
    "terminal": str,
    "markdown": render_markdown,
    "comment": lambda comparison: render_comment(Comment("", comparison, comparison.gate)),
    "page": lambda comparison: Markup(render_html(comparison)).lines(),
    "notebook": lambda comparison: Markup(render_notebook(comparison)).lines(),
}
COMPARISONS: dict[str, Callable[[], Comparison]] = {
    "margins as numbers": lambda: compared("number"),
    "margins in percent": lambda: compared("percent"),
    "gated": lambda: from_content(sample.gated()),
    "lower is better": lambda: from_content(sample.lower_is_better()),
    "many models": lambda: from_content(sample.many_models()),
    "replicates": replicate_sample,
    **{f"random {seed}": partial(random_comparison, seed) for seed in range(20)},
}
IN_SENTENCES = {"not decided": "undecided", "too small to matter": "equivalent"}
WORDS = {style.word: name for name, style in VERDICTS.items()} | IN_SENTENCES
LESS = r"(?: than (?P<less>[\d.]+(?: %)?))?"
WORD = rf"(?P<word>{'|'.join(sorted(WORDS, key=len, reverse=True))}){LESS}(?![\w,] no)"
END = r"[+−]?\d+\.\d+"
INTERVAL = rf"(?P<low>{END}) to (?P<high>{END})"
# Between an interval and its word: brackets, cells, the relative difference, p-values, counts.
BETWEEN = r"(?P<between>(?:[|):,;\s<%–+−\d.]|of [\d,]+ with values of both)*?)"
AFTER = re.compile(rf"{INTERVAL}{BETWEEN}{WORD}")
BEFORE = re.compile(rf"\| {WORD} (?P<between>)[+−\d.]+ {INTERVAL}")
DECIDED = re.compile(
    rf"{INTERVAL}\)?[ |]+(?P<allowed>[+−]?[\d.]+(?: \([^)]*\))?|better|one of these better)[ |]+"
    r"(?P<word>pass|worse|undecided|better|not better):? (?P<reason>[^|]*)"
)


class Interval(NamedTuple):
    """A printed interval; `half` is half a unit of its last digit."""

    low: float
    high: float
    half: float

    @classmethod
    def of(cls, match: re.Match[str]) -> "Interval":
        low, high = (float(match[end].replace("−", "-")) for end in ("low", "high"))
        return cls(low, high, 0.5 / 10 ** len(match["low"].partition(".")[2]))


def is_on_a_side(match: re.Match[str], sign: str) -> bool:
    """True if both ends have this sign; an end that rounds to 0 keeps its own."""
    return match["low"].startswith(sign) and match["high"].startswith(sign)


def agrees(match: re.Match[str], word: str, margin: tuple[float, float], *, up: bool) -> bool:
    """True if a reader of the interval says the same; the margin lies between two numbers."""
    low, high, half = Interval.of(match)
    is_gain, is_loss = (is_on_a_side(match, sign) for sign in ("+−" if up else "−+"))
    nearest = max(low, -high)  # the end nearest to 0, of a gain or a loss
    within = max(-low, high)
    if word in {"better", "worse"}:
        return (is_gain if word == "better" else is_loss) and nearest + half >= margin[0]
    if word.endswith("below_threshold"):
        is_right = is_gain if word.startswith("better") else is_loss
        return is_right and nearest - half <= margin[1] <= within + half
    if word == "equivalent":
        return within - half <= margin[1]
    assert word == "undecided"
    return not (is_gain or is_loss) and within + half >= margin[0]


def is_of_a_mean(match: re.Match[str]) -> bool:
    """True if the interval has no signs, or a difference without an interval follows it."""
    is_signed = all(re.match(r"[+−]|0\.?0*$", match[end]) for end in ("low", "high"))
    return not is_signed or bool(re.search(r"[+−]\d[\d.]*(?!.? ?%|[\d.])", match["between"]))


def labelled(comparison: Comparison, text: str) -> Iterator[tuple[str, str]]:
    """Yield each line with the label that it or a title above it names."""
    labels = sorted(comparison.labels, key=len, reverse=True)
    names = "|".join(map(re.escape, labels))
    label = comparison.primary[0]
    for line in html.unescape(text.replace("\N{NO-BREAK SPACE}", " ")).splitlines():
        if named := re.match(rf"(?:\W|Pairs on |On |[^|:]*, )*?({names})(?![\w(@])", line):
            label = named[1]
        yield label, line


def margins(comparison: Comparison, label: str) -> tuple[float, float]:
    """Return the smallest and the largest margin on a label, which differ if they are shares."""
    known = [x.min_effect for x in comparison.pairs if x.label == label]
    known += [
        margin
        for each in comparison.segments
        for cell in each.cells
        if cell.label == label and (margin := segment_margin(comparison, label, each, cell.segment))
    ]
    numbers = [each for each in known if each is not None]
    return min(numbers, default=0.0), max(numbers, default=0.0)


def segment_margin(
    comparison: Comparison, label: str, segmentation: Segmentation, segment: str
) -> float | None:
    share = comparison.metric(label).share
    if share is None:
        return None
    means = [
        cell.mean
        for cell in segmentation.cells
        if (cell.label, cell.segment, cell.model) == (label, segment, comparison.baseline)
    ]
    return share * abs(means[0]) if means and means[0] is not None else None


def contradictions(comparison: Comparison, text: str) -> tuple[int, list[str]]:
    """Return the number of judged words, and the lines with one that its interval contradicts."""
    n_judged, wrong = 0, []
    for label, line in labelled(comparison, text):
        up = comparison.metric(label).higher_is_better
        if decided := DECIDED.search(line):
            wrong += [] if gate_agrees(decided, up=up) else [f"{label}: {line}"]
            n_judged += 1
            continue
        for match in [*BEFORE.finditer(line)] or AFTER.finditer(line):
            word = WORDS[match["word"]]
            if word in WITHOUT_INTERVAL or is_of_a_mean(match):
                continue
            n_judged += 1
            less = match["less"] or comparison.metric(label).min_effect
            is_other = less.replace(" ", "") != comparison.metric(label).min_effect
            if is_other or not agrees(match, word, margins(comparison, label), up=up):
                wrong.append(f"{label}: {line}")
    return n_judged, wrong


def gate_agrees(match: re.Match[str], *, up: bool) -> bool:
    """True if the decision on a guardrail or success metric is what its interval says."""
    low, high, half = Interval.of(match)
    if "better" in match["allowed"]:
        is_gain = is_on_a_side(match, "+" if up else "−")
        return (match["word"] == "better") == is_gain or "have none" in match["reason"]
    if "interval" not in match["reason"]:  # users without a value
        return match["word"] != "worse"
    allowed = abs(float(match["allowed"].split()[0].replace("−", "-")))
    loss = (-high, -low) if up else (low, high)
    words = {"pass": loss[1] - half <= allowed, "worse": loss[0] + half >= allowed}
    return words.get(match["word"], loss[0] - half <= allowed <= loss[1] + half)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", COMPARISONS)
def test_no_row_of_a_view_has_a_word_that_its_interval_contradicts(name: str, view: str) -> None:
    comparison = COMPARISONS[name]()

    n_judged, wrong = contradictions(comparison, VIEWS[view](comparison))

    assert wrong == []
    expected = [x for x in baseline_pairs(comparison) if x.verdict not in WITHOUT_INTERVAL]
    assert n_judged >= sum(pair.ci_low is not None for pair in expected)


def baseline_pairs(comparison: Comparison) -> list[Difference]:
    return [pair for pair in comparison.primary_pairs if pair.vs_baseline]


@pytest.mark.parametrize("name", COMPARISONS)
def test_letters_name_the_models_that_an_interval_shows_a_mean_to_be_better_than(name: str) -> None:
    comparison = COMPARISONS[name]()
    rows = [line for line in render_latex(comparison).splitlines() if line.endswith("\\\\")][1:]
    is_many = len(comparison.models) >= 12

    for model, row in zip(comparison.ranked, rows, strict=False):  # references are below
        for label, cell in zip(comparison.primary, row.split(" & ")[1:], strict=False):
            found = re.search(r"\$\^\{(.*?)\}\$", cell)
            shown = [] if is_many else [*(found[1] if found else "")]
            names = [comparison.ranked["abcdefghijkl".index(letter)] for letter in shown]
            if is_many and found:
                names = [comparison.baseline]
            rivals = [comparison.baseline] if is_many else comparison.ranked
            assert names == [x for x in rivals if is_shown_better(comparison, model, x, label)]


def is_shown_better(comparison: Comparison, model: str, other: str, label: str) -> bool:
    pair = comparison.difference(model, other, label)
    if pair is None or pair.verdict in WITHOUT_INTERVAL:
        return False
    upwards = comparison.metric(label).higher_is_better
    return word_of(pair.ci_low, pair.ci_high, pair.min_effect, up=upwards).startswith("better")


@pytest.mark.parametrize("seed", range(40))
def test_the_choice_of_the_best_lowers_its_gain_within_its_interval(seed: int) -> None:
    comparison = random_comparison(seed)
    text = answer_numbers(comparison)
    clause = (
        r"(m\d+) ([+−][\d.]+) \([^)]*?allowing for the choice of the best of (\d+)"
        r"(?: of (\d+) models)?: ([+−]?[\d.]+)\)"
    )
    labels = [label for label in comparison.primary if f"{label}: " in text]
    parts = re.split(rf"(?:{'|'.join(map(re.escape, labels))}): ", text)[1:] if labels else []
    found = [
        (label, match) for label, part in zip(labels, parts, strict=True)
        for match in re.finditer(clause, part.replace("\N{NO-BREAK SPACE}", " "))
    ]  # fmt: skip

    assert text.count("choice of the best") == len(found)
    for label, match in found:
        sign = 1 if comparison.metric(label).higher_is_better else -1
        pair = defined(comparison.difference(match[1], comparison.baseline, label))
        difference, corrected = (float(match[n].replace("−", "-")) for n in (2, 5))
        pairs = comparison.against_baseline(label)
        known = [x for x in pairs if x.standard_error]  # without: all users differ by the same
        assert sign * corrected < sign * difference
        assert defined(pair.ci_low) - 5e-4 <= corrected <= defined(pair.ci_high) + 5e-4
        assert sign * defined(pair.difference) == max(sign * defined(x.difference) for x in known)
        assert (int(match[3]), int(match[4] or match[3])) == (len(known), len(pairs))
    if comparison.tried:
        assert not found  # the models that were left out would be needed


@pytest.mark.parametrize("seed", range(40))
def test_a_report_names_the_tried_models_or_asks_for_them_if_there_are_many(seed: int) -> None:
    comparison = random_comparison(seed)
    note = method_note(comparison)
    if "could be tested" in note or "nothing to compare" in note:
        return

    asks = "set `comparison.tried` to their number" in note
    assert asks == (comparison.tried is None and len(comparison.compared_models) > 5)
    assert ("allow for 40 models that were tried" in note) == (comparison.tried == 40)
