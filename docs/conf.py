"""Configuration of the documentation site, which `make site` builds by Sphinx.

The source folder is the repository, so that links from docs/ to README.md, benchmarks/ or tests/
work in the site as on GitHub. Markdown beside docs/ is a page; other linked files are copied.
"""

import csv
import json
import os
import posixpath
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import concord


def _public_classes() -> dict[str, str]:
    modules = (concord, concord.data, concord.metrics, concord.results, concord.search)
    return {
        name: f"{module.__name__}.{name}"
        for module in modules
        for name in module.__all__
        if isinstance(getattr(module, name), type)
    }


def _parts() -> dict[str, str]:
    """Return the types of the attributes of results, each with its full name."""
    page = Path(__file__).with_name("reference") / "api" / "parts.md"
    names = {}
    for module in re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8")):
        for name, value in vars(import_module(module)).items():
            if isinstance(value, type) and value.__module__ == module:
                names[name] = f"{module}.{name}"
    return names


project = "Concord"
author = "The Concord authors"
copyright = author
release = version = concord.__version__

root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "docs/**.rst",
    "benchmarks/*.md",
    "data/demo/*.md",
    "data/demo-search/*.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
]
exclude_patterns = ["docs/_build", "docs/_templates", ".*", "concord", "results", "tests"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
]
smartquotes = False
templates_path = [str(Path(__file__).with_name("_templates"))]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# anchors as GitHub makes them
myst_heading_anchors = 6
myst_fence_as_directive = ["math"]  # a block that GitHub shows as a formula, too
html_math_renderer = "mathml"  # of the browser: no script, no network
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True  # tutorials write files

autosummary_generate = True
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # docstrings name the types
default_role = "code"
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_xref_param_type = True
numpydoc_xref_aliases = {**_parts(), **_public_classes()}
numpydoc_xref_ignore = "all"  # but the aliases
nitpicky = True

