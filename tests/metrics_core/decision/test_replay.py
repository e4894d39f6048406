"""A decision of any kind is computed again from its values and from its inputs."""

import json
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import polars as pl
import pytest

from concord.metrics_core.decision import read_decision as reading
from concord.metrics_core.decision import replay as replaying
from concord.metrics_core.decision.replay import replay
from concord.metrics_core.decision.result import Replay
from concord.metrics_core.decision.write_decision import without_ids
from concord.metrics_core.errors import InputError
from concord.metrics_core.evaluation.accumulator import program_versions
from concord.metrics_core.results.comparison_parts import DataWarning
from tests.in_process import run_concord
from tests.metrics_core.decision import decisions
from tests.metrics_core.decision.decisions import KINDS, MARK, MODELS, VALUES, decide, truth

Decide = Callable[..., Path]
__all__ = ["decide"]


def outcomes(result: Replay, kind: str) -> dict[str, str]:
    return {each.name: each.outcome for each in result.parts if each.kind == kind}


@pytest.mark.parametrize("kind", [*KINDS, *VALUES])
def test_the_comparison_follows_from_values_without_ids(kind: str, decide: Decide) -> None:
    path = decide(kind)

    result = replay(path)

    assert MARK.encode() not in path.read_bytes()
    assert [each for each in result.parts if each.outcome in {"different", "close"}] == []
    assert outcomes(result, "comparison")["pairs"] == "equal"
    assert result.outcome == "inputs_not_seen"


def write_inputs(folder: Path, kind: str) -> None:
    """Write the tables of a comparison as their names say."""
    options = {"models": MODELS, "truth": truth(), **decisions.OPTIONS, **KINDS[kind]}
    for name in ("train", "items", "users"):
        if name in options:
            options[name].write_parquet(folder / f"{name}.parquet")
    tables = {"truth": options["truth"], **options["models"]}
    for name, table in tables.items():
        of_name = table["replicates"] if isinstance(table, dict) else {"": table}
        for number, each in of_name.items():
            parts = [] if number and name == "truth" else [name]
            each.write_parquet(
                folder / f"{'-'.join([*parts, *filter(None, [str(number)])])}.parquet"
            )


@pytest.mark.parametrize("kind", KINDS)
def test_tables_in_memory_are_found_as_parquet_by_their_names(
    kind: str, decide: Decide, tmp_path: Path
) -> None:
    path = decide(kind)
    write_inputs(tmp_path, kind)

    result = replay(path, tmp_path)

    assert [each for each in result.parts if each.outcome != "equal"] == []
    assert result.outcome == "verified"


