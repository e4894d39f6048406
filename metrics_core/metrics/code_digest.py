"""Digest of the code of a user-defined metric."""

import ast
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, TypeGuard

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_digest(source: bytes | str, name: str) -> str:
    """Return the SHA-256 of the code in a metric's file that the metric depends on.

    Comments, docstrings, layout and metrics that it does not use are left out.

    Raises
    ------
    SyntaxError
        If the source is not valid Python.
    """
    module = ast.parse(source)
    for node in ast.walk(module):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    _remove_other_metrics(module, name)
    return hashlib.sha256(repr(_structure(module)).encode()).hexdigest()


def file_digest(source: bytes, name: str) -> str:
    """Return the digest of a metric's code and of the user's modules that its file imports."""
    modules: dict[str, str] = {}
    pending = [(source, "")]
    while pending:
        for module in _imported(*pending.pop()):
            spec = _find_spec(module)
            if spec is None or module in modules or _is_installed(spec):
                continue
            content = Path(str(spec.origin)).read_bytes()
            modules[module] = code_digest(content, "")
            pending.append((content, spec.parent or ""))
    own = code_digest(source, name)
    digests = repr((own, sorted(modules.items())))
    return hashlib.sha256(digests.encode()).hexdigest() if modules else own


def _imported(source: bytes, package: str) -> Iterator[str]:
    """Yield the names of the modules that code may import, with the packages around them."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and (package or not node.level):
            base = resolve_name("." * node.level + (node.module or ""), package)
            names = [f"{base}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))


def _find_spec(module: str) -> ModuleSpec | None:
    """Return the spec of a module that is imported, or that a function may import later."""
    if module in sys.modules:
        return getattr(sys.modules[module], "__spec__", None)
    parent = module.rpartition(".")[0]
    if not parent:
        return PathFinder.find_spec(module)
    package = _find_spec(parent)
    folders = package and package.submodule_search_locations
    return PathFinder.find_spec(module, folders) if folders else None


def _is_installed(spec: ModuleSpec) -> bool:
    """True for modules of Python, installed packages and Concord, and for those without a file."""
    root, file = spec.name.partition(".")[0], Path(spec.origin or "")
    is_known = root == "concord" or root in sys.stdlib_module_names
    is_package = bool({"site-packages", "dist-packages"} & {*file.parts})
    return is_known or is_package or file.suffix != ".py" or not file.is_file()


def function_digest(function: Callable[..., Any]) -> str:
    """Return the digest of a function's source, or of its bytecode if there is no source."""
    try:
        return code_digest(textwrap.dedent(inspect.getsource(function)), function.__name__)
    except (OSError, TypeError, SyntaxError):
        code = inspect.unwrap(function).__code__
        return hashlib.sha256(code.co_code + repr(code.co_consts).encode()).hexdigest()


def _structure(node: object) -> object:
    """Return the syntax tree as plain values that are equal in all versions of Python."""
    if isinstance(node, list):
        return [_structure(each) for each in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.JoinedStr):  # Python 3.12 adds empty strings to some f-strings
        parts = (_structure(part) for part in node.values)
        return "JoinedStr", [part for part in parts if part != _structure(ast.Constant(""))]
    fields = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
    return type(node).__name__, [(name, _structure(value)) for name, value in fields]


def _remove_other_metrics(module: ast.Module, name: str) -> None:
    """Remove the metrics that neither this metric nor the code it uses mentions."""
    others = [node for node in module.body if _is_metric(node) and node.name != name]
    remaining: list[ast.AST] = [node for node in module.body if node not in others]
    used = _words(remaining)
    while used_metrics := [node for node in others if node.name in used and node not in remaining]:
        remaining += used_metrics
        used |= _words(used_metrics)
    module.body = [node for node in module.body if node in remaining]


def _is_metric(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    """True if a function is decorated with something named `metric`."""
    return isinstance(node, ast.FunctionDef) and "metric" in _words(node.decorator_list)


def _words(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names and strings in some code.

    A string may name a function, as in `globals()["revenue"]`.
    """
    inner_nodes = [inner for node in nodes for inner in ast.walk(node)]
    names = {node.id for node in inner_nodes if isinstance(node, ast.Name)}
    attributes = {node.attr for node in inner_nodes if isinstance(node, ast.Attribute)}
    strings = {
        node.value
        for node in inner_nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return names | attributes | strings
