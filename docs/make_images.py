"""`python -m docs.make_images`: the pictures of the documentation, from the report on the demo.

It needs `make repro` and Chromium. docs/images/mlflow-compare.png is made by hand: it shows the
chart view of MLflow, whose layout belongs to MLflow.
"""

import base64
from pathlib import Path

from tests.reports.samples.browser import chromium

REPORT = Path("results/report/report.html")
IMAGES = Path(__file__).with_name("images")
WIDTH, HEIGHT = 1280, 20_000  # CSS pixels; all of the page, so that no scroll bar takes width
ELEMENTS = {  # file name -> elements of the page, the first of each name
    "decision.png": ["#answer .eyebrow", "#answer h1", "#answer figure"],
    "report.png": ["#answer"],
    "panel.png": ["#definitions figure .wide"],
    "segments.png": ["#segments .block"],
}
_AREA = """(() => {
  const boxes = %s.map(name => document.querySelector(name).getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map(b => b.left)), Math.min(...boxes.map(b => b.top))];
  const right = Math.max(...boxes.map(b => b.right));
  const bottom = Math.max(...boxes.map(b => b.bottom));
  return {x: left - 4, y: top - 4, width: right - left + 8, height: bottom - top + 8, scale: 1.5};
})()"""


def main() -> None:
    """Write the pictures of `ELEMENTS`."""
    with chromium() as page:
        page.show(REPORT, width=WIDTH, height=HEIGHT)
        for name, elements in ELEMENTS.items():
            shot = page.call(
                "Page.captureScreenshot",
                format="png",
                clip=page.run(_AREA % elements),
            )
            (IMAGES / name).write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
