"""Sections of the report: segments, gains, trade-offs, warnings, leaders, gates."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import concord
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import BestShare, DataWarning, TieRange
from concord.metrics_core.results.stored import from_content
from concord.reports.charts.gains import gain_chart
from concord.reports.charts.tradeoffs import entries as tradeoffs
from concord.reports.charts.tradeoffs import sentence, tradeoff_chart
from concord.reports.markdown import render_markdown
from concord.reports.text.groups import group_phrase
from concord.reports.text.quality import Finding, findings, passed_checks
from concord.reports.text.segments import entries, grids
from concord.reports.text.summary import cautions, costs, headline, thresholds
from concord.reports.text.tables import best_share_text, best_shares, listed_pairs
from tests.reports.samples import sample
from tests.reports.samples.rendered import html, markdown

LABEL = "nDCG@10"


@pytest.fixture(scope="module")
def five() -> Comparison:
    return from_content(sample.five_models())


def _section(page: str, name: str) -> str:
    match = re.search(rf'<section id="{name}"[^>]*>.*?</section>', page, re.DOTALL)
    assert match is not None
    return match[0]


def test_many_models_show_the_best_and_those_that_are_reversed() -> None:
    comparison = from_content(sample.many_models())
    entry, last = entries(comparison)[0], comparison.ranked[-1]
    cells = (
        replace(cell, is_reversed=cell.model == last and cell.segment == "over 5")
        for cell in entry.cells
    )

    grid = grids(comparison, replace(entry, cells=tuple(cells)))[0]

    visible = [line.model for line in grid.lines]
    assert visible == [*comparison.compared_models[:3], last]
    assert len(visible) + grid.n_more == 13
    assert "reversed" in grid.lines[-1].cells[-1].word


def test_gaps_are_between_groups_of_enough_users() -> None:
    content = sample.two_models()
    content["segments"][1]["gaps"] = []
    section = _section(html(content), "segments")

    assert section.count("not shown: fewer than two have 30 users") == sum(
        not entry["gaps"] for entry in content["segments"]
    )


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.0, "< 0.1 %"), (1.0, "> 99.9 %"), (0.664, "66.4 %"), (None, "")],
)
def test_resamples_give_no_certainty(share: float | None, words: str) -> None:
    assert best_share_text(share).replace("\u00a0", " ") == words


@pytest.mark.parametrize(
    ("lead", "share", "is_shown"),
    [(0.1, 0.97, True), (0.1, 0.9, False), (0.0, 0.97, False), (0.0, 0.6, True)],
)
def test_shares_of_resamples_are_shown_where_they_agree_with_the_intervals(
    lead: float, share: float, *, is_shown: bool
) -> None:
    base = {user: user % 7 / 10 for user in range(60)}
    better = {user: x + lead + (user % 5 - 2) / 100 for user, x in base.items()}
    values = {"new": {"loss": base}, "old": {"loss": better}}  # the lowest loss is the best
    comparison = concord.compare_values(values, baseline="old", higher_is_better={"loss": False})
    shares = {"new": share, "old": 1 - share}
    rows = tuple(BestShare("loss", model, x, 1_000, 60) for model, x in shares.items())
    comparison = replace(comparison, best=rows)

    text = f"{100 * share:.1f}\u00a0%"
    assert best_shares(comparison, "loss") == (shares if is_shown else {})
    assert comparison.to_html().count(f">{text}<") == is_shown


_TIED = {"rows": 12, "users": 5, "policy": "item_asc"}
_ROWS = "12 rows of 5 users tie with another of the same list; `ties: item_asc` ordered them"
_DIGITS = "write scores with more digits; `ties: average` averages over all orders"


def _tied(
    *models: str,
    high: float = 0.5,
    warnings: tuple[DataWarning, ...] = (),
    policy: str = "item_asc",
) -> Comparison:
    """Return a comparison in which scores of these models are equal."""
    comparison = from_content(sample.five_models())
    note = _ROWS.replace("item_asc", policy)
    tied = {
        name: {**comparison.quality[name], "ties": {**_TIED, "policy": policy}, "notes": [note]}
        for name in models
    }
    ranges = (TieRange("als", "nDCG@10", low=0.475, high=high, average=0.48, n_users=4),)
    return replace(
        comparison,
        quality={**comparison.quality, **tied},
        ties=ranges if policy == "item_asc" else (),
        warnings=(*comparison.warnings, *warnings),
    )


_AT_CUTOFF = DataWarning(
    "ties_at_cutoff",
    "notice",
    ("als",),
    {"k": 10, "ties": "item_asc", "share": 0.1, "unit": "user", "model": "als"},
)
_RANGE = DataWarning(
    "tie_range", "serious", ("als",), {"model": "als", "ranges": [["nDCG@10", 0.475, 0.5]]}
)


def test_ties_are_one_finding_that_says_how_far_a_mean_can_move() -> None:
    (finding,) = [x for x in findings(_tied("als", warnings=(_AT_CUTOFF,))) if "tie" in x.sentence]

    assert finding == Finding(
        "als",
        f"{_ROWS}. In other orders a primary mean moves: nDCG@10 of als between 0.475 and 0.500.",
        _DIGITS,
    )


def test_ties_of_several_models_are_one_finding() -> None:
    (finding,) = [x for x in findings(_tied("als", "ease", high=0.4751)) if "tie" in x.sentence]

    counts = "12 rows of 5 users (ease), 12 rows of 5 users (als) tie"
    assert finding.names == "ease, als"
    assert finding.sentence.startswith(counts)
    assert finding.sentence.endswith(
        ". No other order moves a primary mean by a digit that is shown."
    )
    assert finding.fix == ""


def test_a_notice_of_ties_stays_if_no_range_is_known() -> None:
    rows = findings(_tied("als", policy="input", warnings=(_AT_CUTOFF,)))

    assert [x.fix for x in rows if "across rank 10" in x.sentence] == [_DIGITS]
    assert [x.sentence for x in rows if "`ties: input`" in x.sentence] == [
        f"{_ROWS.replace('item_asc', 'input')}."
    ]


def test_a_range_that_is_a_warning_is_not_said_twice() -> None:
    rows = findings(_tied("als", warnings=(_RANGE,)))

    assert sum("between 0.475 and 0.500" in x.sentence for x in rows) == 1
    assert [x.sentence for x in rows if "12 rows" in x.sentence] == [f"{_ROWS}."]


def test_a_model_that_never_differs_has_no_percentiles() -> None:
    content = sample.five_models()
    content["distributions"][0]["quantiles"] = []
    model = content["distributions"][0]["a"]
    chart = gain_chart(from_content(content), LABEL, narrow=False)

    assert f"{model}: percentiles" not in chart
    assert chart.count(": percentiles 5 %") == len(sample.FIVE) - 2
    assert re.search(rf">{model}: [\d.]+\s% worse, [\d.]+\s% unchanged, [\d.]+\s% better<", chart)


def test_dominated_models_are_hollow_and_the_others_are_filled() -> None:
    content = sample.five_models()
    dominated_by = {"popularity": ["ease", "als"], "item-knn": ["ease"], "random-walk": ["als"]}
    for entry in content["tradeoffs"]:
        for point in entry["points"]:
            point["dominated_by"] = dominated_by.get(point["model"], [])
    comparison = from_content(content)

    for entry in tradeoffs(comparison):
        chart = str(tradeoff_chart(comparison, entry))
        assert chart.count('fill="#fcfbf8"') == len(dominated_by)
        assert all(f"{model}: {entry.x}" in chart for model in comparison.models)
        assert sentence(comparison, entry) == (
            "Dominated by ease: item-knn, popularity. Dominated by als: random-walk. "
            "Not shown to be dominated: ease, als."
        )


def test_the_better_corner_is_on_the_left_where_lower_is_better(five: Comparison) -> None:
    corners = {
        entry.x: re.findall(r">([^<]*better[^<]*)</text>", tradeoff_chart(five, entry))
        for entry in tradeoffs(five)
    }
    assert corners == {"Coverage@10": ["better ↗"], "ARP@10": ["↖ better"]}


def test_a_threshold_that_is_a_share_of_the_baseline_says_so() -> None:
    content = sample.five_models()
    for metric in content["metrics"]:
        metric["min_effect"] = "2%" if metric["label"] == LABEL else "0.005"

    result = thresholds(from_content(content))

    (effect,) = (effect for effect, labels in result.items() if LABEL in labels)
    assert effect.endswith(f" (2\N{NO-BREAK SPACE}% of {content['baseline']})")


@pytest.mark.parametrize(
    ("checked", "words"),
    [
        (
            ["sampled_candidates", "user_sets_differ"],
            "No sign of sampled candidates, of models with different users.",
        ),
        (["ties_at_cutoff"], "No sign of tied scores across the cutoff."),
        ([], ""),
    ],
)
def test_only_checks_that_were_made_are_named(checked: list[str], words: str) -> None:
    assert (
        passed_checks(
            from_content(sample.two_models() | {"warnings": [], "checked": checked})
        ).strip()
        == words
    )


def test_a_finding_joins_its_models_and_leaves_out_what_the_page_begins_with() -> None:
    content = sample.five_models()
    for model in ("als", "ease"):
        content["quality"][model]["users"] |= {"without_list": 9, "evaluated": 240}
    rows = findings(from_content(content))

    assert (
        Finding(
            "ease, als, item-knn", "9 of 240 evaluated users have no list (3.8\N{NO-BREAK SPACE}%)."
        )
        in rows
    )
    assert [row for row in rows if "Not all models have lists" in row.sentence] == []


def test_an_acknowledged_warning_is_the_last_finding_and_no_caution() -> None:
    content = sample.five_models()
    serious = {each["code"] for each in content["warnings"] if each["severity"] == "serious"}
    for each in content["warnings"]:
        each["acknowledgement"] = {"reason": "known", "up_to": "5%", "is_exceeded": False}
    comparison = from_content(content)
    *_, last = findings(comparison)

    assert "user_sets_differ" in serious
    assert "Not all models have lists" in " ".join(row.sentence for row in findings(comparison))
    assert last.acknowledged == "known (up to 5\N{NO-BREAK SPACE}%)"
    assert not any(each.is_warning for part in cautions(comparison) for each in part)
    assert html(content).count("Acknowledged: known") == len(content["warnings"])
    assert markdown(content).count("Acknowledged: known") == len(content["warnings"])


def test_one_model_has_its_means_by_group() -> None:
    content = sample.one_model()
    section = _section(html(content), "segments")

    assert "minus that of" not in section
    assert '<caption class="unseen">nDCG@10 of popularity by activity</caption>' in section
    assert "\n| nDCG@10 | popularity | Users |\n" in markdown(content)


@pytest.mark.parametrize("make", [sample.one_model, sample.two_models])
def test_a_group_without_users_is_left_out(make: Callable[[], sample.Content]) -> None:
    content = make()
    activity = content["segments"][0]
    name = activity["segments"][0]["name"]
    activity["segments"][0]["n_users"] = 0
    for cell in activity["cells"]:
        if cell["segment"] == name:
            cell |= {"mean": None, "n_users": 0, "difference": None}

    assert "new users" in html(make())
    assert "new users" not in html(content)
    assert "new users" not in markdown(content)


def test_losses_in_all_groups_with_users_are_those_in_every_group() -> None:
    (activity, *_) = from_content(sample.two_models()).segments
    first, *others = activity.segments
    activity = replace(activity, segments=(replace(first, n_users=0), *others))

    assert group_phrase(activity, [group.name for group in others]) == "every group of activity"


def test_serious_warnings_are_never_folded() -> None:
    content = sample.five_models()
    for each in content["warnings"]:
        each["severity"] = "serious"
    comparison = from_content(content)
    visible, others = cautions(comparison)

    assert len(comparison.prominent) > 2
    assert sum(each.is_warning for each in visible) == len(comparison.prominent)
    assert not any(each.is_warning for each in others)


def test_many_pairs_are_listed_to_the_baseline_and_between_neighbours() -> None:
    models = {
        f"m{n}": {"A": {user: n + user % (n + 2) / 9 for user in range(40)}} for n in range(6)
    }
    six = concord.compare_values(models, baseline="m0", resamples=99)

    assert len(six.pairs_of("A")) == 6 * 5 / 2
    assert len(listed_pairs(six, "A")) == 5 + 4  # the baseline is the last of all
    assert len(listed_pairs(from_content(sample.five_models()), LABEL)) == 5 * 4 / 2


def test_of_many_models_all_compared_pairs_are_listed() -> None:
    comparison = from_content(sample.many_models())
    (leader,) = comparison.leaders(LABEL)
    rows = listed_pairs(comparison, LABEL)

    assert rows == comparison.pairs_of(LABEL)
    assert len(rows) == 13 + 12
    assert all({row.a, row.b} & {leader, sample.BASELINE} for row in rows)


def test_without_a_test_no_correction_is_claimed() -> None:
    content = sample.two_models()
    for row in content["pairs"]:
        row.update(p=None, p_adjusted=None, verdict="no_interval", ci_low=None, ci_high=None)

    for text in (html(content), markdown(content)):
        assert "No difference on a primary metric could be tested" in text
        assert "hold together" not in text


def test_waived_pass_is_marked() -> None:
    content = sample.two_models() | {"gate": sample.gated()["gate"]}
    decision = content["gate"]
    for model in decision["models"]:
        model["outcome"] = "pass"
        model["guardrails"][0]["outcome"] = "undecided"
    decision.update(outcome="pass", undecided_passes=True)

    assert headline(from_content(content)).startswith("Gate passed, though undecided. ")


def test_a_gate_that_fails_comes_before_the_answer() -> None:
    assert headline(from_content(sample.gated())) == (
        "Gate failed: random-walk on nDCG@10, R@20 and 3 more. ease and als are too close to call; "
        "both beat popularity."
    )


def _worse(content: sample.Content, label: str, **other: Any) -> None:
    for row in content["pairs"]:
        if (row["a"], row["b"], row["label"]) == ("ease", sample.BASELINE, label):
            row.update(verdict="worse", **other)


def test_segments_of_a_metric_that_is_not_evaluated_are_rendered() -> None:
    """Segments by relevant items show recall at the main cutoff, whatever is evaluated."""
    users = [f"u{n}" for n in range(60)]
    truth = {user: ["head", f"tail{n}"] for n, user in enumerate(users)}
    models = {
        "popular": {user: ["head", "other"] for user in users},
        "broad": {user: ["other", f"tail{n}"] for n, user in enumerate(users)},
    }
    comparison = concord.compare(
        models,
        truth,
        metrics=["nDCG@2"],
        baseline="broad",
        conventions="standard",
        train={user: ["head"] for user in users},
        segments={"items": {"by": "truth_item", "shares": [0.5, 0.8]}},
    )
    assert {cell.label for entry in comparison.segments for cell in entry.cells} == {"R@2"}

    page, markdown = comparison.to_html(), render_markdown(comparison)

    assert "R@2" in page
    assert markdown.startswith("#")


def test_a_leader_that_loses_elsewhere_says_so_at_the_top() -> None:
    content = sample.five_models()
    _worse(content, "P@5", difference=-0.02, relative=-0.1, ci_low=-0.03, ci_high=-0.01)
    _worse(content, "P@10", difference=-0.01, relative=-0.05, ci_low=-0.02, ci_high=-0.005)
    _worse(content, "RR@10", difference=-0.1, relative=-0.3, ci_low=-0.2, ci_high=-0.05)
    cell = next(c for c in content["segments"][0]["cells"] if c["model"] == "ease" and c["verdict"])
    cell.update(verdict="worse", difference=-0.05, diff_low=-0.06, diff_high=-0.04)

    ((_, cost),) = costs(from_content(content))

    assert cost.replace("\xa0", " ") == (
        "worse than popularity on RR@10 (−0.100, −30.0 %), P@10 (−0.010, −5.0 %, also @5); "
        f"and on {cell['label']} for new users (−0.050)."
    )


def test_a_loss_is_described_in_the_direction_of_its_metric() -> None:
    content = sample.five_models()
    (metric,) = [each for each in content["metrics"] if each["label"] == "P@10"]
    metric["higher_is_better"] = False
    _worse(content, "P@10", difference=0.01, relative=0.05, ci_low=0.005, ci_high=0.02)

    ((_, cost),) = costs(from_content(content))

    assert "lower is better" in cost


def test_a_smaller_share_of_judged_items_is_no_cost() -> None:
    content = sample.five_models()
    (metric,) = [each for each in content["metrics"] if each["label"] == "P@10"]
    metric["name"] = "Judged"
    _worse(content, "P@10", difference=-0.4, relative=-0.6, ci_low=-0.5, ci_high=-0.3)

    assert costs(from_content(content)) == []


@pytest.mark.parametrize("content", [sample.one_model(), sample.without_numbers()])
def test_without_a_leader_there_is_no_cost(content: sample.Content) -> None:
    assert costs(from_content(content)) == []
