"""The help centre of an imaginary maker: documents, queries and which document answers which."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20_261_126
KINDS = [*3 * ["guide"], *2 * ["trouble"], *3 * ["thread"], "faq", "note"]
GRADES = {"guide": 3, "trouble": 3, "thread": 2, "faq": 2, "note": 1}  # of a document on the topic
MOST_DETAILS = 3  # sentences that help nobody, as in any help centre
MENTIONS = 2  # other issues that a release note names


@dataclass(frozen=True)
class Product:
    """A product: its name, and what manuals and people call such a thing."""

    family: str
    name: str
    noun: str
    thing: str


@dataclass(frozen=True)
class Document:
    """A document and what it is about."""

    id: str
    title: str
    text: str
    product: Product
    issue: str
    kind: str
    mentioned: tuple[str, ...] = ()


@dataclass(frozen=True)
class Query:
    """A query and what it asks for."""

    id: str
    text: str
    product: Product
    issue: str


def write_help_centre(rng: np.random.Generator) -> tuple[list[Document], list[Query]]:
    """Return ten documents for each product and issue, and three queries for each issue."""
    text = tomllib.loads(Path(__file__).with_name("text.toml").read_text(encoding="utf-8"))
    products = [
        Product(family, name, *nouns)
        for family, members in text["products"].items()
        for name, nouns in members.items()
    ]
    issues = text["issues"]
    topics = [(p, issue, kind) for p in products for issue in issues for kind in KINDS]
    ids = rng.permutation(len(topics)) + 1
    writer = _Writer(rng, text["frames"], issues)
    documents = [
        writer.document(f"d{number:04d}", *topic) for number, topic in zip(ids, topics, strict=True)
    ]
    return sorted(documents, key=lambda document: document.id), writer.queries(products)


def grade(query: Query, document: Document) -> int:
    """Return 3 if the document solves the query, 2 if it helps, 1 if it is related, else 0."""
    if document.product == query.product:
        if document.issue == query.issue:
            return GRADES[document.kind]
        return int(query.issue in document.mentioned)
    same_family = document.product.family == query.product.family
    return int(same_family and document.issue == query.issue and document.kind != "note")


class _Writer:
    """Writes documents and queries from the sentences of text.toml."""

    def __init__(self, rng: np.random.Generator, frames: Any, issues: Any) -> None:
        self.rng = rng
        self.frames = frames
        self.issues = issues

    def document(self, id_: str, product: Product, issue: str, kind: str) -> Document:
        words = self.issues[issue]
        mentioned: tuple[str, ...] = ()
        if kind == "guide":
            title = self._one(words["formal"]) + ": {name} {noun}"
            parts = [*self._some(words["observed"], 1), *self._some(words["steps"], 3)]
        elif kind == "trouble":
            title = "Troubleshooting the {name} {noun}: " + self._one(words["formal"])
            owners = 'Owners write: "' + self._one(words["noticed"]) + '"'
            parts = [*words["observed"], owners, *self._some(words["steps"], 2)]
        elif kind == "thread":
            title = self._one(words["everyday"]) + self._one([", {name}", " with my {thing}"])
            parts = [*self._some(words["noticed"], 1), *self._some(words["tips"], 2)]
        elif kind == "faq":
            title = "Question of the week: " + self._one(words["everyday"]) + " ({name})"
            parts = [self._one(words[key]) for key in ("noticed", "observed", "steps", "tips")]
        else:
            title = "Release notes {version}: {name} {noun}"
            mentioned = tuple(self._some([i for i in self.issues if i != issue], MENTIONS))
            parts = [
                self._one(self.frames["note_item"]).format_map(
                    _Known(topic=self._one(self.issues[each]["formal"]))
                )
                for each in self._some([issue, *mentioned], MENTIONS + 1)
            ]
        details = self._some(self.frames["detail"], self.rng.integers(MOST_DETAILS + 1))
        end = [*details, *self._some(self.frames.get(f"{kind}_end", []), 1)]
        slots = self._slots(product)
        title, *parts = (
            part.format_map(slots) for part in (title, self._one(self.frames[kind]), *parts, *end)
        )
        title = title[0].upper() + title[1:]
        return Document(id_, title, " ".join(parts), product, issue, kind, mentioned)

    def queries(self, products: list[Product]) -> list[Query]:
        """Return a query in the words of manuals, one in everyday words and a short one."""
        asked = self.rng.permutation(np.resize(np.arange(len(products)), 3 * len(self.issues)))
        queries = []
        for n, (issue, words) in enumerate(self.issues.items()):
            short = "{name} " + self._one(words["everyday"])
            for style, text in enumerate((words["query"], words["asked"], short)):
                product = products[asked[3 * n + style]]
                slots = {"it": f"{product.name} {product.noun}", **vars(product)}
                queries.append((text.format_map(slots), product, issue))
        return [Query(f"q{n:02d}", *queries[q]) for n, q in enumerate(self._order(queries), 1)]

    def _slots(self, product: Product) -> dict[str, str]:
        return {
            **vars(product),
            "it": product.noun,
            "version": f"{self.rng.integers(2, 7)}.{self.rng.integers(0, 10)}",
            "minutes": str(self.rng.integers(3, 25)),
            "year": str(self.rng.integers(2019, 2026)),
        }

    def _order(self, items: list[Any]) -> list[int]:
        return [int(n) for n in self.rng.permutation(len(items))]

    def _one(self, items: list[str]) -> str:
        return items[self.rng.integers(len(items))]

    def _some(self, items: list[str], n: int) -> list[str]:
        """Return n of the items, in their order."""
        return [items[i] for i in sorted(self._order(items)[:n])]


class _Known(dict[str, str]):
    """Slots of a sentence; those that are filled later stay."""

    def __missing__(self, slot: str) -> str:
        return f"{{{slot}}}"
