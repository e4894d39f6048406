"""comparison.json: round trips and messages for invalid files."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from concord.metrics_core.conventions import values_version
from concord.metrics_core.conventions.values_version import VALUES_VERSION
from concord.metrics_core.errors import InputError
from concord.metrics_core.results.behaviour import BehaviourCheck, BehaviourExample
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.comparison_parts import Acknowledgement, TieRange, Unit
from concord.metrics_core.results.gate import UnmatchedModels
from concord.metrics_core.results.stored import (
    SCHEMA,
    from_content,
    json_schema,
    read_comparison,
    to_content,
    to_json,
)
from tests.metrics_core.defined import defined
from tests.reports.samples import sample
from tests.reports.samples.sample_replicates import replicate_sample

Content = dict[str, Any]
SAMPLES: Mapping[str, Callable[[], Content]] = {
    "five": sample.five_models,
    "gated": sample.gated,
    "one": sample.one_model,
    "hostile": sample.hostile_names,
    "nothing": sample.without_numbers,
}
AGAIN = "evaluate again"


@pytest.mark.parametrize("name", list(SAMPLES))
def test_a_comparison_is_written_as_its_content_and_read_back(tmp_path: Path, name: str) -> None:
    content = SAMPLES[name]()
    comparison = from_content(content)
    path = tmp_path / "comparison.json"
    path.write_bytes(to_json(comparison).encode())

    assert read_comparison(path) == comparison
    assert to_json(read_comparison(path)).encode() == path.read_bytes()
    assert to_content(comparison) == content == json.loads(path.read_bytes())
    assert list(content)[:2] == ["schema", "title"]


def test_a_comparison_of_replicates_is_read_back() -> None:
    assert from_content(to_content(replicate_sample())) == replicate_sample()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_and_infinity_are_written_as_null(value: float) -> None:
    comparison = from_content(sample.two_models())
    unknown = replace(comparison.scores[0], mean=value)

    written = to_content(replace(comparison, scores=(unknown,)))

    assert unknown.mean is None
    assert written["scores"][0]["mean"] is None


@pytest.mark.parametrize(
    ("found", "problem", "fix"),
    [
        (
            0,
            f"has values of version 0, and this Concord computes version {VALUES_VERSION}",
            "read 'Values changed' in the changelog, then evaluate again",
        ),
        (
            VALUES_VERSION + 1,
            f"has values of version {VALUES_VERSION + 1}, and this Concord computes version "
            f"{VALUES_VERSION}",
            "install a newer Concord, or evaluate again",
        ),
        (None, "has no values_version", AGAIN),
        *(
            (each, f"has values_version {each!r}, which must be a whole number", AGAIN)
            for each in (float(VALUES_VERSION), True, str(VALUES_VERSION))
        ),
    ],
)
def test_values_of_another_version_are_refused(found: object, problem: str, fix: str) -> None:
    with pytest.raises(InputError) as caught:
        from_content(sample.two_models() | {"values_version": found})

    assert [(each.message, each.fix) for each in caught.value.problems] == [(problem, fix)]


def test_the_fix_names_the_releases_that_compute_these_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(values_version, "VALUES_VERSION", 2)

    with pytest.raises(InputError, match=r"again; or `pip install 'concord-eval==0\.1\.\*'`$"):
        from_content(sample.two_models())


@pytest.mark.parametrize("schema", [0, SCHEMA + 1, None, str(SCHEMA)])
def test_another_schema_is_refused(tmp_path: Path, schema: object) -> None:
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps(sample.two_models() | {"schema": schema}), encoding="utf-8")

    with pytest.raises(InputError) as caught:
        read_comparison(path)

    (problem,) = caught.value.problems
    assert problem.where == str(path)
    assert problem.message == f"has schema {schema}, and this version reads {SCHEMA}"
    assert problem.fix == AGAIN


NOT_OBJECTS = (b"[]", b'["schema"]', b"3", b'"schema"', b"null")
NOT_JSON = (
    b"",
    b"{",
    b'{"schema": 3,}',
    b'{"schema": 3} {}',
    b"schema: 3",
    b'{"schema": 3, "title": "\xff"}',
    b'{"schema": 1e999}',
    b'{"schema": NaN}',
    b'{"a": ' + b"1" * 5000 + b"}",
    b'{"a":' * 99_999,
)


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        *((text, "is damaged: it is not a JSON object") for text in NOT_OBJECTS),
        *((text, "is damaged: it is not valid JSON") for text in NOT_JSON),
        (b"{}", f"has schema None, and this version reads {SCHEMA}"),
        (None, "there is no such file"),
    ],
)
def test_a_file_that_holds_no_comparison_is_refused(
    tmp_path: Path, file: bytes | None, problem: str
) -> None:
    path = tmp_path / "comparison.json"
    if file is not None:
        path.write_bytes(file)

    with pytest.raises(InputError, match=problem) as refused:
        read_comparison(path)

    assert str(path) in str(refused.value)
    assert AGAIN in str(refused.value)


REMOVED: list[tuple[str | int, ...]] = [
    ("title",), ("baseline",), ("primary",), ("confidence",), ("models",), ("metrics",), ("ks",),
    ("scores",), ("pairs",), ("metrics", 0, "min_effect"),
    ("scores", 1, "n_users"), ("pairs", 2, "verdict"),
    ("panel", 0, "definitions", 1, "ranks"), ("panel", 0, "definitions", 1, "changed"),
    ("segments", 0, "cells", 3, "is_reversed"),
    ("conventions", "values", 0, "value"),
    ("provenance", "inputs", 0, "sha256"), ("warnings", 0, "models"),
]  # fmt: skip
UNKNOWN: list[tuple[str | int, ...]] = [
    ("colour",), ("metrics", 0, "colour"), ("scores", 0, "colour"),
    ("pairs", 0, "colour"), ("segments", 0, "cells", 0, "colour"),
    ("panel", 0, "definitions", 0, "colour"), ("conventions", "colour"),
    ("provenance", "inputs", 0, "colour"),
]  # fmt: skip
INVALID: list[tuple[tuple[str | int, ...], object]] = [
    (("panel",), None), (("segments",), None), (("tradeoffs",), None), (("distributions",), None),
    (("best",), None), (("warnings",), None), (("quality",), None), (("conventions",), None),
    (("pairs", 0, "verdict"), "splendid"), (("warnings", 0, "severity"), "dire"),
    (("scores", 0, "mean"), "much"), (("ks",), [1.5]), (("models",), "popularity"),
]  # fmt: skip
MISSING = object()


@pytest.mark.parametrize(
    ("path", "value", "after"),
    [
        *((path, MISSING, ": ") for path in REMOVED),
        *((path, [], ": ") for path in UNKNOWN),
        *((path, value, "") for path, value in INVALID),
    ],
)
def test_a_missing_unknown_or_invalid_key_is_named(
    path: tuple[str | int, ...], value: object, after: str
) -> None:
    content = sample.five_models()
    part: Any = content
    for step in path[:-1]:
        part = part[step]
    if value is MISSING:
        del part[path[-1]]
    else:
        part[path[-1]] = value

    with pytest.raises(InputError) as refused:
        from_content(content, "that file")

    (problem,) = refused.value.problems
    assert problem.where == "that file"
    assert problem.message.startswith(".".join(map(str, path)) + after)
    assert value is not MISSING or "required" in problem.message.lower()
    assert problem.fix == AGAIN


@pytest.mark.parametrize("name", list(SAMPLES))
def test_the_schema_names_every_key_that_is_written(name: str) -> None:
    schema = json_schema()
    visited: set[str] = set()

    _assert_described(to_content(from_content(SAMPLES[name]())), schema, schema["$defs"], visited)

    if name == "gated":
        _assert_described(to_content(replicate_sample()), schema, schema["$defs"], visited)
        _assert_described(to_content(of_requests()), schema, schema["$defs"], visited)
        _assert_described(to_content(with_unmatched_models()), schema, schema["$defs"], visited)
        _assert_described(to_content(with_acknowledged()), schema, schema["$defs"], visited)
        _assert_described(to_content(with_list_parts()), schema, schema["$defs"], visited)
        assert visited == set(schema["$defs"])  # every part occurs in one of both samples
    assert schema["properties"]["schema"] == {"const": SCHEMA}
    assert "schema" in schema["required"]
    assert schema["required"] == [key for key in schema["properties"] if key in schema["required"]]


# Keys that are there only where requests are the unit, a model lacks lists, or more were tried.
OPTIONAL = {
    *("unit", "words", "tried", "references", "doubts", "failed_checks", "chosen"),
    *("n_requests", "n_unlisted", "n_without_list", "n_with_both"),
    "decimals",  # of labels that the comparison has
    *("order_decides", "ties"),  # of equal scores that ids order
}
OPTIONAL_OF = {
    "Acknowledgement": {"models"},
    "BehaviourCheck": {"at_least", "n_places", "reference", "share"},  # of one of the kinds
    "BehaviourExample": {"item", "rank", "share"},
    "Gap": {"ratio", "difference", "diff_low", "diff_high", "p", "p_adjusted"},  # where compared
    "Segmentation": {"shares"},  # of items
    # of undecided ones, of success metrics, against a revision
    "Guardrail": {"users_needed", "detectable", "departed", "revision", "departure"},
    "Decision": {"unmatched"},  # of models that may be renamed ones
    "Success": {"detectable", "departed"},
    "ModelDecision": {"reference"},  # of new models that are held against the baseline
    "DataWarning": {"acknowledgement"},
}


@pytest.mark.parametrize(
    ("code", "details"),
    [
        ("short_lists", {}),
        ("short_lists", {"k": 10, "share": "half", "unit": "user", "model": "als"}),
        ("below_popular", {"label": "AP"}),
        ("truth_in_train", {"rows": 1, "users": 1, "of_rows": 0}),
        ("few_judged", {"sentence": "x"}),
    ],
)
def test_warning_with_unusable_details_shows_its_code(
    code: str, details: dict[str, object]
) -> None:
    warning = {"code": code, "severity": "notice", "models": [], "details": details}

    (read,) = from_content(sample.gated() | {"warnings": [warning]}).warnings

    assert read.sentence.startswith(code)
    assert read.fix == ""


def with_unmatched_models() -> Comparison:
    comparison = from_content(sample.gated())
    unmatched = UnmatchedModels(("bpr",), ("slim",), "models.slim.was: bpr", ("ignore",))
    return replace(comparison, gate=replace(defined(comparison.gate), unmatched=unmatched))


def with_list_parts() -> Comparison:
    """Return a comparison with equal scores and a failed check."""
    ties = TieRange("als", "nDCG@10", average=0.3, low=0.1, high=0.5, n_users=4)
    example = BehaviourExample("u1", "i1", 3)
    check = BehaviourCheck("adult", "never", "als", 10, False, 3, n_failed=1, examples=(example,))
    return replace(from_content(sample.two_models()), ties=(ties,), checks=(check,))


def with_acknowledged() -> Comparison:
    comparison = from_content(sample.five_models())
    acknowledgement = Acknowledgement("known", None, is_exceeded=False)
    warnings = tuple(replace(w, acknowledgement=acknowledgement) for w in comparison.warnings)
    return replace(comparison, warnings=warnings)


def of_requests() -> Comparison:
    comparison = from_content(sample.two_models())
    scores = tuple(replace(score, n_requests=3 * score.n_users) for score in comparison.scores)
    return replace(comparison, scores=scores, unit=Unit(("user", "session"), "requests"))


def test_requests_are_stored_where_they_are_the_unit() -> None:
    content, users = to_content(of_requests()), to_content(from_content(sample.two_models()))

    assert content["unit"] == {"columns": ["user", "session"], "mean": "requests"}
    assert from_content(content) == of_requests()
    assert {*users} & OPTIONAL == {"references"}
    assert OPTIONAL.isdisjoint(users["scores"][0])
    assert "n_requests" in of_requests().leaderboard.columns


def _assert_described(
    content: Any, schema: Content, parts: Mapping[str, Content], visited: set[str]
) -> None:
    """Assert that every object has only properties of its schema, and all required ones."""
    if name := schema.get("$ref"):
        part = name.removeprefix("#/$defs/")
        visited.add(part)
        return _assert_described(content, parts[part], parts, visited)
    if kinds := schema.get("anyOf"):
        if content is None:
            assert {"type": "null"} in kinds
            return None
        (kind,) = (kind for kind in kinds if kind != {"type": "null"})
        return _assert_described(content, kind, parts, visited)
    if isinstance(content, list) and schema:
        assert schema["type"] == "array"
        for n, each in enumerate(content):
            prefix = schema.get("prefixItems")
            _assert_described(each, prefix[n] if prefix else schema["items"], parts, visited)
    elif isinstance(content, dict) and "properties" in schema:
        absent = [key for key in schema["properties"] if key not in content]
        excluded = OPTIONAL | OPTIONAL_OF.get(schema["title"], set())
        assert set(absent) <= excluded
        assert set(content) == schema["properties"].keys() - absent
        assert set(schema["required"]) <= set(content)
        if schema["title"] != "comparison.json":  # parts have no other keys that may be left out
            assert schema["required"] == [key for key in content if key not in excluded]
        for key, each in content.items():
            _assert_described(each, schema["properties"][key], parts, visited)
    elif isinstance(content, dict) and schema.get("type") == "object":
        of_each = schema.get("additionalProperties")
        for each in content.values():
            _assert_described(each, of_each if isinstance(of_each, dict) else {}, parts, visited)
    return None
