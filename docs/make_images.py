"""`python -m docs.make_images`: the pictures of the documentation, from pages on the demo.

It needs `make repro` and Chromium. docs/images/mlflow-compare.png is made by hand: it shows the
chart view of MLflow, whose layout belongs to MLflow.
"""

import base64
import io
import tempfile
from collections.abc import Mapping
from pathlib import Path

from PIL import Image

from docs.gallery_pages import (
    Picture,
    card_page,
    comment_page,
    error_analysis_page,
    history_page,
    study_page,
)
from docs.how_to_pages import PICTURES
from tests.reports.samples.browser import Page, chromium

REPORT = Path("results/report/report.html")
IMAGES = Path(__file__).with_name("images")
WIDTH, HEIGHT = 1280, 20_000  # CSS pixels; all of the page, so that no scroll bar takes width
COLOURS = 64  # makes files a fourth as large
ELEMENTS = {  # file name -> elements of the report, the first of each name, and scale
    "decision.png": (["#answer .eyebrow", "#answer h1", "#answer figure"], 1.5),
    "report.png": (["#answer"], 1),
    "panel.png": (["#definitions figure .wide"], 1.5),
    "segments.png": (["#segments .block"], 1.5),
}
GALLERY: Mapping[str, Picture] = {
    "error-analysis.png": (error_analysis_page, ["#answer .eyebrow", "details.case"], 0.9),
    "study.png": (study_page, ["#answer .eyebrow", "#table .wide"], 1),
    "history.png": (history_page, ["#answer .eyebrow", "#metric-1 .wide"], 1),
    "comment.png": (comment_page, ["body"], 1),
    "card.png": (card_page, [".concord > p", ".concord table", ".concord .wide"], 2),
}
_AREA = """(() => {
  const boxes = %s.map(name => document.querySelector(name).getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map(b => b.left)), Math.min(...boxes.map(b => b.top))];
  const right = Math.max(...boxes.map(b => b.right));
  const bottom = Math.max(...boxes.map(b => b.bottom));
  return {x: left - 4, y: top - 4, width: right - left + 8, height: bottom - top + 8, scale: %s};
})()"""


def main() -> None:
    """Write the pictures of the report, the gallery and the how-to guides."""
    with chromium() as page, tempfile.TemporaryDirectory() as folder:
        page.show(REPORT, width=WIDTH, height=HEIGHT)
        for name, (elements, scale) in ELEMENTS.items():
            _write(page, name, elements, scale=scale)
        for name, (render, elements, scale) in {**GALLERY, **PICTURES}.items():
            file = Path(folder, "page.html")
            file.write_text(render(), encoding="utf-8")
            page.show(file, width=WIDTH, height=HEIGHT)
            _write(page, name, elements, scale=scale)


def _write(page: Page, name: str, elements: list[str], *, scale: float) -> None:
    """Write the smallest picture that has all elements."""
    area = page.run(_AREA % (elements, scale))
    shot = page.call("Page.captureScreenshot", format="png", clip=area)
    with Image.open(io.BytesIO(base64.b64decode(shot["data"]))) as image:
        image.convert("RGB").quantize(COLOURS).save(IMAGES / name, optimize=True)


if __name__ == "__main__":
    main()
