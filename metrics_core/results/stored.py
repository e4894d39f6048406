"""Write and read comparison.json and cases.json: a Comparison and Cases as versioned JSON."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from concord.metrics_core.analyses.cases.result import Cases
from concord.metrics_core.conventions.values_version import (
    VALUES_VERSION,
    values_version_problem,
)
from concord.metrics_core.errors import refuse, report_missing_extra
from concord.metrics_core.files import described_schema, load_json
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.reference import References

CASES, DECISION = "cases.json", "decision.concord"
SCHEMA = 1  # keys may be added to a schema; if one changes or goes, the number rises
EVALUATE_AGAIN = "evaluate again"  # the fix unless a caller knows the command


def to_content(comparison: Comparison) -> dict[str, Any]:
    """Return the content of comparison.json."""
    return {"schema": SCHEMA, **comparison.to_dict()}


def to_json(comparison: Comparison) -> str:
    """Return the text of comparison.json."""
    return _text(to_content(comparison))


def cases_to_json(cases: Cases) -> str:
    """Return the text of cases.json."""
    return _text({"schema": SCHEMA, "values_version": VALUES_VERSION, **cases.to_dict()})


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def from_content(
    content: Mapping[str, Any], where: str = "comparison", fix: str = EVALUATE_AGAIN
) -> Comparison:
    """Return the comparison with this content of comparison.json.

    Raises
    ------
    InputError
        The content is not that of a comparison, or has a schema that this version cannot read.
    """
    comparison: Comparison = _validate(Comparison, content, where, fix)
    return comparison


def _validate(kind: type, content: Any, where: str, fix: str) -> Any:
    schema = content.get("schema") if isinstance(content, Mapping) else None
    if schema != SCHEMA:
        raise refuse(where, f"has schema {schema}, and this version reads {SCHEMA}", fix)
    if problem := values_version_problem(content.get("values_version"), fix):
        raise refuse(where, *problem)
    with report_missing_extra():
        from pydantic import ValidationError  # takes 0.1 s

    values = {k: part for k, part in content.items() if k not in {"schema", "values_version"}}
    try:
        return _adapter(kind).validate_python(values, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise refuse(where, f"{key}: {first['msg']}", fix) from None


def read_comparison(path: Path, fix: str = EVALUATE_AGAIN) -> Comparison:
    """Return the comparison of a file.

    Raises
    ------
    InputError
        As `from_content`; or the file does not exist or is not JSON.
    """
    return from_content(load_json(path, fix), str(path), fix)


def read_cases(path: Path, fix: str = EVALUATE_AGAIN) -> Cases:
    """Return the error analysis of a file; raise as `read_comparison`."""
    cases: Cases = _validate(Cases, load_json(path, fix), str(path), fix)
    return cases


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of comparison.json."""
    schema = _adapter(Comparison).json_schema()
    content = schema | {
        "title": "comparison.json",
        "properties": {"schema": {"const": SCHEMA}, **schema["properties"]},
        "required": ["schema", *schema["required"]],
    }
    return described_schema(content, "comparison", SCHEMA)


def read_references(path: Path, fix: str = EVALUATE_AGAIN) -> tuple[str, References | None]:
    """Return the fingerprint of the conventions, and the references, of a file; raise likewise."""
    content = load_json(path, fix)
    if content["references"] is None:
        return content["fingerprint"], None
    version = content.get("values_version")
    values = {"schema": SCHEMA, "values_version": version, **content["references"]}
    return content["fingerprint"], _validate(References, values, str(path), fix)


@cache
def _adapter(kind: type) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
