"""The check of licences: permitted ones, exceptions, and completeness."""

import pytest

from docs.make_licences import EXCEPTIONS, PAGE, licence, needed, permitted, refused


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-2.0-or-later", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", True),
        ("GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("MIT AND GPL-2.0-only", False),
        ("unknown", False),
        ("Commercial", False),
    ],
)
def test_permitted_licences(expression: str, *, expected: bool) -> None:
    assert permitted(expression) == expected


def test_licence_that_is_not_permitted_is_refused_unless_named() -> None:
    selected = dict.fromkeys(EXCEPTIONS, "GPL-2.0")
    assert refused({"ours": "MIT"} | selected) == []
    assert refused({"theirs": "AGPL-3.0-only"} | selected)[0].startswith("theirs: AGPL-3.0-only is")
    assert refused({"theirs": "unknown"} | selected)[0].startswith(
        "theirs: unknown is not permitted"
    )


def test_an_exception_that_nothing_needs_is_reported() -> None:
    assert len(refused({"huey": "MIT"})) == len(EXCEPTIONS)


def test_all_that_runs_is_on_the_page_and_nothing_of_the_tests() -> None:
    names = needed()
    assert {"duckdb", "mlflow", "dvc", "jinja2", "markupsafe", "pywin32"} <= set(names)
    assert not {"pytest", "ruff", "mypy", "hypothesis"} & set(names)
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    assert [row.split(" | ")[0][2:] for row in rows[1:]] == names
    assert licence("no-such-package") == "unknown"
