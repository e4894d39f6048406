"""Documentation: every link has a target, every page is linked, examples run."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import concord
from concord.metrics_core.conventions.data_conventions import CORRECTED_METRICS
from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.metrics.catalogue import CATALOGUE
from concord.metrics_core.metrics.label import parse
from docs.cheat_sheet import cheat_sheet, read_labels
from docs.conf import CONTENTS, SECTIONS, contents
from docs.robustness_rows import BAD_INPUTS, FAULTS, collected
from tests.metrics_core.analyses.study.study_data import comparison_of
from tests.parity import measure
from tests.project import ROOT, run

README = ROOT / "README.md"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(p for d in ("docs", "data") for p in (ROOT / d).rglob("*.md")),
        *(ROOT / "benchmarks").glob("*.md"),  # its peers' environments have pages, too
    ]
)
DOCS = [page for page in PAGES if page.is_relative_to(ROOT / "docs")]
DECISIONS = [p for p in DOCS if p.parent.name == "decisions" and p.name != "index.md"]
WITHOUT_PARTS = {"Packages and their reasons"}  # a table
MOST_WORDS = 200  # of a decision
MOST_README_WORDS = 600
CODE_LINES = 6  # of its example
RESULTS = {  # guides to search, and what their last example computes
    "search": "comparison",
    "search-files": "comparison",
    "subtopics": "result",
    "judge": "result",
}
_FENCED = re.compile(r"^(`{3,}).*?^\1", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_ELSEWHERE = re.compile(r"^(https?|mailto):")


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _prose(page: Path) -> str:
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def _links(page: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield each relative link of a page as written, its file, and its heading or ""."""
    for link in _LINK.findall(_INLINE.sub("", _prose(page))):
        if not _ELSEWHERE.match(link):
            path, _, heading = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, heading


def _headings(page: Path) -> set[str]:
    """Return the anchors of a page as GitHub makes them."""
    results: set[str] = set()
    observed: Counter[str] = Counter()
    for title in re.findall(r"^#+ (.+)$", _prose(page), re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        results.add(f"{anchor}-{observed[anchor]}" if observed[anchor] else anchor)
        observed[anchor] += 1
    return results


def _examples(page: Path) -> list[str]:
    return _PYTHON.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    lost = [
        link
        for link, target, heading in _links(page)
        if not target.exists() or (heading and heading not in _headings(target))
    ]

    assert lost == []


def test_every_file_that_contributing_names_exists() -> None:
    """In a row of a table, a name without a folder is beside the file before it."""
    missing = []
    for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines():
        folder = None
        for name in re.findall(r"`([\w./-]+\.(?:py|j2|csv))`", line):
            folder = (ROOT / name).parent if "/" in name else folder
            if folder and not (folder / Path(name).name).is_file() and "my_library" not in name:
                missing.append(name)

    assert missing == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set[Path](), [README]
    while waiting:
        reached.add(page := waiting.pop())
        targets = {
            target for _, target, _ in _links(page) if target.suffix == ".md" and target.exists()
        }
        waiting += targets - reached

    assert [_name(page) for page in DOCS if page not in reached] == []


@pytest.mark.parametrize("page", DECISIONS, ids=_name)
def test_a_decision_is_short_and_has_three_parts(page: Path) -> None:
    _, *records = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)

    for record in records:
        title, _, text = record.partition("\n")
        if title not in WITHOUT_PARTS:
            parts = re.findall(r"^\*\*(\w+)\.\*\* ", text, re.MULTILINE)
            assert (title, parts) == (title, ["Context", "Decision", "Consequences"])
            assert len(text.split()) <= MOST_WORDS, title


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    waiting = [ROOT / "docs" / section for section in SECTIONS]
    reached = {ROOT / "docs" / "index.md", *waiting}
    while waiting:
        page = waiting.pop()
        for target in contents(page.read_text(encoding="utf-8")):
            reached.add(path := (page.parent / target).resolve())
            waiting += [path] * bool(CONTENTS.match(_name(path.with_suffix(""))))

    assert [_name(page) for page in DOCS if page not in reached] == []


