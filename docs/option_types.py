"""Write the types of presets and conventions from the registry, and those of options.

`python -m docs.option_types` writes them; `docs.make_docs --check` compares them.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from concord.metrics_core.comparison.options import Options
from concord.metrics_core.conventions.convention import Convention, Key, Value
from concord.metrics_core.conventions.presets import PRESETS
from concord.metrics_core.conventions.registry import CONVENTIONS

CORE = Path(__file__).parents[1] / "metrics_core"
PATH = CORE / "conventions" / "option_types.py"
FIELDS_PATH = CORE / "comparison" / "option_fields.py"
WIDTH = 100
HEAD = '''\
"""Types of presets and conventions; made by docs/option_types.py: run `make docs`."""
# fmt: off

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, Required, TypedDict

from concord.metrics_core.conventions.data_conventions import ExcludedPairs

'''
FIELDS_HEAD = '''\
"""Types of the fields of `Options` as keyword arguments; made by docs/option_types.py."""
# fmt: off

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from concord.metrics_core.comparison.options import Family
from concord.metrics_core.data.argument_types import PolicyOptions, Where
from concord.metrics_core.metrics.metric import Bounds


class OptionFields(TypedDict, total=False):
    """Fields of `Options`."""

'''
VALUES = '''

@dataclass(frozen=True, kw_only=True)
class ConventionValues:
    """The name of a preset, and the value of each convention."""

    preset: str
'''
OPTIONS = '''

class ConventionOptions(TypedDict, total=False):
    """Conventions and their values: `docs/reference/conventions.md` says what each means."""

'''
TAIL = '''\
    overrides: Mapping[str, "ConventionOptions"]


class PresetOptions(ConventionOptions):
    """The name of a preset, and the conventions that differ from it."""

    preset: Required[PresetName | Literal["custom"]]
'''


def option_types() -> str:
    """Return the text of the module."""
    parts = [HEAD, "PresetName = Literal[\n", _wrapped(_words(PRESETS), 4), "]\n"]
    for each in CONVENTIONS:
        if each.keys:
            parts += [f"\n\nclass {_keys_type(each)}(TypedDict):\n"]
            parts += [f'    """The value of the convention `{each.name}`."""\n\n']
            parts += [f"    {name}: {_key_type(key)}\n" for name, key in each.keys.items()]
    parts += [VALUES, *(f"    {each.name}: {_attribute_type(each)}\n" for each in CONVENTIONS)]
    parts += [OPTIONS, *map(_option, CONVENTIONS), TAIL]
    return "".join(parts)


def option_fields() -> str:
    """Return the text of the module of fields."""
    lines = [f"    {each.name}: {each.type}\n" for each in fields(Options)]
    return "".join([FIELDS_HEAD, *lines])


def _option(convention: Convention) -> str:
    types = " | ".join(_option_types(convention))
    line = f"    {convention.name}: {types}\n"
    return line if len(line) <= WIDTH else f"    {convention.name}: (\n{_wrapped(types, 8)}    )\n"


def _wrapped(text: str, indent: int) -> str:
    spaces = " " * indent
    lines = textwrap.fill(text, WIDTH, initial_indent=spaces, subsequent_indent=spaces)
    return f"{lines}\n"


def _option_types(convention: Convention) -> Iterator[str]:
    if convention.values:
        yield f"Literal[{_words(convention.values)}]"
    if convention.forms:
        value = _accepted_type(
            lambda v: any(convention.accepts({form: v}) for form in convention.forms)
        )
        yield f"Mapping[Literal[{_words(convention.forms)}], {value}]"
    elif convention.keys:
        yield _keys_type(convention)
    elif convention.name == "exclude":
        yield "ExcludedPairs"
    elif value := _accepted_type(convention.accepts):
        yield value
    if convention.describes_data or convention.accepts(None):
        yield "None"


def _accepted_type(accepts: Callable[[Value], bool]) -> str:
    """Return the type of values that are accepted; empty if none is."""
    examples = {"float": 0.5, "int": 3, "Literal[2]": 2, "Mapping[float, float]": {1: 0.5}}
    return next((name for name, value in examples.items() if accepts(value)), "")


def _attribute_type(convention: Convention) -> str:
    """Return the type of an attribute of `Conventions`."""
    if convention.keys:
        return "Mapping[str, Any] | None = None"
    text = " | ".join(_option_types(convention))
    if convention.describes_data:
        return f"{text} = None"
    return re.sub(r"Literal\[.*?\]", "str", text.replace("Literal[2]", "int"))


def _keys_type(convention: Convention) -> str:
    return f"{convention.name.title()}Options"


def _key_type(key: Key) -> str:
    number = {"integer": ["int"], "number": ["float"]}.get(key.schema.get("type", ""), [])
    text = " | ".join([*number, *([f"Literal[{_words(key.words)}]"] if key.words else [])])
    return text if key.is_required else f"NotRequired[{text}]"


def _words(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


if __name__ == "__main__":
    PATH.write_text(option_types(), encoding="utf-8")
    FIELDS_PATH.write_text(option_fields(), encoding="utf-8")