html_theme = "pydata_sphinx_theme"
html_title = f"Concord {release}"
html_static_path = ["_static"]
html_extra_path = ["_extra"]
html_context = {"default_mode": "auto"}
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {
    "logo": {"text": "Concord"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "docs/index": []},
    "footer_start": ["sphinx-version"],
    "footer_end": ["theme-version"],
}
if version_of_site := os.environ.get("CONCORD_SITE_VERSION"):  # set by docs/site_versions.py
    html_theme_options |= {
        "switcher": {"json_url": "../switcher.json", "version_match": version_of_site},
        "check_switcher": False,  # the file is written after the build
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
_WITHOUT_SUBPAGES = ["docs/index", "docs/why", "docs/faq", "docs/gallery"]
html_sidebars: dict[str, list[str]] = {page: [] for page in _WITHOUT_SUBPAGES}

SECTIONS = [  # the navigation bar: pages of docs/, whose home page lists none
    "get-started/index.md",
    "tutorials/index.md",
    "how-to/index.md",
    "migrate/index.md",
    "concepts/index.md",
    "reference/index.md",
    "why.md",
    "gallery.md",
    "faq.md",
    "project/index.md",
]
# pages that list other pages
CONTENTS = re.compile(r"docs/((.+/)?(index|README)|reference/presets)$")
_ENTRY = re.compile(r"^(?:(?:[-*]|\d+\.) *\**|\|.*?)\[[^\]]*\]\(([^)#:]+\.md)(?:#[^)]*)?\)")
_HEADING = re.compile(r"^##+ (.+)$")
_NOTEBOOK = re.compile(r"\]\((notebooks/\S+\.ipynb)\)")
KEYWORDS = Path(__file__).with_name("keywords.csv")  # terms by which the search finds each page
NOT_SEARCHED = re.compile(  # records, and long tables that have every word
    r"docs/decisions/|docs/reference/(api/parts|errata|licences|robustness)$"
    r"|benchmarks/SIMULATIONS$|CHANGELOG$|CONTRIBUTING$|README$"
)


def setup(app: Any) -> None:
    """Connect the functions below."""
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("config-inited", link_own_types_only, priority=900)  # after numpydoc
    app.connect("source-read", add_toctree)
    app.connect("source-read", offer_notebooks)
    app.connect("autodoc-process-signature", hide_signature)
    app.connect("autodoc-skip-member", skip_functions)
    app.connect("doctree-read", remove_mail_links)
    app.connect("doctree-read", hide_from_search)
    app.connect("html-page-context", rank_by_keywords)


def write_formula(translator: Any, node: Any) -> None:
    """Write a formula as MathML."""
    tex2mathml = import_module("docutils.utils.math.latex2mathml").tex2mathml
    formula = tex2mathml(node.astext(), as_block=True)
    translator.body.append(f'<div class="formula">{formula}</div>')
    raise import_module("docutils.nodes").SkipNode


def link_own_types_only(_app: Any, config: Any) -> None:
    """Drop numpydoc's links to the documentation of Python, which need a network."""
    config.numpydoc_xref_aliases_complete = config.numpydoc_xref_aliases


def hide_signature(
    _app: Any, _what: str, _name: str, thing: Any, _options: Any, signature: str, returns: str
) -> tuple[str, str]:
    """Hide how results are made, whose attributes are listed: functions return them."""
    is_result = isinstance(thing, type) and "Attributes\n    ---" in (thing.__doc__ or "")
    return ("", "") if is_result else (signature, returns)


def skip_functions(
    _app: Any, what: str, _name: str, thing: Any, _skip: bool, _options: Any
) -> bool | None:
    """Skip the functions of the modules on the page on parts of results."""
    return True if what == "module" and not isinstance(thing, type) else None


def remove_mail_links(_app: Any, tree: Any) -> None:
    """Turn links such as mailto:nDCG@10, which docutils makes of docstrings, into text."""
    for node in [*tree.findall()]:
        if getattr(node, "attributes", {}).get("refuri", "").startswith("mailto:"):
            node.replace_self(node.children)


def hide_from_search(app: Any, _tree: Any) -> None:
    """Leave pages out of the index of the search."""
    page = app.env.docname
    if NOT_SEARCHED.match(page):
        app.env.metadata[page]["nosearch"] = ""


def read_keywords() -> dict[str, str]:
    """Return the keywords of each page that is searched."""
    with KEYWORDS.open(encoding="utf-8", newline="") as file:
        return {row["page"]: row["keywords"] for row in csv.DictReader(file)}


def rank_by_keywords(app: Any, page: str, _template: str, _context: Any, _tree: Any) -> None:
    """Give the page of search results its ranking and the keywords that it reads."""
    if page == "search":
        app.add_js_file(None, body=f"const KEYWORDS = {json.dumps(read_keywords())};")
        app.add_js_file("search.js", loading_method="defer")


def add_toctree(_app: Any, page: str, source: list[str]) -> None:
    """Make the list of pages on a page of contents the navigation of the site."""
    if CONTENTS.match(page):
        entries = dict.fromkeys(SECTIONS, "") if page == root_doc else contents(source[0])
        source[0] += "".join(_toctrees(page, entries))


def offer_notebooks(_app: Any, _page: str, source: list[str]) -> None:
    """Make links to notebooks downloads; MyST would look for pages."""
    source[0] = _NOTEBOOK.sub(r"](path:\1)", source[0])


def contents(text: str) -> dict[str, str]:
    """Return the pages that a page of contents lists, each with the heading above it or "".

    An entry is a link that starts a list item, or the first link of a row of a table.
    """
    entries: dict[str, str] = {}
    heading = ""
    for line in text.splitlines():
        if found := _HEADING.match(line):
            heading = found[1]
        elif entry := _ENTRY.match(line):
            entries.setdefault(entry[1], heading)
    return entries


def _toctrees(page: str, entries: dict[str, str]) -> Iterator[str]:
    for heading in dict.fromkeys(entries.values()):
        lines = [":hidden:", f":caption: {heading}" if heading else "", ""]
        for target, above in entries.items():
            if above == heading:
                lines.append("/" + posixpath.normpath(posixpath.join(page, "..", target)))
        yield "\n\n```{toctree}\n" + "\n".join(lines) + "\n```\n"
