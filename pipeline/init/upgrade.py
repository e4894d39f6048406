"""Upgrade of params.yaml and dvc.yaml from another version of Concord."""

from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.representer import RoundTripRepresenter

from concord.metrics_core.errors import refuse
from concord.pipeline.init.messages import relative
from concord.pipeline.init.render import NamedFiles, dvc_yaml, params_yaml
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.repository import is_concord_project, run_hint
from concord.pipeline.params.values import has_values
from concord.pipeline.params.yaml_files import read_yaml

_WIDTH = 4096  # of a line: none is folded
_USER_KEYS = {"segments", "background", "models", "gate"}  # sections whose keys the user chooses


def upgraded_texts(project: Path, version: str, *, dvc: bool, mlflow: bool) -> dict[Path, str]:
    """Return the texts of params.yaml and, with DVC, dvc.yaml; values and comments stay.

    Raises
    ------
    InputError
        If params.yaml is not valid YAML, or `concord init` did not write it.
    """
    path = Path(relative(project / PARAMS))
    content = read_yaml(path).content
    models, of_values = content.get("models"), has_values(content)
    if not is_concord_project(project) or not isinstance(models, dict):
        raise refuse(str(path), "is not a params.yaml of `concord init`", run_hint(project))
    old = path.read_bytes().decode("utf-8")
    text = _upgraded_params(old, version, with_defaults=not of_values)
    if not dvc:
        return {path: text}
    acknowledge, files = "acknowledge" in content, NamedFiles.of_params(content)
    stages = dvc_yaml(files, mlflow=mlflow, acknowledge=acknowledge, values=of_values)
    return {path: text, path.with_name("dvc.yaml"): stages}


def _upgraded_params(old: str, version: str, *, with_defaults: bool) -> str:
    """Return the text with the version and the missing keys; unchanged if it has both."""
    content, new = load_with_comments(old), load_with_comments(params_yaml({}, version))
    missing = [(content, new)] if with_defaults else []
    missing += [
        (content[section], defaults)
        for section, defaults in new.items()
        if with_defaults and section not in _USER_KEYS and isinstance(content.get(section), dict)
    ]
    n_added = sum(add_missing(*sections) for sections in missing)
    if not n_added and content.get("concord") == version:
        return old
    set_value(content, "concord", version)
    return dump_with_comments(content)


def add_missing(content: Any, defaults: Any) -> int:
    """Add missing keys after their predecessor, with their comments; return how many."""
    names = list(defaults)
    missing = [name for name in names if name not in content]
    for name in missing:
        before = names[: names.index(name)][-1:]
        position = list(content).index(before[0]) + 1 if before else 0
        content.insert(position, name, defaults[name])
        if content.fa.flow_style():
            continue
        for key in (*before, name):  # a blank line after the last key is part of its comment
            comments, own = defaults.ca.items.get(key), content.ca.items.get(key)
            if comments and (key == name or _comment(own) == _comment(comments)):
                content.ca.items[key] = comments
    return len(missing)


def set_value(content: Any, key: str, value: Any) -> None:
    """Set a value; its comment follows after one space, unless a space aligns it."""
    content[key] = value
    for token in content.ca.items.get(key, ()):
        if hasattr(token, "column"):
            token.column = 0


def _comment(tokens: Any) -> list[str]:
    return [token.value.rstrip() for token in tokens or () if hasattr(token, "value")]


class _Representer(RoundTripRepresenter):
    """Write None as null."""


_Representer.add_representer(
    type(None), lambda self, _: self.represent_scalar("tag:yaml.org,2002:null", "null")
)


def _parser() -> YAML:
    parser = YAML()
    parser.Representer = _Representer
    parser.preserve_quotes, parser.width = True, _WIDTH
    parser.indent(mapping=2, sequence=4, offset=2)
    return parser


def load_with_comments(text: str) -> Any:
    """Return the content of a YAML text, with its comments and quotes."""
    return _parser().load(text.removeprefix("\ufeff"))


def dump_with_comments(content: Any) -> str:
    """Return the text of a content with its comments and quotes."""
    text = StringIO()
    _parser().dump(content, text)
    return text.getvalue()