def test_files_are_found_by_path_and_by_name(
    decide: Decide, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    models = {}
    for name, table in MODELS.items():
        models[name] = f"data/{name}.csv"
        table.rename({"user": "customer"}).write_csv(models[name])
    truth().with_columns(split=pl.lit("test")).write_csv("data/test.csv")
    tables: dict[str, Any] = {"models": models, "truth": "data/test.csv"}
    tables["columns"] = {name: {"user": "customer"} for name in models}
    tables["where"] = {"truth": {"split": "test"}}
    path = decide(**tables)
    decisions.ITEMS.write_parquet("items.parquet")
    decisions.ITEMS.write_parquet("data/items.parquet")

    assert replay(path, tmp_path).outcome == "verified"
    assert replay(path, tmp_path / "data").outcome == "verified"


@pytest.mark.parametrize("kind", VALUES)
def test_values_of_another_tool_are_read_again(kind: str, decide: Decide, tmp_path: Path) -> None:
    path = decide(kind)
    for name, values in {
        "new": decisions.values(1, **VALUES[kind]),
        "old": decisions.values(2),
    }.items():
        columns = {metric: [*by_user.values()] for metric, by_user in values.items()}
        pl.DataFrame({"user": [*values["AP"]], **columns}).reverse().write_parquet(
            tmp_path / f"{name}.parquet"
        )

    assert replay(path, tmp_path).outcome == "verified"


def test_another_file_is_different(decide: Decide, tmp_path: Path) -> None:
    path = decide()
    write_inputs(tmp_path, "plain")
    MODELS["old"].write_parquet(tmp_path / "new.parquet")

    result = replay(path, tmp_path)

    assert outcomes(result, "input")["new (new)"] == "different"
    assert outcomes(result, "values") == {"new": "different", "old": "equal"}
    assert result.outcome == "different"


def test_inputs_that_are_not_there_are_not_checked(decide: Decide, tmp_path: Path) -> None:
    path = decide()
    write_inputs(tmp_path, "plain")
    (tmp_path / "truth.parquet").unlink()

    result = replay(path, tmp_path)

    assert set(outcomes(result, "input").values()) == {"not_checked"}
    assert result.outcome == "inputs_not_seen"


def changed(path: Path, name: str, change: Callable[[bytes], bytes]) -> Path:
    """Return a copy of a decision with another content of an entry."""
    with ZipFile(path) as archive:
        entries = {each: archive.read(each) for each in archive.namelist()}
    entries[name] = change(entries[name])
    copy = path.with_name("changed.concord")
    with ZipFile(copy, "w") as archive:
        for each, content in entries.items():
            archive.writestr(each, content)
    return copy


def with_json(change: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    def apply(content: bytes) -> bytes:
        loaded = json.loads(content)
        change(loaded)
        return json.dumps(loaded).encode()

    return apply


def test_a_changed_number_is_named(decide: Decide) -> None:
    def raise_mean(content: dict[str, Any]) -> None:
        content["scores"][0]["mean"] += 1e-12

    result = replay(changed(decide(), "comparison.json", with_json(raise_mean)))

    (different,) = [each for each in result.parts if each.outcome == "different"]
    assert different.name == "scores"
    assert str(different.difference).startswith("scores.0.mean is 0.")
    assert result.outcome == "different"


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "title": lambda content: content.update(title="Another"),
    "metrics": lambda content: content["metrics"][0].update(higher_is_better=False),
    "conventions": lambda content: content["conventions"]["values"][0].update(value=4),
    "primary": lambda content: content.update(primary=["R@5"]),
}


@pytest.mark.parametrize("part", CHANGES)
def test_settings_that_were_changed_are_different(part: str, decide: Decide) -> None:
    result = replay(changed(decide(), "comparison.json", with_json(CHANGES[part])))

    different = {each.name for each in result.parts if each.outcome == "different"}
    assert part in different


def test_a_model_may_have_the_name_of_a_key(decide: Decide, tmp_path: Path) -> None:
    models = {"setting": MODELS["new"], "old": MODELS["old"]}

    def change(content: dict[str, Any]) -> None:
        content["panel"][0]["definitions"][0]["values"]["setting"] = 2.0

    write_inputs(tmp_path, "plain")
    for name, table in models.items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    path = decide(models=models, baseline="old")

    result = replay(changed(path, "comparison.json", with_json(change)), tmp_path)
    assert "panel" in {each.name for each in result.parts if each.outcome == "different"}


INDEX_CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "no inputs": lambda content: content.update(inputs=None),
    "an unknown key": lambda content: content["inputs"][0].update(other=1),
    "no schema": lambda content: content.update(schema=None),
    "no versions": lambda content: content.update(versions=None),
    "no lists": lambda content: content.update(lists=[]),
}


@pytest.mark.parametrize("change", INDEX_CHANGES)
def test_another_index_is_an_error(change: str, decide: Decide) -> None:
    path = changed(decide(), "decision.json", with_json(INDEX_CHANGES[change]))

    with pytest.raises(InputError, match="is no decision that can be read"):
        replay(path)


def test_a_release_reads_what_its_candidate_wrote(decide: Decide) -> None:
    installed = program_versions()["concord-eval"]

    def candidate(content: dict[str, Any]) -> None:
        content["versions"]["concord-eval"] = f"{installed}rc1"

    path = changed(decide(), "decision.json", with_json(candidate))
    other_words = changed(path, "answer.txt", lambda content: content + b"more\n")
    result = replay(other_words)
    assert result.outcome == "inputs_not_seen"
    assert outcomes(result, "comparison")["answer.txt"] == "not_checked"


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        (0.0, 3, "Verified from the stored values; not all inputs were seen."),
        (0.1, 1, "  comparison, different: scores.0.mean is "),
    ],
)
def test_the_command_says_what_is_verified(
    change: float, code: int, text: str, decide: Decide, tmp_path: Path
) -> None:
    def raise_mean(content: dict[str, Any]) -> None:
        content["scores"][0]["mean"] += change

    path = changed(decide(), "comparison.json", with_json(raise_mean))
    ended = run_concord(tmp_path, "replay", str(path))

    assert ended.returncode == code
    assert text in ended.stdout


def test_a_changed_value_is_found(decide: Decide) -> None:
    def change(content: bytes) -> bytes:
        values = pl.read_parquet(content)
        assert values.columns == ["nDCG@5"]
        return _parquet(values * 0.5)

    result = replay(changed(decide(), "values/0/2.parquet", change))

    assert outcomes(result, "comparison")["scores"] == "different"


def _parquet(frame: pl.DataFrame) -> bytes:
    file = BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def without_options(content: dict[str, Any]) -> None:
    del content["options"]


@pytest.mark.parametrize(
    ("entry", "change"),
    [
        ("values/0/1.parquet", lambda _: b"no parquet"),
        ("users/0.parquet", lambda _: b""),
        ("decision.json", with_json(without_options)),
    ],
)
def test_a_damaged_entry_is_an_error(
    entry: str, change: Callable[[bytes], bytes], decide: Decide
) -> None:
    path = changed(decide(), entry, change)

    with pytest.raises(InputError, match=r"changed\.concord: is no decision that can be read"):
        replay(path)


