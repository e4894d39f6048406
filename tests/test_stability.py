"""What docs/project/stability.md promises: schemas, versions of values, deprecated names.

`python -m tests.test_stability` writes the frozen keys of schemas again; only additions may change.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

import concord as cc
from concord.metrics_core import deprecation
from concord.metrics_core.conventions.values_version import RELEASES, VALUES_VERSION
from concord.metrics_core.deprecation import Deprecation
from concord.pipeline.commands.cli import parse
from concord.pipeline.commands.registry import COMMANDS
from concord.pipeline.params.read import read_params
from tests.project import ROOT

SCHEMAS = ROOT / "docs/_extra/schemas"
FROZEN = Path(__file__).with_name("schemas")
NAMES = ("comparison-1", "params-1", "study-1")
PUBLIC = "https://concord-eval.github.io/concord/schemas"


def keys(schema: Any, path: str = "$") -> Iterator[str]:
    """Yield a line for each key, type and allowed value of a schema, and for each needed key."""
    plain = {name: value for name, value in schema.items() if name in {"type", "const", "$ref"}}
    yield f"{path} {json.dumps(plain)}"
    yield from (f"{path} may be {json.dumps(value)}" for value in schema.get("enum", ()))
    yield from (f"{path}.{name} is required" for name in schema.get("required", ()))
    for name, part in [*schema.get("properties", {}).items(), *schema.get("$defs", {}).items()]:
        yield from keys(part, f"{path}.{name}")
    for part in [*schema.get("anyOf", ()), *schema.get("oneOf", ())]:
        yield from keys(part, f"{path}|")
    for name, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(name), dict):
            yield from keys(schema[name], path + mark)


def broken(frozen: list[str], now: list[str]) -> list[str]:
    """Return the lines that are gone, and new keys that an older file may lack."""
    places = {line.split()[0] for line in frozen}
    new = [line for line in now if line not in frozen and line.endswith(" is required")]
    gone = [line for line in frozen if line not in now]
    return gone + [line for line in new if line.split()[0].rpartition(".")[0] in places]


def _read(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return schema


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_has_the_address_at_which_it_is_published(name: str) -> None:
    assert _read(name)["$id"] == f"{PUBLIC}/{name}.json"


@pytest.mark.parametrize("name", NAMES)
def test_keys_of_a_schema_stay_and_new_ones_are_optional(name: str) -> None:
    frozen = (FROZEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()

    assert broken(frozen, [*keys(_read(name))]) == []


def test_a_change_of_a_schema_that_breaks_readers_is_noticed() -> None:
    before, schema = [*keys(_read("comparison-1"))], _read("comparison-1")
    score, difference = (schema["$defs"][name] for name in ("Score", "Difference"))
    del score["properties"]["model"]
    score["properties"] |= {"median": {"type": "number"}, "mode": {"type": "number"}}
    score["required"].append("median")
    removed = difference["properties"]["verdict"]["enum"].pop()

    assert broken(before, [*keys(schema)]) == [
        f"$.Difference.verdict may be {json.dumps(removed)}",
        '$.Score.model {"type": "string"}',
        "$.Score.median is required",
    ]


def test_the_changelog_names_the_version_of_values_of_each_release() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(
        r"^## \[(\d+\.\d+)\.\d+\](.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    named = [
        (int(re.findall(r"`values_version: (\d+)`", section)[0]), release)
        for release, section in releases
    ]

    assert named[0][0] == VALUES_VERSION == max(RELEASES)
    assert named == sorted(named, reverse=True)
    assert dict(sorted((version, release) for version, release in named)) == RELEASES


@pytest.fixture
def deprecated(monkeypatch: pytest.MonkeyPatch) -> dict[str, Deprecation]:
    """Return the deprecated names, to which a test may add."""
    rows: dict[str, Deprecation] = {}
    monkeypatch.setattr(deprecation, "DEPRECATED", rows)
    return rows


def test_a_deprecated_name_is_the_new_one(deprecated: dict[str, Deprecation]) -> None:
    deprecated["concord.rate"] = Deprecation("evaluate", "0.9")
    text = r"^concord\.rate is deprecated since 0\.9 and goes with 0\.11; use evaluate$"

    with pytest.warns(FutureWarning, match=text) as caught:
        assert cc.rate is cc.evaluate  # type: ignore[attr-defined]
    assert caught[0].filename == __file__


def test_a_deprecated_argument_is_the_new_one(deprecated: dict[str, Deprecation]) -> None:
    deprecated["evaluate(measures=…)"] = Deprecation("metrics", "1.2")
    text = r"^evaluate\(measures=…\) is deprecated since 1\.2 and goes with 1\.4; use metrics$"

    with pytest.warns(FutureWarning, match=text) as caught:
        result = cc.evaluate({"u": ["a"]}, {"u": ["a"]}, measures=["P@1"])  # type: ignore[call-arg]
    assert caught[0].filename == __file__
    assert result["P@1"] == 1


def test_a_deprecated_command_and_option_are_the_new_ones(
    deprecated: dict[str, Deprecation],
) -> None:
    deprecated["concord rank"] = Deprecation("leaderboard", "0.2")
    deprecated["concord leaderboard --measure"] = Deprecation("--metric", "0.2")

    with pytest.warns(FutureWarning) as caught:
        arguments = parse(["rank", "--measure", "nDCG@10"])
    assert (arguments.name, arguments.metric) == ("leaderboard", ["nDCG@10"])
    assert [str(each.message) for each in caught] == [
        "concord rank is deprecated since 0.2 and goes with 0.4; use leaderboard",
        "concord leaderboard --measure is deprecated since 0.2 and goes with 0.4; use --metric",
    ]


def test_deprecated_keys_of_params_are_the_new_ones(
    deprecated: dict[str, Deprecation], monkeypatch: pytest.MonkeyPatch
) -> None:
    deprecated["params.yaml: comparison.alpha"] = Deprecation("confidence", "0.2")
    deprecated["params.yaml: page"] = Deprecation("report", "0.2")
    deprecated["params.yaml: input.other"] = Deprecation("rank_base", "0.2")
    monkeypatch.chdir(ROOT)
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    with NamedTemporaryFile("w", suffix=".yaml", dir=ROOT, encoding="utf-8") as file:
        file.write(text.replace("  confidence:", "  alpha:").replace("\nreport:", "\npage:"))
        file.flush()
        with pytest.warns(
            FutureWarning, match=r"^params\.yaml: (comparison\.alpha|page) is"
        ) as caught:
            params = read_params(Path(file.name))

    assert params == read_params(ROOT / "params.yaml")
    assert len(caught) == 2


def test_nothing_is_deprecated_longer_than_promised() -> None:
    now = [int(number) for number in cc.__version__.split(".")[:2]]

    for old, each in deprecation.DEPRECATED.items():
        assert [int(number) for number in each.removal.split(".")] > now, f"remove {old}"


def test_the_page_sorts_every_public_name_once_and_names_commands_that_exist() -> None:
    page = (ROOT / "docs/project/stability.md").read_text(encoding="utf-8")
    rows = {
        cells[0].strip(): re.findall(r"`([A-Za-z_-]+)`", "".join(cells[1:]))
        for line in page.splitlines()
        if len(cells := line.strip("|").split("|")) == 3
    }

    assert sorted(name for name in rows["Python"] if name in cc.__all__) == cc.__all__
    assert len(rows["shell"]) > 5
    assert [name for name in rows["shell"] if name not in COMMANDS] == []


if __name__ == "__main__":
    for name in NAMES:
        text = "\n".join(keys(_read(name)))
        (FROZEN / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
