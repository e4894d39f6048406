"""Check README, CONTRIBUTING, CHANGELOG, docs/ and the paper for words with a plainer replacement.

`docs/words.csv` lists the words with what to write instead. Code, quotations, comments and the
targets of links are not checked.
"""

import csv
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORDS = ROOT / "docs" / "words.csv"
_UNCHECKED = re.compile(
    r"^(?P<fence>`{3,}).*?^(?P=fence)"  # code block
    r"|<!--.*?-->"
    r"|^>.*?$"  # block quotation
    r"|(?P<ticks>`+)[^\n]*?(?P=ticks)"
    r"|\"[^\"\n]*\"|“[^”\n]*”"
    r"|\]\([^)\n]*\)",  # target of a link
    re.MULTILINE | re.DOTALL,
)


def read_words(path: Path = WORDS) -> dict[str, str]:
    """Return what to write instead of each word."""
    with path.open(encoding="utf-8", newline="") as file:
        return {row["word"]: row["write"] for row in csv.DictReader(file)}


def pages() -> list[Path]:
    """Return the pages that are checked."""
    names = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "paper/paper.md")
    top = (ROOT / name for name in names)
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def problems(text: str, words: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yield line, word and replacement of each word that is listed."""
    prose = _UNCHECKED.sub(lambda match: "\n" * match[0].count("\n") + " ", text)
    listed = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in words)
    for match in re.finditer(rf"(?<![\w-])(?:{listed})(?![\w-])", prose, re.IGNORECASE):
        word = " ".join(match[0].split())
        yield prose.count("\n", 0, match.start()) + 1, word, words[word.lower()]


def main() -> int:
    """Print each problem; return 1 if there is one."""
    words = read_words()
    messages = [
        f'{page.relative_to(ROOT)}:{line}: "{word}": write "{instead}"'
        for page in pages()
        for line, word, instead in problems(page.read_text(encoding="utf-8"), words)
    ]
    print(*messages, sep="\n", end="\n" if messages else "")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
