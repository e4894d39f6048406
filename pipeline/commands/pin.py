"""`concord pin`: a preset's values into params.yaml, with every comment kept."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from metrics_core.conventions import KNOB, is_number
from pipeline.checks import refuse
from pipeline.commands.chosen import PLACE, preset_named
from pipeline.commands.table import console, word
from pipeline.outputs import whole
from pipeline.params import PARAMS, read_params


def pin(name: str) -> None:
    """Writes every value of the preset; the scale of the grades stays that of the project."""
    if name == PARAMS.name:
        raise refuse(PLACE, f"{name} is what is pinned", "name a preset: `concord presets`")
    wanted = preset_named(name).as_dict()
    before = PARAMS.read_text(encoding="utf-8")
    yaml = _round_trip()
    content = yaml.load(before)
    pinned = content.setdefault("conventions", CommentedMap())
    changed = _set(pinned, wanted)
    text = io.StringIO()
    yaml.dump(content, text)
    with whole(PARAMS) as beside:
        beside.write_text(text.getvalue(), encoding="utf-8")
    try:
        read_params()
    except Exception:
        _write(PARAMS, before)
        raise
    _tell(name, changed)


def _round_trip() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 10_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.add_representer(
        type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    return yaml


def _set(pinned: CommentedMap, wanted: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Set what differs; returns {key: (before, after)}."""
    changed: dict[str, tuple[Any, Any]] = {}
    for key, value in wanted.items():
        before = pinned.get(key)
        kept = key in KNOB and KNOB[key].scale and is_number(before) and is_number(value)
        if kept or (key in pinned and _plain(before) == value):
            continue
        if key in pinned:
            pinned[key] = _flow(value)
        else:
            pinned.insert(len(pinned), key, _flow(value), comment=_allowed(key))
        changed[key] = (_plain(before), value)
    return changed


def _allowed(key: str) -> str | None:
    return KNOB[key].allowed() if key in KNOB else None


def _plain(value: Any) -> Any:
    return {name: _plain(v) for name, v in value.items()} if isinstance(value, Mapping) else value


def _flow(value: Any) -> Any:
    """A mapping on one line, as params.yaml has them."""
    if not isinstance(value, Mapping):
        return value
    mapping = CommentedMap((name, _flow(inner)) for name, inner in value.items())
    mapping.fa.set_flow_style()
    return mapping


def _write(path: Path, text: str) -> None:
    with whole(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _tell(name: str, changed: Mapping[str, tuple[Any, Any]]) -> None:
    out = console()
    knobs = {key: values for key, values in changed.items() if key != "preset"}
    if not knobs:
        out.print(f"{PARAMS} already has every value of {name}.")
        return
    for key, (before, after) in knobs.items():
        out.print(f"{key}: {word(before)} → {word(after)}")
    out.print(f"pinned {name} in {PARAMS}; next: dvc repro")