def test_every_public_name_is_on_a_page_of_the_api() -> None:
    folder = ROOT / "docs" / "reference" / "api"
    text = "".join(page.read_text(encoding="utf-8") for page in folder.glob("*.md"))

    listed = re.findall(r"^   (\w+)$", text, re.MULTILINE)
    modules = (concord.datasets, concord.data, concord.metrics, concord.results, concord.search)
    public = [*concord.__all__, *(name for module in modules for name in module.__all__)]
    assert sorted([*listed, "datasets"]) == sorted(public)


def test_every_dependency_has_a_reason() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    groups = [*project["optional-dependencies"].values(), *settings["dependency-groups"].values()]
    names = {re.split(r"[\[<>=]", name)[0] for name in sum(groups, project["dependencies"])}
    table = (ROOT / "docs/decisions/dependencies.md").read_text(encoding="utf-8")

    reasons = re.findall(r"^\| (.+?) \|", table, re.MULTILINE)
    assert names - {"concord-eval"} <= {name for row in reasons for name in re.split(r"[, ]+", row)}


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").split()) <= MOST_README_WORDS


def test_the_readme_compares_models_in_six_lines() -> None:
    (example,) = _examples(README)

    lines = [line for line in example.splitlines() if line.strip()]
    assert len(lines) == CODE_LINES
    assert lines[-1] == "comparison"


def _names_after(page: Path) -> dict[str, Any]:
    """Run the examples of a page; return what they define."""
    names: dict[str, Any] = {}
    for example in _examples(page):
        exec(example, names)
    return names


def test_the_examples_of_the_library_page_run() -> None:
    assert "result" in _names_after(ROOT / "docs" / "how-to" / "library.md")


def test_the_examples_of_the_notebook_page_run_and_show_what_it_quotes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "get-started" / "notebook.md"
    names: dict[str, Any] = {}
    examples = _examples(page)
    for example in examples:
        exec(example, names)
    (reconcile,) = (each for each in examples if each.startswith("cc.reconcile"))

    text = str(names["comparison"]).replace("\N{NO-BREAK SPACE}", " ")
    assert text in page.read_text(encoding="utf-8")
    assert "rectools" in eval(reconcile, names).matches[0].presets


def test_the_examples_of_the_page_on_values_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the example writes a report
    names: dict[str, Any] = {}
    for example in [*_examples(ROOT / "docs" / "how-to" / "values.md")][:2]:
        exec(example, names)  # the others read files, in test_value_imports.py
    assert "values" in names


def test_the_example_of_a_b_tests_prints_what_its_page_quotes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = ROOT / "docs" / "how-to" / "ab-tests.md"
    _names_after(page)

    assert capsys.readouterr().out in page.read_text(encoding="utf-8")


def test_the_example_of_checks_prints_what_its_page_quotes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = ROOT / "docs" / "how-to" / "checks.md"
    _names_after(page)

    printed = capsys.readouterr().out.replace("\N{NO-BREAK SPACE}", " ")
    assert printed in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RESULTS)
def test_the_examples_of_the_guides_to_search_run(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)

    assert _names_after(ROOT / "docs" / "how-to" / f"{name}.md")[RESULTS[name]].to_dict()


