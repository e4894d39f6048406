"""`python -m docs.make_images`: the pictures of the documentation, from the report on the demo.

It needs `make repro` and Chromium. docs/images/mlflow-compare.png is made by hand: it shows the
chart view of MLflow, whose layout belongs to MLflow.
"""

import base64
from pathlib import Path

from tests.reports.samples.browser import chromium

REPORT = Path("results/report/report.html")
IMAGES = Path(__file__).with_name("images")
WIDTH = 1280  # CSS pixels
ELEMENTS = {  # file name -> element of the page
    "report.png": "#answer",
    "panel.png": "#definitions figure .wide",
    "segments.png": "#segments .block",
}
_AREA = """(() => {
  const area = document.querySelector('%s').getBoundingClientRect();
  return {x: area.x + scrollX - 4, y: area.y + scrollY - 4,
          width: area.width + 8, height: area.height + 8, scale: 1.5};
})()"""


def main() -> None:
    """Write the pictures of `ELEMENTS`."""
    with chromium() as page:
        page.show(REPORT, width=WIDTH)
        for name, element in ELEMENTS.items():
            shot = page.call(
                "Page.captureScreenshot",
                format="png",
                captureBeyondViewport=True,
                clip=page.run(_AREA % element),
            )
            (IMAGES / name).write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
