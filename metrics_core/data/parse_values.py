"""SQL that parses values: NULL for an invalid value, whose text goes to `<column>_invalid`."""

from collections.abc import Mapping

from concord.metrics_core.data.input_table import Kind, role_of

MAX_EXACT = 2**53  # a float64 holds every integer up to it
MAX_EXACT_OF_KIND: Mapping[Kind, int] = {"half": 2**11, "single": 2**24, "float": MAX_EXACT}

_IS_INTEGER = "floor({x}) = {x} AND abs({x}) < {limit}"
_ID: Mapping[Kind, str] = {
    "text": "{x}",
    "integer": "{x}",
    "unsigned": "TRY_CAST({x} AS BIGINT)",
    "json": """CASE WHEN starts_with({x}, '"') THEN json_extract_string({x}, '$')
        WHEN regexp_full_match({x}, '-?[0-9]+') THEN CAST({x} AS VARCHAR) END""",
}
_DOUBLE = "TRY_CAST({x} AS DOUBLE)"
_WHITESPACE = """' "' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"""
_STRIPPED = f"trim(CAST({{x}} AS VARCHAR), {_WHITESPACE})"
_DIGITS = "[+-]?[0-9]+[.]?[0-9]*"  # no power of ten: floats write large numbers with one
# Beyond 2^53 two integers would become one float. A decimal point is allowed if the float is exact.
_IS_INEXACT = f"""(regexp_full_match({_STRIPPED}, '{_DIGITS}') AND NOT coalesce(CASE
    WHEN NOT contains({{x}}, '.')
        THEN TRY_CAST({_STRIPPED} AS HUGEINT) BETWEEN -{MAX_EXACT} AND {MAX_EXACT}
    ELSE rtrim(split_part({_STRIPPED}, '.', 2), '0') = ''
        AND TRY_CAST(split_part({_STRIPPED}, '.', 1) AS HUGEINT)
            = TRY_CAST({_DOUBLE} AS HUGEINT) END, FALSE))"""
_INTEGER = f"CASE WHEN {{x}} BETWEEN -{MAX_EXACT} AND {MAX_EXACT} THEN CAST({{x}} AS DOUBLE) END"
_NUMBER: Mapping[Kind, str] = {  # DuckDB would read 1_000 as 1000 and true as 1
    "text": f"CASE WHEN NOT contains({{x}}, '_') THEN {_DOUBLE} END",
    "json": f"CASE WHEN {{x}} NOT IN ('true', 'false') THEN {_DOUBLE} END",
    "integer": _INTEGER,
    "unsigned": f"CASE WHEN {{x}} <= {MAX_EXACT} THEN CAST({{x}} AS DOUBLE) END",
    "float": "{x}",
}
_RANK: Mapping[Kind, str] = {"integer": "{x}", "unsigned": "TRY_CAST({x} AS BIGINT)"}
# Seconds since 1970, or the number unchanged: times are only compared with each other.
_TEXT_TIME = "epoch(TRY_CAST({x} AS TIMESTAMP))"
_JSON_TIME = "epoch(TRY_CAST(json_extract_string({x}, '$') AS TIMESTAMP))"
_TIME: Mapping[Kind, str] = {
    "text": f"coalesce(CASE WHEN NOT contains({{x}}, '_') THEN {_DOUBLE} END, {_TEXT_TIME})",
    "json": f"coalesce({_DOUBLE}, {_JSON_TIME})",
}
_ALWAYS_VALID = {
    ("id", "text"),
    ("id", "integer"),
    ("rank", "integer"),
    ("number", "float"),
    ("time", "float"),
    ("time", "integer"),
}


def is_always_valid(name: str, kind: Kind) -> bool:
    """True if every value of this kind can be read as the column `name`."""
    return (role_of(name), kind) in _ALWAYS_VALID


def value_sql(name: str, kind: Kind) -> str:
    """Return SQL of the value of the column `name`."""
    return f"{_parsed(name, kind)} AS {name}"


def invalid_sql(name: str, kind: Kind) -> str:
    """Return SQL of the text of a value that cannot be read, or not without loss."""
    text, parsed = f"CAST({name} AS VARCHAR)", _parsed(name, kind)
    if role_of(name) == "number" and kind in ("text", "json"):
        # Most rows need only the number; the other conditions are for large and invalid values.
        conditions = (
            f"WHEN abs({parsed}) < {MAX_EXACT} OR trim({text}) = '' THEN NULL "
            f"WHEN {parsed} IS NULL OR {_IS_INEXACT.format(x=name)} "
            f"OR (isinf({parsed}) AND regexp_matches({text}, '[0-9]'))"
        )
    else:
        conditions = f"WHEN {parsed} IS NULL AND trim({text}) <> ''"
    return f"CASE {conditions} THEN {text} END AS {name}_invalid"


def is_beyond_exact(name: str) -> str:
    """Return SQL that is true if an invalid text is a number beyond 2^53."""
    text = _STRIPPED.format(x=f"{name}_invalid")
    digits = f"regexp_full_match({text}, '{_DIGITS}')"
    return f"coalesce({digits} AND abs(TRY_CAST({text} AS DOUBLE)) >= {MAX_EXACT}, FALSE)"


def _parsed(name: str, kind: Kind) -> str:
    role = role_of(name)
    if role == "id":
        if kind not in MAX_EXACT_OF_KIND:
            return _ID[kind].format(x=name)
        is_integer = _IS_INTEGER.format(x=name, limit=MAX_EXACT_OF_KIND[kind])
        return f"CASE WHEN {is_integer} THEN CAST({name} AS BIGINT) END"
    if role == "time":
        return _TIME.get(kind, _DOUBLE).format(x=name)
    number = _NUMBER[kind].format(x=name)
    if role == "rank":
        is_integer = _IS_INTEGER.format(x=f"({number})", limit=MAX_EXACT)
        rank = f"CASE WHEN {is_integer} THEN CAST({number} AS BIGINT) END"
        return _RANK[kind].format(x=name) if kind in _RANK else rank
    if name == "grade" and kind in ("text", "json"):
        text = f"lower({_STRIPPED.format(x=name)})"
        return f"coalesce({number}, CASE {text} WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END)"
    return number
