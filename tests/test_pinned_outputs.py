"""All results of the demo and MovieLens are unchanged: refactoring changes no value and no word."""

import json
from pathlib import Path

import pytest

from tests.pinned_outputs import PINNED, hashes

pytestmark = pytest.mark.whole


@pytest.mark.parametrize("kind", ["values", "text"])
@pytest.mark.parametrize("project", ["demo", "movielens"])
def test_results_are_as_pinned(project: str, kind: str, request: pytest.FixtureRequest) -> None:
    """After an intended change, `python -m tests.pinned_outputs` writes the hashes again."""
    folder: Path = request.getfixturevalue("demo" if project == "demo" else "movielens_project")
    pinned = json.loads(PINNED.read_text(encoding="utf-8"))[project][kind]
    actual = hashes(folder)[kind]

    assert not [
        name for name in sorted({*pinned, *actual}) if pinned.get(name) != actual.get(name)
    ], "these files differ"
