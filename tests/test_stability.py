"""What docs/project/stability.md promises: schemas, versions of values, deprecated names.

`python -m tests.test_stability` writes the frozen keys of schemas again; only additions may change.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

import concord as cc
from concord.metrics_core import deprecation
from concord.metrics_core.conventions.values_version import RELEASES, VALUES_VERSION
from concord.metrics_core.deprecation import DEPRECATED, Deprecation, with_new_keys
from concord.metrics_core.errors import InputError
from concord.pipeline.commands.cli import parse
from concord.pipeline.commands.registry import COMMANDS
from concord.pipeline.init import edit
from concord.pipeline.init.edit import dump_with_comments, load_with_comments, rename_deprecated
from concord.pipeline.params.read import check_params
from tests.project import ROOT

SCHEMAS = ROOT / "docs/_extra/schemas"
FROZEN = Path(__file__).with_name("schemas")
NAMES = ("comparison-1", "params-1", "study-1")
WRITTEN = "comparison-1"  # by Concord; the others by people
LIMITS = {
    *("type", "const", "$ref", "pattern", "format"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
}
PARTS = {"items": "[]", "additionalProperties": "{}", "propertyNames": "{name}", "not": "!"}
PUBLIC = "https://concord-eval.github.io/concord/schemas"


def keys(schema: Any, path: str = "$") -> Iterator[str]:
    """Yield a line for each key, type, limit and allowed value of a schema, and each needed key."""
    plain = {name: value for name, value in schema.items() if name in LIMITS}
    if isinstance(schema.get("additionalProperties"), bool):
        plain["additionalProperties"] = schema["additionalProperties"]
    yield f"{path} {json.dumps(plain)}"
    yield from (f"{path} may be {json.dumps(value)}" for value in schema.get("enum", ()))
    yield from (f"{path}.{name} is required" for name in schema.get("required", ()))
    for name, part in [*schema.get("properties", {}).items(), *schema.get("$defs", {}).items()]:
        yield from keys(part, f"{path}.{name}")
    for name, part in schema.get("patternProperties", {}).items():
        yield from keys(part, f"{path}.{name}")
    for part in [*schema.get("anyOf", ()), *schema.get("oneOf", ())]:
        yield from keys(part, f"{path}|")
    for n, part in enumerate(schema.get("prefixItems", ())):
        yield from keys(part, f"{path}[{n}]")
    for name, mark in PARTS.items():
        if isinstance(schema.get(name), dict):
            yield from keys(schema[name], path + mark)


def broken(frozen: list[str], now: list[str], *, is_written: bool = True) -> list[str]:
    """Return the lines that are gone, new keys that an older file may lack, and new types.

    A file that people write may allow more types; one that Concord writes may not.
    """
    places = {line.split()[0] for line in frozen}
    new = [*(Counter(now) - Counter(frozen))]
    needed = [line for line in new if line.endswith(" is required")]
    types = [line for line in new if is_written and re.match(r"\S*\| {", line)]
    return [
        *(Counter(frozen) - Counter(now)),
        *(line for line in needed if line.split()[0].rpartition(".")[0] in places),
        *(line for line in types if line.split()[0].rstrip("|") in places),
    ]


def _read(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    return schema


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_has_the_address_at_which_it_is_published(name: str) -> None:
    assert _read(name)["$id"] == f"{PUBLIC}/{name}.json"


@pytest.mark.parametrize("name", NAMES)
def test_keys_of_a_schema_stay_and_new_ones_are_optional(name: str) -> None:
    frozen = (FROZEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()

    assert broken(frozen, [*keys(_read(name))], is_written=name == WRITTEN) == []


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

    assert released_values(text) == RELEASES
    assert max(RELEASES) == VALUES_VERSION


def released_values(changelog: str) -> dict[int, str]:
    """Return version of values -> the first minor version that computes them."""
    heading = re.compile(r"^## \[(\d+)\.(\d+)\.\d+\](.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    found: dict[int, tuple[int, int]] = {}
    for major, minor, section in heading.findall(changelog):
        for version in re.findall(r"`values_version: (\d+)`", section):
            release = (int(major), int(minor))
            found[int(version)] = min(release, found.get(int(version), release))
    assert sorted(found) == sorted(found, key=found.__getitem__), "an older release has more"
    return {version: f"{major}.{minor}" for version, (major, minor) in sorted(found.items())}


def test_versions_of_values_are_read_from_a_longer_changelog() -> None:
    text = (
        "## [0.10.1]\n### Fixed\n## [0.10.0]\n`values_version: 2`.\n"
        "## [0.9.0]\n`values_version: 1`.\n## [0.1.0]\n`values_version: 1`.\n"
    )

    assert released_values(text) == {1: "0.1", 2: "0.10"}


@pytest.fixture
def deprecated(monkeypatch: pytest.MonkeyPatch) -> dict[str, Deprecation]:
    """Return the deprecated names, to which a test may add."""
    rows: dict[str, Deprecation] = {}
    monkeypatch.setattr(deprecation, "DEPRECATED", rows)
    monkeypatch.setattr(edit, "DEPRECATED", rows)
    return rows


def test_a_deprecated_name_is_the_new_one(deprecated: dict[str, Deprecation]) -> None:
    deprecated["concord.rate"] = Deprecation("evaluate", "0.9")
    text = r"^concord\.rate was deprecated in 0\.9 and will be removed in 0\.11; use evaluate"

    with pytest.warns(FutureWarning, match=text) as caught:
        assert cc.rate is cc.evaluate  # type: ignore[attr-defined]
    assert caught[0].filename == __file__


def test_a_deprecated_argument_is_the_new_one(deprecated: dict[str, Deprecation]) -> None:
    deprecated["evaluate(measures=…)"] = Deprecation("metrics", "1.2")
    text = (
        r"^evaluate\(measures=…\) was deprecated in 1\.2 and will be removed in 2\.0; use metrics"
    )

    with pytest.warns(FutureWarning, match=text) as caught:
        result = cc.evaluate({"u": ["a"]}, {"u": ["a"]}, measures=["P@1"])  # type: ignore[call-arg]
    assert caught[0].filename == __file__
    assert result["P@1"] == 1


def test_an_argument_under_both_names_is_an_error(deprecated: dict[str, Deprecation]) -> None:
    deprecated["evaluate(measures=…)"] = Deprecation("metrics", "0.2")
    both: Any = {"metrics": ["P@1"], "measures": ["R@1"]}

    with (
        pytest.warns(FutureWarning),
        pytest.raises(TypeError, match="'metrics' and its old name 'measures'"),
    ):
        cc.evaluate({"u": ["a"]}, {"u": ["a"]}, **both)


def test_a_name_that_moved_to_a_namespace_is_found(deprecated: dict[str, Deprecation]) -> None:
    deprecated["concord.rate"] = Deprecation("data.split", "0.2")

    with pytest.warns(FutureWarning, match=r"use data\.split instead$"):
        assert cc.rate is cc.data.split  # type: ignore[attr-defined]


def test_a_deprecated_command_and_option_are_the_new_ones(
    deprecated: dict[str, Deprecation],
) -> None:
    deprecated["concord rank"] = Deprecation("leaderboard", "0.2")
    deprecated["concord leaderboard --measure"] = Deprecation("--metric", "0.2")

    with pytest.warns(FutureWarning) as caught:
        arguments = parse(["-q", "rank", "--measure=nDCG@10"])
    assert (arguments.name, arguments.metric) == ("leaderboard", ["nDCG@10"])
    assert [str(each.message) for each in caught] == [
        "concord rank was deprecated in 0.2 and will be removed in 0.4; use leaderboard instead",
        "concord leaderboard --measure was deprecated in 0.2 and will be removed in 0.4; "
        "use --metric instead",
    ]


def test_deprecated_keys_of_params_are_the_new_ones(
    deprecated: dict[str, Deprecation], tmp_path: Path
) -> None:
    deprecated["params.yaml: comparison.alpha"] = Deprecation("confidence", "0.2")
    deprecated["params.yaml: page"] = Deprecation("report", "0.2")
    deprecated["params.yaml: input.other"] = Deprecation("rank_base", "0.2")
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    (tmp_path / "old.yaml").write_text(
        text.replace("  confidence:", "  alpha:").replace("\nreport:", "\npage:"), encoding="utf-8"
    )
    (tmp_path / "new.yaml").write_text(text, encoding="utf-8")

    with pytest.warns(FutureWarning) as caught:
        old, _ = check_params(tmp_path / "old.yaml")
    new, _ = check_params(tmp_path / "new.yaml")

    assert old is not None
    assert old == new
    assert [str(each.message).partition(" was deprecated")[0] for each in caught] == [*deprecated][
        :2
    ]


def test_nested_keys_are_renamed_and_a_key_under_both_names_is_an_error(
    deprecated: dict[str, Deprecation],
) -> None:
    deprecated["params.yaml: data.truth.file"] = Deprecation("path", "0.2")
    with pytest.warns(FutureWarning):
        content = with_new_keys("params.yaml", {"data": {"truth": {"file": "a.csv"}}})
    assert content == {"data": {"truth": {"path": "a.csv"}}}

    both = {"data": {"truth": {"file": "a.csv", "path": "b.csv"}}}
    with pytest.warns(FutureWarning), pytest.raises(InputError) as caught:
        with_new_keys("params.yaml", both)
    assert str(caught.value) == (
        "params.yaml: data.truth.file: is the old name of path, which is there too\n"
        "  fix: remove it"
    )


def test_an_upgrade_renames_keys_with_their_comments(deprecated: dict[str, Deprecation]) -> None:
    deprecated["params.yaml: comparison.alpha"] = Deprecation("confidence", "0.2")
    content = load_with_comments("comparison:\n  alpha: 0.9 # wide\n  seed: 1\n")

    assert rename_deprecated(content) == 1
    assert dump_with_comments(content) == "comparison:\n  confidence: 0.9 # wide\n  seed: 1\n"


def test_an_upgrade_of_a_file_with_both_names_is_refused(
    deprecated: dict[str, Deprecation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deprecated["params.yaml: comparison.alpha"] = Deprecation("confidence", "0.2")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    text = text.replace("  confidence:", "  alpha: 0.9\n  confidence:")
    Path("params.yaml").write_text(text, encoding="utf-8")

    with pytest.warns(FutureWarning), pytest.raises(InputError, match="is the old name of"):
        edit.upgraded_texts(tmp_path, dvc=False, mlflow=False)


def test_nothing_is_deprecated_longer_than_promised() -> None:
    now = Version(cc.__version__)

    assert [old for old, each in DEPRECATED.items() if Version(each.removal) <= now] == []


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
        before = (FROZEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        if problems := broken(before, text.splitlines(), is_written=name == WRITTEN):
            sys.exit("\n".join([f"{name} would break its readers; raise its number:", *problems]))
        (FROZEN / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")
