"""Pictures of the documentation: each guide has one, and `make images` makes them."""

import re
from pathlib import Path

import pytest

from docs.how_to_pages import PICTURES
from docs.make_images import ELEMENTS, GALLERY, IMAGES
from tests.project import ROOT

GUIDES = [p for p in sorted((ROOT / "docs" / "how-to").glob("*.md")) if p.name != "index.md"]
BY_HAND = "mlflow-compare.png"
MOST_BYTES = 60_000
_PICTURE = re.compile(r"^!\[(.+)\]\(\.\./images/([\w-]+\.png)\)$", re.MULTILINE)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_guide_shows_what_comes_out(guide: Path) -> None:
    pictures = _PICTURE.findall(guide.read_text(encoding="utf-8"))

    assert pictures != []
    assert [name for _, name in pictures if not (IMAGES / name).is_file()] == []
    assert [text for text, _ in pictures if len(text.split()) < 5] == []


def test_each_picture_is_made_from_a_page_and_small() -> None:
    files = {file.name: file.stat().st_size for file in IMAGES.glob("*.png")}

    assert {*files} == {*ELEMENTS, *GALLERY, *PICTURES, BY_HAND}
    assert [name for name, size in files.items() if size > MOST_BYTES] == []