@pytest.mark.parametrize("name", ["faq.md", "concepts/which-metric.md"])
def test_examples_print_what_their_comments_say(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "docs" / name
    comments = [
        number
        for example in _examples(page)
        for comment in re.findall(r"#(.*)", example)
        for number in re.findall(r"[\d.]+", comment)
    ]
    _names_after(page)

    assert capsys.readouterr().out.split() == comments


def test_the_examples_of_the_page_on_retrievers_run() -> None:
    names = _names_after(ROOT / "docs" / "how-to" / "retrievers.md")

    assert {*names["times"]} == {"words", "dense", "index"}
    assert names["run"](names["Index"]().retrieve, lambda d: d.node.ref_doc_id)[0] == {
        "q1": ["d1", "d3", "d2"],
        "q2": ["d2", "d1", "d3"],
    }
    with pytest.raises(TypeError, match="no ranking"):
        names["run"](lambda _: {"d1"}, str)


def test_the_example_of_tests_of_ranks_over_data_sets_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    means = {"popularity": 0.1, "als": 0.2, "ease": 0.3}
    study = concord.study({f"d{seed}": comparison_of(means, seed) for seed in range(3)})
    *_, example = _examples(ROOT / "docs" / "how-to" / "study.md")
    exec(example, {"study": study})

    signed_ranks, friedman = capsys.readouterr().out.splitlines()
    assert "pvalue=np.float64(0.25)" in signed_ranks  # 2 / 2^3
    assert friedman.startswith("FriedmanchisquareResult(statistic=np.float64(6.0)")


def test_lists_of_metrics_are_those_of_the_catalogue() -> None:
    concepts = (ROOT / "docs/concepts/metrics-and-conventions.md").read_text(encoding="utf-8")
    families = dict.fromkeys(metric.family for metric in CATALOGUE)
    names = [" ".join(m.name for m in CATALOGUE if m.family == family) for family in families]
    sampled = (ROOT / "docs/how-to/sampled.md").read_text(encoding="utf-8")

    assert re.findall(r"^\| (?:accuracy|agreement|beyond).* \| (.*) \|$", concepts, re.M) == names
    assert f"- **{', '.join(CORRECTED_METRICS)}** have" in sampled


@pytest.mark.parametrize(
    ("page", "pattern"),
    [
        ("why.md", r"that Concord does not have\*\*, such as (.*?)\. "),
        ("migrate/ir-measures.md", r"\| measures \| also (.*?) and others \|"),
    ],
)
def test_a_metric_that_a_page_says_is_missing_is_refused(page: str, pattern: str) -> None:
    (names,) = re.findall(pattern, (ROOT / "docs" / page).read_text(encoding="utf-8"))
    for name in re.split(", | or ", names):
        with pytest.raises(concord.InputError, match=f"{name!r} is unknown"):
            concord.evaluate({"u": ["a"]}, {"u": ["a"]}, metrics=[name])


def test_the_cheat_sheet_has_every_library_that_is_compared() -> None:
    headings = re.findall(r"^## (\S+ \S+)\n", "\n".join(cheat_sheet()), re.MULTILINE)

    packages = {p.package for p in PRESETS.values() if p.package}
    assert sorted(headings) == sorted(packages)
    n_libraries = len({package.partition(" ")[0] for package in packages})
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"**{n_libraries} libraries to 1e-9**" in readme


def test_names_of_libraries_are_those_of_the_parity_scripts_and_their_presets() -> None:
    scripts = {
        preset: (measure.SCRIPTS / f"with_{library}.py").read_text(encoding="utf-8")
        for library in measure.LIBRARIES
        for preset in measure.presets(library)
    }
    for preset, theirs, ours in read_labels():
        name = re.sub(r"(_at)?[@_]\d+$", "", theirs.partition("(")[0])
        words = re.findall(r"\w+", name)
        assert [word for word in words if word not in scripts[preset]] == []
        assert parse(ours).metric.name in PRESETS[preset].metrics.split()


def test_the_example_of_sampled_candidates_gives_the_numbers_of_its_page() -> None:
    page = ROOT / "docs" / "how-to" / "sampled.md"
    names = _names_after(page)

    for model in ("broad", "sharp"):
        numbers = (names[kind][model] for kind in ("true", "plain", "corrected"))
        row = " | ".join([model, *(f"{number:.3f}" for number in numbers)])
        assert f"| {row} |" in page.read_text(encoding="utf-8")
    (sentence,) = [w.sentence for w in names["comparison"].warnings if w.severity == "serious"]
    assert "have means of broad 0 to 0.313 and sharp 0 to 0.277" in sentence


def test_the_numbers_of_the_demo_by_propensity_are_those_of_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "how-to" / "exposure-bias.md").read_text(encoding="utf-8")
    (example,) = (e for e in _PYTHON.findall(page) if "data/demo" in e)
    names: dict[str, Any] = {"concord": concord}
    exec(example, names)

    plain = page.replace("**", "")
    for e, comparison in names["comparisons"].items():
        means = comparison.leaderboard.rows_by_key("model", named=True, unique=True)
        row = " | ".join(f"{means[model]['mean']:.4f}" for model in names["demo"])
        (sentence,) = [w.sentence for w in comparison.warnings if w.code == "propensity"]
        (rows,) = re.findall(r"relevant rows is ([\d,]+)\.\d", sentence)
        assert f"| e = {e:g} | {row} | {rows} |" in plain


