"""Template of the page that `dvc plots` writes, with Vega inside: it needs no network."""

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


def plots_page() -> str:
    """Return the template for DVC's setting `plots.html_template`."""
    vega = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"{_HEAD}{vega}{_TAIL}"
