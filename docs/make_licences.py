"""Write the licences of what Concord needs to run, as the packages themselves state them.

`python -m docs.make_licences` writes the page; `--check` fails if it is out of date.
Either way it fails if a licence is neither permitted nor named below with a reason.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "licences.md"
LOCK = ROOT / "requirements.lock"
UNKNOWN = "unknown"

PERMITTED = {
    *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT"),
    *("MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Unlicense", "ZPL-2.1", "Zlib"),
}
# What is not permitted, or not stated, and stands here all the same: package -> (licence, why).
EXCEPTIONS = {
    "asyncssh": ("EPL-2.0 OR GPL-2.0-or-later", "taken under EPL-2.0; DVC imports it, unchanged"),
    "grandalf": ("GPL-2.0 OR EPL-1.0", "taken under EPL-1.0; DVC imports it for `dvc dag`"),
    "huey": (UNKNOWN, "its metadata say nothing; the package carries the text of MIT"),
    "pygit2": (
        "GPL-2.0 with linking exception",
        "the exception is for being imported, as DVC does",
    ),
    "skops": (UNKNOWN, "its metadata say nothing; the package carries the text of MIT"),
}
# Pinned for other platforms, so there is nothing here to ask.
ELSEWHERE = {"pywin32": "PSF-2.0", "tzdata": "Apache-2.0", "waitress": "ZPL-2.1"}
_WORDS = {
    "mit license": "MIT",
    "bsd license": "BSD",
    "new bsd": "BSD",
    "3-clause bsd license": "BSD-3-Clause",
    "apache software license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "python software foundation license": "PSF-2.0",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "zope public license": "ZPL-2.1",
    "gplv2 with linking exception": "GPL-2.0 with linking exception",
}


def main() -> None:
    """Write the page, or compare it with what stands there; refuse what is not permitted."""
    licences = {name: licence(name) for name in needed()}
    text = page(licences)
    wrong = refused(licences)
    if "--check" not in sys.argv:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        wrong.append(f"{PAGE.relative_to(ROOT)} is out of date; run `make docs`")
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


def needed() -> list[str]:
    """Return the packages of requirements.lock that `concord-eval[all]` needs on any platform."""
    lock = LOCK.read_text(encoding="utf-8")
    pinned = {canonicalize_name(name) for name in re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)}
    visited: set[tuple[str, str]] = set()
    waiting = [("concord-eval", "all")]
    while waiting:
        visited.add(one := waiting.pop())
        waiting += [each for each in _requires(*one) if each[0] in pinned and each not in visited]
    return sorted({name for name, _ in visited} - {"concord-eval"})


def _requires(name: str, extra: str) -> list[tuple[str, str]]:
    """Return (package, extra) of each requirement of a package, on all platforms."""
    try:
        stated = distribution(name).requires or []
    except PackageNotFoundError:
        return []
    packages: list[tuple[str, str]] = []
    for each in map(Requirement, stated):
        of_extra = each.marker is not None and "extra" in str(each.marker)
        if of_extra and not (extra and each.marker and each.marker.evaluate({"extra": extra})):
            continue
        packages += [
            (canonicalize_name(each.name), extra_name) for extra_name in ("", *each.extras)
        ]
    return packages


def licence(name: str) -> str:
    """Return the SPDX expression that a package states; BSD if it does not say which BSD."""
    try:
        metadata = distribution(name).metadata
    except PackageNotFoundError:
        return ELSEWHERE.get(name, UNKNOWN)
    if expression := _first(metadata.get_all("License-Expression")):
        return expression
    classifiers = [c.split(" :: ") for c in metadata.get_all("Classifier") or []]
    known = [c[-1] for c in classifiers if c[0] == "License" and c[-1] != "OSI Approved"]
    text = _first(metadata.get_all("License")).strip()
    short = [text] if text and "\n" not in text else []
    if name in EXCEPTIONS:
        known = []
    stated = sorted({_WORDS.get(word.lower(), word) for word in known or short})
    return " OR ".join(stated) if stated else UNKNOWN


def _first(stated: list[str] | None) -> str:
    return stated[0] if stated else ""


def permitted(expression: str) -> bool:
    """True if all licences are permitted, or one of them in a choice without `AND`."""
    parts = re.split(r"\s+(?:AND|OR)\s+|[()]", expression)
    allowed = [part.strip() in PERMITTED for part in parts if part.strip()]
    return bool(allowed) and (any(allowed) if " AND " not in expression else all(allowed))


def refused(licences: dict[str, str]) -> list[str]:
    """Return one line per problem."""
    lines = [
        f"{name}: {expression} is not permitted; "
        "name it in docs/make_licences.py with a reason, or do without"
        for name, expression in licences.items()
        if not permitted(expression) and name not in EXCEPTIONS
    ]
    gone = [name for name in EXCEPTIONS if name not in licences or permitted(licences[name])]
    return lines + [f"{name}: is named in docs/make_licences.py without need" for name in gone]


def page(licences: dict[str, str]) -> str:
    """Return the page in Markdown, without versions: they are in requirements.lock."""
    lines = [
        "<!-- made by docs/make_licences.py from the metadata of the packages: "
        "change that, not this page -->",
        "",
        "# Licences",
        "",
        "The packages that `concord` needs to run, directly or indirectly, as pinned in "
        "`requirements.lock`, with the licences that they state.",
        f"Permitted are {', '.join(sorted(PERMITTED))}; any other licence "
        "has a reason in the table. `make check` checks this.",
        "",
        "| package | licence | reason |",
        "|---|---|---|",
    ]
    for name, expression in licences.items():
        accepted, why = EXCEPTIONS.get(name, (expression, ""))
        lines.append(f"| {name} | {accepted} | {why} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