def test_the_demo_by_visits_gives_the_numbers_of_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "how-to" / "sessions.md"

    for over, result in _names_after(page)["means"].items():
        (items,) = result.to_frame().to_dicts()
        row = f"| {over} | {items['mean']:.4f} | {items['ci_low']:.4f} to {items['ci_high']:.4f} |"
        assert row in page.read_text(encoding="utf-8")


def test_three_libraries_give_the_three_numbers_of_the_readme() -> None:
    demo = ROOT / "data" / "demo"
    text = README.read_text(encoding="utf-8")

    for library, name in (("ranx", "ranx"), ("rectools", "RecTools"), ("evidently", "Evidently")):
        result = concord.evaluate(
            demo / "ease.jsonl.gz",
            demo / "truth.parquet",
            metrics=["nDCG@10"],
            conventions=library,  # type: ignore[arg-type]
        )
        assert f"**{result['nDCG@10']:.3f}** as {name} " in text


@pytest.fixture(scope="module")
def notebook_output() -> dict[str, Any]:
    """Return what the last line of the example shows in a real notebook, by MIME type."""
    (code,) = _examples(README)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}})
    client.execute()
    (output,) = [each for each in notebook.cells[0].outputs if each.output_type == "execute_result"]
    data: dict[str, Any] = output.data
    return data


def test_the_example_of_the_readme_shows_leaderboard_verdicts_and_plot(
    notebook_output: dict[str, Any],
) -> None:
    page = notebook_output["text/html"]

    assert page.count("<table") == 1
    assert page.count("<svg") == 2  # wide and narrow
    assert "<b>ease beats als on nDCG@10.</b>" in page
    assert "als" in page


def test_its_notebook_needs_no_network_and_no_script(notebook_output: dict[str, Any]) -> None:
    page = notebook_output["text/html"].replace("http://www.w3.org/2000/svg", "")

    assert "<script" not in page
    assert "http" not in page
    assert "@import" not in page


def test_the_first_command_of_the_readme_prints_what_it_quotes() -> None:
    (quoted,) = re.findall(r"^```text\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)
    (command,) = re.findall(r"^concord compare .*$", README.read_text(encoding="utf-8"), re.M)
    shown = run(ROOT / "data" / "demo", *command.split())
    assert shown.replace("\N{NO-BREAK SPACE}", " ") == quoted


def test_every_row_has_a_test_and_every_marked_test_a_row() -> None:
    recommended = collected()

    assert {row for row, _, _ in recommended["bad_input"]} == set(BAD_INPUTS)
    assert {row for row, _, _ in recommended["fault"]} == set(FAULTS)
    assert set(range(1, 57)) <= set(BAD_INPUTS)
    assert set(range(1, 26)) <= set(FAULTS)
    assert all(behaviour for rows in recommended.values() for _, _, behaviour in rows)
