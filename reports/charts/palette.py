"""Every colour of the page, light and dark, in one table.

Charts are drawn in the light colours; in the page a rule per colour (`[fill="#…"]`) puts a CSS variable in their
place, so one SVG serves both schemes and still looks right when it is taken out of the page.
"""

from collections.abc import Mapping

# name: (light, dark)
COLOURS: Mapping[str, tuple[str, str]] = {
    "page": ("#fcfbf8", "#15171a"),
    "raised": ("#ffffff", "#1c1f24"),
    "sunken": ("#f3f1eb", "#22262c"),
    "line": ("#e2dfd6", "#30353d"),
    "line-strong": ("#c6c2b6", "#4a515c"),
    "ink": ("#1b1d21", "#eceef1"),
    "ink-soft": ("#4a4f57", "#b9c0ca"),
    "ink-faint": ("#686d75", "#949ca8"),
    "accent": ("#234fb8", "#8db4ff"),
    "band": ("#ece8dc", "#292d34"),
    "better": ("#0b6a74", "#5cc9d4"),
    "worse": ("#b0431a", "#f2996b"),
    "even": ("#555b8f", "#aab0ea"),
    "open": ("#676c74", "#9aa2ad"),
    "series-0": ("#5d626b", "#a3abb6"),
    "series-1": ("#2058c7", "#7fb0ff"),
    "series-2": ("#b4531b", "#f0a067"),
    "series-3": ("#1b7749", "#62cd99"),
    "series-4": ("#7d3fb2", "#c59df6"),
    "series-5": ("#b52a6d", "#f48bbd"),
    "series-6": ("#0f7280", "#5ac6d3"),
    "series-7": ("#766600", "#d0bd55"),
}
SERIES = [name for name in COLOURS if name.startswith("series-")]


def light(name: str) -> str:
    """The colour as charts name it."""
    return COLOURS[name][0]


def stylesheet() -> str:
    """The variables of both schemes and the rules that make charts follow them."""
    rules = [
        f'.chart [{paint}="{light(name)}"] {{ {paint}: var(--{name}); }}'
        for name in COLOURS
        for paint in ("fill", "stroke")
    ]
    dark = f"@media screen and (prefers-color-scheme: dark) {{ {_variables(1)} }}"
    return "\n".join([_variables(0), dark, *rules])


def _variables(scheme: int) -> str:
    values = "".join(f" --{name}: {shades[scheme]};" for name, shades in COLOURS.items())
    return f":root {{{values} }}"
