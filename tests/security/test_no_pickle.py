"""Nothing that could run code is loaded: no pickle under any name, no eval, no shell."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project import ROOT

PACKAGES = ("metrics_core", "pipeline", "reports", "docs", "data", "benchmarks")
MODULES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "jsonpickle",
    "yaml",
    "torch",
}
METHODS = {
    "deserialize",  # polars
    "read_pickle",
    "to_pickle",
    "read_serialized",
    "from_string",  # a template made of text
    "system",
    "popen",
    "fromfile",
}
CALLS = {"eval", "exec", "compile", "__import__"}


def _files() -> list[Path]:
    """Return the project's files, without installed libraries and the built site."""
    results = (file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    return sorted(
        f
        for f in results
        if not any(p.startswith((".", "_build")) for p in f.relative_to(ROOT).parts)
    )


def _wrong(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield str(node.module)
        elif isinstance(node, ast.Attribute) and node.attr in METHODS:
            yield ast.unparse(node)
        elif isinstance(node, ast.Call):
            yield from _wrong_call(node)


def _wrong_call(node: ast.Call) -> Iterator[str]:
    if isinstance(node.func, ast.Name) and node.func.id in CALLS:
        yield node.func.id
    numpy_load = ast.unparse(node.func) in {"np.load", "numpy.load"}
    if numpy_load or any(word.arg == "allow_pickle" for word in node.keywords):
        yield ast.unparse(node)
    if any(word.arg == "shell" for word in node.keywords):
        yield ast.unparse(node)


def test_no_source_loads_what_could_run() -> None:
    files = _files()
    assert len(files) > 100
    results = {
        f"{file.relative_to(ROOT)}: {kind}"
        for file in files
        for kind in _wrong(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert results == {  # `BaseLoader` makes text, lists and dicts alone
        "pipeline/dvc/lock.py: yaml",
    }
    assert "BaseLoader" in (ROOT / "pipeline/dvc/lock.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "import torch.serialization",
        "pl.DataFrame.deserialize(path)",
        "pd.read_pickle(path)",
        "np.load(path)",
        "load(path, allow_pickle=True)",
        "eval(text)",
        "subprocess.run(text, shell=True)",
        "os.system(text)",
        "jinja.from_string(name)",
    ],
)
def test_the_search_finds(source: str) -> None:
    assert list(_wrong(ast.parse(source)))
