"""Pages that the how-to guides show: cards of a notebook, parts of reports, and terminals."""

import html
import io
import re
import runpy
import tempfile
import textwrap
from collections.abc import Mapping
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import concord as cc
from concord.datasets import load_demo
from concord.testing import assert_passes_gate
from docs.gallery_pages import METRICS, Picture, as_card, as_comment
from tests.metrics_core.analyses.ppi.ppi_data import drawn, estimated
from tests.project import ROOT, attempt
from tests.reports.samples.sample_comment import comment
from tests.reports.samples.sample_replicates import replicate_sample

DEMO = ROOT / "data" / "demo"
SEARCH = ROOT / "data" / "demo-search"
RUNS = {"bm25": "bm25.run.json", "dense": "dense.run.gz", "reranked": "reranked.parquet"}
QRELS = "qrels/test.tsv"
COLUMNS = 100  # of a terminal
_TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ width: max-content; margin: 0; background: #16191d }}
pre {{ margin: 0; padding: 14px 18px; color: #e6e6e6; background: #16191d;
font: 14px/1.45 ui-monospace, "DejaVu Sans Mono", monospace }} b {{ color: #8ab4f8 }}
</style><body><pre>{}</pre>"""


def _terminal(command: str, output: str) -> str:
    """Return a page that looks like a terminal after a command."""
    lines = (
        textwrap.wrap(line, COLUMNS, drop_whitespace=False) or [""]
        for line in output.rstrip().splitlines()
    )
    text = "\n".join(part for parts in lines for part in parts)
    return _TERMINAL.format(f"<b>$ {html.escape(command)}</b>\n{html.escape(text)}")


def _after(command: str, folder: Path) -> str:
    """Return a terminal after a command that was run in a folder."""
    return _terminal(command, attempt(folder, *command.split()).stdout)


def _names(guide: str, examples: slice = slice(None)) -> dict[str, Any]:
    """Return what the Python examples of a guide define."""
    text = (ROOT / "docs" / "how-to" / f"{guide}.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"concord": cc, "cc": cc}
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(io.StringIO()):
        Path(folder, "data").symlink_to(ROOT / "data")  # what examples write goes with the folder
        file = Path(folder, "example.py")
        for example in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)[examples]:
            file.write_text(example, encoding="utf-8")
            names |= runpy.run_path(str(file), names)
    return names


def _card(result: Any) -> str:
    return as_card(result._repr_html_())


def _comparison(**options: Any) -> cc.results.Comparison:
    demo = load_demo()
    return cc.compare(
        {name: demo.models[name] for name in ("ease", "als", "popularity")},
        demo.truth,
        metrics=METRICS,
        baseline="popularity",
        min_effect="2%",
        items=demo.items,
        users=demo.users,
        title="Demo shop",
        **options,
    )


def _gated() -> cc.results.Comparison:
    gate = {"guardrails": {"nDCG@10": "2%"}, "segments": {"country": {"nDCG@10": "5%"}}}
    segments = {"country": {"by": "user", "column": "country"}}
    return _comparison(gate=gate, segments=segments)


def _gate() -> str:
    return _gated().to_html()


def _gate_rules() -> str:
    """Return the report with the rows of the gate unfolded."""
    return _gate().replace("<details>", "<details open>")


def _gate_pytest() -> str:
    try:
        assert_passes_gate(_gated())
    except AssertionError as error:
        lines = [">       assert_passes_gate(comparison)"]
        lines += [f"E       {line}" for line in f"AssertionError: {error}".splitlines()]
        return _terminal("pytest tests/test_release_gate.py", "\n".join(lines))
    raise AssertionError  # the models of the demo do not pass


def _audit() -> str:
    demo = load_demo()
    models = {name: demo.models[name] for name in ("ease", "als")}
    time = {"truth": {"time": "time"}, "train": {"time": "time"}}
    return _card(cc.audit(models, demo.truth, train=demo.train, metrics=METRICS, columns=time))


def _evaluation() -> str:
    demo = load_demo()
    return _card(cc.evaluate(demo.models["ease"], demo.truth, metrics=["nDCG@10", "R@20"]))


def _fairness() -> str:
    """Return a report on groups of users, with the gap between the best and the worst."""
    tiers = {"channel": {"by": "user", "column": "channel", "compare_gaps": True}}
    return _comparison(segments=tiers).to_html()


def _own_metrics() -> str:
    """Return the custom metric of its guide, with prices that are made up."""
    demo = load_demo()
    _names("own-metrics", slice(1))
    priced = demo.items.with_row_index("unit_price").with_columns(pl.col("unit_price") % 40 + 1)
    return _card(
        cc.evaluate(
            demo.models["ease"],
            demo.truth,
            metrics=["nDCG@10", "revenue@10"],
            items=priced,
            columns={"items": {"price": "unit_price"}},
        )
    )


def _judge_labels() -> str:
    """Return estimates from grades of people for 50 queries, and of a judge for 400."""
    models, truth = drawn(np.random.default_rng(1), queries=400, sampled=50, noise=0.1, lead=0.4)
    return as_card(estimated(models, truth)._repr_html_(), width=1100)


def _search() -> str:
    with chdir(SEARCH):  # a report names the path of the ground truth
        return cc.compare(
            RUNS, QRELS, metrics=METRICS, baseline="bm25", min_effect="2%", title="Help centre"
        ).to_html()


def _judge() -> str:
    with chdir(SEARCH):
        return _card(cc.search.judge(RUNS, QRELS, metrics=METRICS))


def _subtopics() -> str:
    qrels = _names("subtopics")["qrels"]
    return _card(
        cc.explain(
            {"q1": ["cat", "zoo", "car"]},
            qrels,
            user="q1",
            metric="alpha_nDCG@3",
            columns={"truth": {"user": "query", "item": "doc", "subtopic": "aspect"}},
        )
    )


def _split() -> str:
    demo = load_demo()
    return _card(cc.data.split(demo.train, "global-time", share=0.1, gap="7d"))


def _reconcile() -> str:
    demo = load_demo()
    value = {"nDCG@10": "0.2479", "R@10": "0.1541"}
    result = cc.reconcile(demo.models["ease"], demo.truth, value=value)
    return as_card(result._repr_html_(), width=960)


def _replay() -> str:
    with tempfile.TemporaryDirectory() as folder:
        _comparison().save(Path(folder, "decision.concord"))
        return _after("concord replay decision.concord", Path(folder))


def _retrievers() -> str:
    """Return times of three retrievers, which are drawn."""
    rng = np.random.default_rng(1)
    seconds = {"index": 0.031, "dense": 0.024, "words": 0.012}
    times = {
        name: {"seconds": {f"q{n}": mean * rng.lognormal(0, 0.3) for n in range(60)}}
        for name, mean in seconds.items()
    }
    words = {"user": "query", "item": "document"}
    return _card(
        cc.compare_values(times, baseline="words", higher_is_better={"seconds": False}, words=words)
    )


def _warnings() -> str:
    """Return a report with serious warnings."""
    demo = load_demo()
    return cc.compare(
        {"als": demo.models["als"].head(2_000), "popularity": demo.models["popularity"]},
        demo.truth,
        metrics=METRICS,
        baseline="popularity",
        train=demo.truth,
    ).to_html()


CARD = [".concord > p", ".concord table", ".concord .wide"]
FILES = "concord compare ease.jsonl.gz als.run.gz --truth truth.parquet --metrics nDCG@10"
PICTURES: Mapping[str, Picture] = {
    "ab-tests.png": (lambda: _card(_names("ab-tests")["comparison"]), CARD, 1),
    "audit.png": (_audit, ["body > p", "body > table"], 1),
    "checks.png": (lambda: _names("checks")["comparison"].to_html(), ["#checks"], 1),
    "compare-files.png": (lambda: _after(FILES, DEMO), ["pre"], 1),
    "evaluation.png": (_evaluation, ["body"], 1.5),
    "diff.png": (lambda: as_comment(comment("changes")), ["h2", "table", "ul"], 1),
    "exposure-bias.png": (
        lambda: _names("exposure-bias", slice(1, 2))["comparisons"][0.5].to_html(),
        ["#answer figure"],
        1,
    ),
    "fairness.png": (_fairness, ["#segments"], 1),
    "gate.png": (_gate, [".gate"], 1),
    "gate-rules.png": (_gate_rules, [".gate table"], 1),
    "gate-pytest.png": (_gate_pytest, ["pre"], 1),
    "judge.png": (_judge, ["body"], 1),
    "judge-labels.png": (_judge_labels, ["body"], 1),
    "own-metrics.png": (_own_metrics, ["body"], 1.5),
    "plan.png": (
        lambda: as_card(_comparison().plan(effect="5%")._repr_html_(), 980),
        ["body"],
        1.2,
    ),
    "reconcile.png": (_reconcile, ["body"], 1),
    "replay.png": (_replay, ["pre"], 1),
    "replicates.png": (lambda: replicate_sample().to_html(), ["#replicates .wide"], 1),
    "retrievers.png": (_retrievers, ["body"], 1),
    "sampled.png": (
        lambda: _names("sampled")["comparison"].to_html(),
        ["#answer h1", ".cautions"],
        1,
    ),
    "search.png": (_search, ["#answer .eyebrow", "#answer figure"], 1),
    "search-files.png": (_search, ["#data"], 1),
    "sessions.png": (lambda: _card(_names("sessions")["means"]["requests"]), ["body"], 1.5),
    "split.png": (_split, ["body"], 1),
    "subtopics.png": (_subtopics, ["body"], 1),
    "values.png": (lambda: _card(_names("values", slice(2, 3))["comparison"]), ["body"], 1),
    "warnings.png": (_warnings, ["#answer h1", ".cautions"], 1),
    "leaderboard.png": (lambda: _after("concord leaderboard", ROOT), ["pre"], 1),
}
