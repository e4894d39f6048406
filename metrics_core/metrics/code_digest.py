"""The code on which an own metric depends, and its digest."""

import ast
import hashlib
from collections.abc import Iterable
from typing import TypeGuard

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_digest(source: bytes | str, name: str) -> str:
    """Return the SHA-256 of the file of a metric without comments, docstrings, layout, and metrics that it does not use.

    Raises
    ------
    SyntaxError : the source is not Python
    """
    module = ast.parse(source)
    for node in ast.walk(module):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    _remove_other_metrics(module, name)
    return hashlib.sha256(repr(_structure(module)).encode()).hexdigest()


def _structure(node: object) -> object:
    """Return the syntax tree as plain values, without what only some versions of Python have."""
    if isinstance(node, list):
        return [_structure(each) for each in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.JoinedStr):  # Python 3.12 adds empty texts to some f-strings
        parts = (_structure(part) for part in node.values)
        return "JoinedStr", [part for part in parts if part != _structure(ast.Constant(""))]
    filled = ((name, value) for name, value in ast.iter_fields(node) if value not in (None, []))
    return type(node).__name__, [(name, _structure(value)) for name, value in filled]


def _remove_other_metrics(module: ast.Module, name: str) -> None:
    """Remove the metrics whose names occur neither in this metric nor in what it uses."""
    others = [node for node in module.body if _is_metric(node) and node.name != name]
    remaining: list[ast.AST] = [node for node in module.body if node not in others]
    used = _words(remaining)
    while used_metrics := [node for node in others if node.name in used and node not in remaining]:
        remaining += used_metrics
        used |= _words(used_metrics)
    module.body = [node for node in module.body if node in remaining]


def _is_metric(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    """True if a function is decorated by something that is called `metric`."""
    return isinstance(node, ast.FunctionDef) and "metric" in _words(node.decorator_list)


def _words(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names and texts in some code: a text may name a function, as in `globals()["revenue"]`."""
    every = [inner for node in nodes for inner in ast.walk(node)]
    names = {node.id for node in every if isinstance(node, ast.Name)}
    attributes = {node.attr for node in every if isinstance(node, ast.Attribute)}
    texts = {
        node.value
        for node in every
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return names | attributes | texts