def test_files_outside_of_the_folder_are_not_read(decide: Decide, tmp_path: Path) -> None:
    MODELS["new"].write_parquet(tmp_path / "lists.parquet")
    inside = tmp_path / "inside"
    inside.mkdir()
    write_inputs(inside, "plain")
    path = decide(models={**MODELS, "new": str(inside / ".." / "lists.parquet")})

    result = replay(path, inside)

    assert result.outcome == "inputs_not_seen"


def test_files_above_the_evaluation_are_found_from_the_repository(
    decide: Decide, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = tmp_path / "evaluation"
    evaluation.mkdir()
    monkeypatch.chdir(evaluation)
    models = {name: f"../{name}.parquet" for name in MODELS}
    for name, table in MODELS.items():
        table.write_parquet(models[name])
    truth().write_parquet("../truth.parquet")
    decisions.ITEMS.write_parquet("../items.parquet")
    path = decide(models=models, truth="../truth.parquet")

    assert replay(path, tmp_path).outcome == "verified"
    with pytest.raises(InputError, match="nowhere: is not a folder"):
        replay(path, "nowhere")
    with pytest.raises(InputError, match="nofile: there is no such file"):
        replay("nofile")


@pytest.mark.parametrize(("change", "outcome"), [(1e-12, "close"), (1e-6, "different")])
def test_other_versions_may_differ_by_rounding(
    change: float, outcome: str, decide: Decide, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_mean(content: dict[str, Any]) -> None:
        content["scores"][0]["mean"] += change

    path = changed(decide(), "comparison.json", with_json(raise_mean))
    versions = {**program_versions(), "numpy": "99.0"}
    monkeypatch.setattr(replaying, "program_versions", lambda: versions)

    result = replay(path)

    assert outcomes(result, "comparison")["scores"] == outcome
    assert result.written_with != result.replayed_with


def test_a_newer_concord_names_the_version_to_install(decide: Decide) -> None:
    def newer(content: dict[str, Any]) -> None:
        content["versions"]["concord-eval"] = "99.1.0"

    path = changed(decide(), "decision.json", with_json(newer))

    with pytest.raises(InputError, match=r"install that version: pip install concord-eval==99.1.0"):
        replay(path)


@pytest.mark.parametrize("content", [b"", b"PK not a zip", "zip"])
def test_another_file_is_no_decision(content: bytes | str, tmp_path: Path) -> None:
    path = tmp_path / "other.concord"
    if content == "zip":
        with ZipFile(path, "w") as archive:
            archive.writestr("hello.txt", "hello")
    else:
        path.write_bytes(content)  # type: ignore[arg-type]

    with pytest.raises(InputError, match=r"other\.concord: is no decision that can be read"):
        reading.read_decision(path)


def test_findings_about_ids_name_none(decide: Decide) -> None:
    details = {"item": f"{MARK}padding", "example": f"{MARK}7", "share": 0.5}
    warning = DataWarning("padding_item", "notice", (), details)
    notes = [f"3 rows: ids such as '{MARK}7.0' are read as '{MARK}7'"]
    quality: dict[str, Any] = {"new": {"rewritten": {"example": f"{MARK}7"}, "notes": notes}}
    comparison = reading.read_decision(decide()).comparison

    hidden = without_ids(replace(comparison, warnings=(warning,), quality=quality))

    assert hidden.warnings[0].details == {"item": "…", "example": "…", "share": 0.5}
    assert hidden.quality == {"new": {"rewritten": {"example": "…"}, "notes": []}}


@pytest.mark.parametrize("kind", ["plain", "segments", "replicates"])
def test_the_same_comparison_has_the_same_bytes(kind: str, decide: Decide) -> None:
    first, again = decide(kind), decide(kind, name="again.concord")

    assert first.read_bytes() == again.read_bytes()


def test_the_order_of_rows_does_not_count(decide: Decide) -> None:
    models = {
        name: table.sample(fraction=1.0, shuffle=True, seed=3) for name, table in MODELS.items()
    }

    first, again = decide(), decide(name="again.concord", models=models, truth=truth().reverse())

    before, after = map(reading.read_decision, (first, again))
    assert [each["sha256"] for each in before.index["inputs"]] == [
        each["sha256"] for each in after.index["inputs"]
    ]
    values = {name for name in before.entries if name.startswith("values/")}
    assert {n: before.entries[n] for n in values} == {n: after.entries[n] for n in values}


def test_users_of_a_dict_without_items_are_in_no_file(decide: Decide, tmp_path: Path) -> None:
    by_user = {user: rows["item"].to_list() for (user,), rows in truth().group_by("user")}
    path = decide(truth=by_user | {f"{MARK}nobody": []})
    write_inputs(tmp_path, "plain")

    result = replay(path, tmp_path)

    assert outcomes(result, "input")["truth (truth)"] == "not_checked"
    assert result.outcome == "inputs_not_seen"
