"""Edit params.yaml and dvc.yaml of a project: upgrades, and the values of a preset."""

from collections.abc import Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.representer import RoundTripRepresenter

from concord.metrics_core.conventions.presets import PRESETS, differs_in_scale
from concord.metrics_core.conventions.registry import PRESET_CONVENTIONS
from concord.metrics_core.conventions.values_version import (
    VALUES_VERSION,
    values_version_problem,
)
from concord.metrics_core.deprecation import DEPRECATED, with_new_keys
from concord.metrics_core.errors import Problem, raise_problems, refuse
from concord.metrics_core.files import open_file
from concord.pipeline.commands.parser import COMMAND_LINE
from concord.pipeline.init.render import NamedFiles, dvc_yaml, flow, params_yaml
from concord.pipeline.params.model import PARAMS
from concord.pipeline.params.read import check_params
from concord.pipeline.params.repository import (
    VERSION_KEY,
    relative_path,
    rerun_command,
    run_hint,
)
from concord.pipeline.params.values import has_values, kind_of_models
from concord.pipeline.params.yaml_files import read_yaml
from concord.pipeline.running.messages import print_text
from concord.pipeline.running.outputs import atomic_write
from concord.pipeline.terminal import find_preset
from concord.reports.text.numbers import setting

_WIDTH = 4096  # of a line: none is folded
_USER_KEYS = {"segments", "background", "models", "gate"}  # sections whose keys the user chooses


def upgraded_texts(project: Path, *, dvc: bool, mlflow: bool) -> dict[Path, str]:
    """Return the texts of params.yaml and, with DVC, dvc.yaml; values and comments stay.

    Raises
    ------
    InputError
        If params.yaml is not valid YAML, is not Concord's, or has values of a newer version.
    """
    path = Path(relative_path(project / PARAMS))
    content = with_new_keys(str(PARAMS), read_yaml(path).content)
    models, of_values = content.get("models"), has_values(content)
    is_own = VERSION_KEY in content or isinstance(content.get("conventions"), dict)
    if not is_own or not isinstance(models, dict):
        raise refuse(str(path), "is not a params.yaml of `concord init`", run_hint(project))
    version = content.get(VERSION_KEY)
    if type(version) is int and version > VALUES_VERSION:
        problem = f"is {version}, and this Concord computes values of version {VALUES_VERSION}"
        raise refuse(f"{path}: {VERSION_KEY}", problem, "install a newer Concord")
    old = path.read_bytes().decode("utf-8")
    text = _upgraded_params(old, with_defaults=not of_values)
    if not dvc:
        return {path: text}
    files = NamedFiles.of_params(content)
    stages = dvc_yaml(files, mlflow=mlflow, optional=content, models=kind_of_models(content))
    return {path: text, path.with_name("dvc.yaml"): stages}


def _upgraded_params(old: str, *, with_defaults: bool) -> str:
    """Return the text with the version and the missing keys; unchanged if it has both."""
    content, new = load_with_comments(old), load_with_comments(params_yaml({}))
    n_renamed = rename_deprecated(content)
    missing = [(content, new)] if with_defaults else []
    missing += [
        (content[section], defaults)
        for section, defaults in new.items()
        if (with_defaults or section == "results")
        and section not in _USER_KEYS
        and isinstance(content.get(section), dict)
    ]
    n_added = sum(add_missing(*sections) for sections in missing)
    if not (n_renamed or n_added) and values_version_problem(content.get(VERSION_KEY), "") is None:
        return old
    set_value(content, VERSION_KEY, VALUES_VERSION)
    return dump_with_comments(content)


def rename_deprecated(content: Any) -> int:
    """Give deprecated keys their present names, with their comments; return how many."""
    start, n_renamed = f"{PARAMS}: ", 0
    for old in [name for name in DEPRECATED if name.startswith(start)]:
        *sections, key = old.removeprefix(start).split(".")
        section: Any = content
        for name in sections:
            section = section.get(name, {})
        if key in section:
            new, position = DEPRECATED[old].new, list(section).index(key)
            section.insert(position, new, section.pop(key))
            section.ca.items[new] = section.ca.items.pop(key, None) or []
            n_renamed += 1
    return n_renamed


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


SECTION = "conventions"
_OMITTED = {each.name: each.default for each in PRESET_CONVENTIONS if each.omits_default}


def pin(name: str) -> None:
    """Write all values of the preset but the project's grade scale, and print the changes."""
    if name == PARAMS.name:
        problem = f"{name} has these values already"
        raise refuse(COMMAND_LINE, problem, "name a preset: `concord presets`")
    preset_values = find_preset(name).as_dict()
    yaml = read_yaml(PARAMS)
    current = yaml.content.get(SECTION) or {}
    if not isinstance(current, dict):
        problem = f"has no mapping {SECTION}"
        raise refuse(str(PARAMS), problem, "start from the demo's params.yaml")
    values = {key: value for key, value in _OMITTED.items() if key in current} | preset_values
    changed = {
        key: value
        for key, value in values.items()
        if key not in current or (current[key] != value and not _is_own_scale(key, current, value))
    }
    if not changed:
        print_text(f"{PARAMS} already has every value of {name}.")
        return
    problems = _write(_edit(yaml.text, changed))
    for key, value in changed.items():
        before = _text(current[key]) if key in current else "(was missing)"
        print_text(f"{key}: {before} → {_text(value)}")
    next_step = "fix these problems" if problems else rerun_command()
    print_text(f"pinned {name} in {PARAMS}; next: {next_step}")
    for each in problems:
        print_text(str(each))


def _is_own_scale(key: str, current: Mapping[str, Any], value: Any) -> bool:
    """True if the project, not its present preset, sets this scale of the grades."""
    present = PRESETS.get(str(current.get("preset")))
    is_presets_null = current[key] is None and present and present.differs.get(key, 1) is None
    return differs_in_scale(key, current[key], value) and not is_presets_null


def _edit(text: str, changed: Mapping[str, Any]) -> str:
    """Return the text with the changed values; a missing key is added with its comment.

    Keys that files omit are removed when they have their default.
    """
    content = load_with_comments(text)
    defaults = load_with_comments(params_yaml({}, changed))[SECTION]
    if content.get(SECTION):
        add_missing(content[SECTION], defaults)
    else:
        content[SECTION] = defaults
    for key, value in changed.items():
        if key in _OMITTED and value == _OMITTED[key]:
            del content[SECTION][key]
        else:
            set_value(content[SECTION], key, load_with_comments(flow(value)))
    return dump_with_comments(content)


def _write(text: str) -> list[Problem]:
    """Write the text if its conventions are valid; return the problems of other sections."""
    with atomic_write(PARAMS) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        params, error = check_params(temporary)
        problems = [
            replace(problem, location=problem.where.replace(str(temporary), str(PARAMS)))
            for problem in (error.problems if error else ())
        ]
        raise_problems(p for p in problems if params is None or f", {SECTION}." in p.where)
        return problems


def _text(value: Any) -> str:
    return flow(value) if isinstance(value, Mapping) else setting(value)


def read_text(path: Path) -> str:
    """Return the text of a file with its line ends; empty if there is no file."""
    if not path.exists():
        return ""
    with open_file(path, "move it away") as file:
        return bytes(file.read()).decode("utf-8", errors="replace")
