"""Template of the page that `dvc plots` writes, with Vega inside: it needs no network."""

import os
import sys
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

import vl_convert

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light">
<title>DVC plots</title>
{refresh_tag}
<link rel="icon" href="data:,">
<style>body { margin: 2rem; font: 1rem/1.6 system-ui, sans-serif; }</style>
<script>
(() => {
"""
_TAIL = """
})();
</script>
</head>
<body>
{plot_divs}
</body>
</html>
"""


# Vega as one script, beside the bytecode of this module: bundling takes 1.7 s of CPU time.
_VERSION = vl_convert.__version__  # type: ignore[attr-defined]
VEGA = Path(cache_from_source(__file__)).with_name(f"vega-{_VERSION}.js")


def plots_page() -> str:
    """Return the template for DVC's setting `plots.html_template`."""
    vega = VEGA.read_bytes().decode() if VEGA.is_file() else _bundle_vega()
    return f"{_HEAD}{vega}{_TAIL}"


def _bundle_vega() -> str:
    """Return Vega as one script, and store it where Python stores bytecode."""
    vega = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    if not sys.dont_write_bytecode:
        temporary = VEGA.with_name(f"{VEGA.name}.{os.getpid()}")
        with suppress(OSError):  # the installation is read-only
            temporary.write_bytes(vega.encode())
            temporary.replace(VEGA)
    return vega
