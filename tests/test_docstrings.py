"""Docstrings: every public name has an example, all examples run, notebooks show the results."""

import ast
import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import concord
from concord.metrics_core.metrics import custom_metric
from concord.metrics_core.results.base import BaseResult
from tests.project import ROOT

MODULES = (
    *(concord, concord.data, concord.datasets, concord.metrics),
    *(concord.results, concord.search),
)
PUBLIC = {
    name: getattr(module, name)
    for module in MODULES
    for name in module.__all__
    if name != "datasets"
}
RESULTS = {
    name for name, each in PUBLIC.items() if inspect.isclass(each) and issubclass(each, BaseResult)
}
FOLDERS = ("concord/datasets", "metrics_core", "pipeline", "reports")
FILES = sorted((ROOT / "concord").glob("*.py")) + [
    file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))
]


def _docstrings(file: Path) -> dict[str, str]:
    """Return the docstrings of a file that have an example, by file and name."""
    texts = {
        getattr(node, "name", "module"): ast.get_docstring(node) or ""
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    }
    return {
        f"{file.relative_to(ROOT)}:{name}": text for name, text in texts.items() if ">>>" in text
    }


EXAMPLES = {name: text for file in FILES for name, text in _docstrings(file).items()}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example_and_a_function_says_what_it_returns(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name]) or ""

    assert "\n>>> " in text.partition("\nExamples\n--------")[2]
    assert inspect.isclass(PUBLIC[name]) or "\nReturns\n-------\n" in text


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_docstring_run_and_a_notebook_shows_their_results(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custom_metric, "_registry", custom_metric.Registry())
    path, _, documented = name.partition(":")
    path = path.removeprefix("concord/").removesuffix(".py").removesuffix("/__init__")
    names = dict(vars(import_module(f"concord.{path.replace('/', '.')}")))
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], names, name, None, None)
    shown: list[str] = []

    failures, _ = doctest.DocTestRunner().run(example, out=shown.append, clear_globs=False)
    results = [value for value in example.globs.values() if isinstance(value, BaseResult)]

    assert not failures, "".join(shown)
    assert RESULTS & {documented} <= {type(result).__name__ for result in results}
    for result in results:
        assert result._repr_html_().startswith("<")
