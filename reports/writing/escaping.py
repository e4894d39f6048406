"""Text from files as nothing but words, in Markdown as GitHub and GitLab render it."""

import re

_SPECIAL = re.compile(r"([\\`*_\[\]|#~!$])")
_BREAK = "\N{ZERO WIDTH SPACE}"
# Names and addresses are looked for in the text as it is shown, behind every escape: only a break inside stops that.
# What stands before counts in ASCII, as there: `é@team` is a mention.
_LOOKED_FOR = re.compile(
    r"(?<![A-Za-z0-9_])[@#!~$%&](?=[\w\"])"  # @team, #12, !12, ~label, $12, %milestone, &12
    r"|(?<=\w)@(?=[\w-]+\.\w)"  # a@b.c
    r"|(?<=\w)[#!](?=\d)"  # owner/project#12
    r"|\bGH-(?=\d)"
    r"|:(?=//)|:(?=[\w+-]+:)"  # addresses, and pictures such as :smile:
    r"|\bwww(?=\.)",
    re.IGNORECASE,
)


def words(text: str) -> str:
    """The text as nothing but words: no table cell, tag, link, mention, formula or emphasis can come of it.

    What cannot be printed is shown by its code.
    """
    one_line = " ".join(str(text).split())
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in one_line)
    broken = _LOOKED_FOR.sub(lambda found: found[0] + _BREAK, shown)
    plain = broken.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain).replace(_BREAK, "&#8203;")
