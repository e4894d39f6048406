"""SQL that parses values: NULL if a value cannot be read, with its text in a second column."""

from collections.abc import Mapping

from concord.metrics_core.data.input_table import Kind, role_of

EXACT = 2**53  # beyond it a float64 no longer holds every integer
HOLDS: Mapping[Kind, int] = {"half": 2**11, "single": 2**24, "float": EXACT}

_WHOLE = "floor({x}) = {x} AND abs({x}) < {highest}"
_ID: Mapping[Kind, str] = {
    "text": "{x}",
    "integer": "{x}",
    "unsigned": "TRY_CAST({x} AS BIGINT)",
    "json": """CASE WHEN starts_with({x}, '"') THEN json_extract_string({x}, '$')
        WHEN regexp_full_match({x}, '-?[0-9]+') THEN CAST({x} AS VARCHAR) END""",
}
_DOUBLE = "TRY_CAST({x} AS DOUBLE)"
_BARE = """trim(CAST({x} AS VARCHAR), ' "' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13))"""
_DIGITS = "[+-]?[0-9]+[.]?[0-9]*"  # no power of ten, with which floats write what is large
# Beyond 2^53 two integers would become one float. A decimal point may stand there if the float is what is written.
_LOST = f"""(regexp_full_match({_BARE}, '{_DIGITS}') AND NOT coalesce(CASE
    WHEN NOT contains({{x}}, '.') THEN TRY_CAST({_BARE} AS HUGEINT) BETWEEN -{EXACT} AND {EXACT}
    ELSE rtrim(split_part({_BARE}, '.', 2), '0') = ''
        AND TRY_CAST(split_part({_BARE}, '.', 1) AS HUGEINT) = TRY_CAST({_DOUBLE} AS HUGEINT) END, FALSE))"""
_NUMBER: Mapping[Kind, str] = {  # DuckDB would take 1_000 for 1000 and true for 1
    "text": f"CASE WHEN NOT contains({{x}}, '_') THEN {_DOUBLE} END",
    "json": f"CASE WHEN {{x}} NOT IN ('true', 'false') THEN {_DOUBLE} END",
    "integer": f"CASE WHEN {{x}} BETWEEN -{EXACT} AND {EXACT} THEN CAST({{x}} AS DOUBLE) END",
    "unsigned": f"CASE WHEN {{x}} <= {EXACT} THEN CAST({{x}} AS DOUBLE) END",
    "float": "{x}",
}
_RANK: Mapping[Kind, str] = {"integer": "{x}", "unsigned": "TRY_CAST({x} AS BIGINT)"}
# Seconds since 1970, or the number as it is: times are only ever compared with each other.
_TIME: Mapping[Kind, str] = {
    "text": f"coalesce(CASE WHEN NOT contains({{x}}, '_') THEN {_DOUBLE} END, epoch(TRY_CAST({{x}} AS TIMESTAMP)))",
    "json": "coalesce(TRY_CAST({x} AS DOUBLE), epoch(TRY_CAST(json_extract_string({x}, '$') AS TIMESTAMP)))",
}
_ALWAYS = {("id", "text"), ("id", "integer"), ("rank", "integer"), ("number", "float")}
_ALWAYS |= {("time", "float"), ("time", "integer")}


def is_sure(name: str, kind: Kind) -> bool:
    """True if every value of this kind can be read as the column `name`."""
    return (role_of(name), kind) in _ALWAYS


def value(name: str, kind: Kind) -> str:
    """Return SQL of the value of the column `name`."""
    return f"{_readable(name, kind)} AS {name}"


def wrong(name: str, kind: Kind) -> str:
    """Return SQL of the text of a value that cannot be read, or not without loss."""
    text, read = f"CAST({name} AS VARCHAR)", _readable(name, kind)
    if role_of(name) == "number" and kind in ("text", "json"):
        # The number is made once for each row, the rest is asked where it is large or none.
        is_wrong = f"WHEN abs({read}) < {EXACT} OR trim({text}) = '' THEN NULL WHEN {read} IS NULL OR {_LOST.format(x=name)} OR (isinf({read}) AND regexp_matches({text}, '[0-9]'))"
    else:
        is_wrong = f"WHEN {read} IS NULL AND trim({text}) <> ''"
    return f"CASE {is_wrong} THEN {text} END AS {name}_wrong"


def is_beyond(name: str) -> str:
    """Return SQL that is true if the text that could not be read is a number beyond 2^53."""
    text = _BARE.format(x=f"{name}_wrong")
    digits = f"regexp_full_match({text}, '{_DIGITS}')"
    return f"coalesce({digits} AND abs(TRY_CAST({text} AS DOUBLE)) >= {EXACT}, FALSE)"


def _readable(name: str, kind: Kind) -> str:
    role = role_of(name)
    if role == "id":
        return _float_id(name, HOLDS[kind]) if kind in HOLDS else _ID[kind].format(x=name)
    if role == "time":
        return _TIME.get(kind, _DOUBLE).format(x=name)
    number = _NUMBER[kind].format(x=name)
    if role == "rank":
        whole = _WHOLE.format(x=f"({number})", highest=EXACT)
        return _RANK.get(kind, f"CASE WHEN {whole} THEN CAST({number} AS BIGINT) END").format(
            x=name
        )
    if name == "grade" and kind in ("text", "json"):
        said = f"lower({_BARE.format(x=name)})"
        return f"coalesce({number}, CASE {said} WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END)"
    return number


def _float_id(name: str, highest: int) -> str:
    return f"CASE WHEN {_WHOLE.format(x=name, highest=highest)} THEN CAST({name} AS BIGINT) END"
