"""Every convention: its name, its values, what it means and a check that refuses anything else.

A convention is the same question answered differently by good libraries. A parameter (`k`, `p`, `rel`)
asks another question and stands in the label of a metric instead.
"""

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, Self, get_args

from concord.metrics_core.conventions.candidates import wrong_candidates

UserPolicy = Literal["zero", "one", "drop", "nan", "error"]
UnitMean = Literal["requests", "users"]
UNIT_MEANS: Mapping[UnitMean, str] = {
    "requests": "all requests count alike",
    "users": "all users count alike: the mean of each user's mean",
}
FairTarget = Literal["catalogue", "relevant", "uniform"]
FAIR_SENTENCE = "Which share of the attention a group of items should have."
FAIR_TARGETS: Mapping[FairTarget, str] = {
    "catalogue": "the group's share of the items of the catalogue",
    "relevant": "its share of the user's relevant items that the catalogue has",
    "uniform": "the same for every group; 0 for items without one",
}
ANY_CUTOFF = "@k"  # ends the key of an override that is for labels with a cutoff
BINARY_LOGARITHM = 2
MOST_DIGITS = 15  # of a float64
LARGEST = 1e15  # no grade, gain or base lies beyond; up to here a float64 knows every integer
SHOWN = 80  # characters of a value in a message
HIGHEST_POPULARITY_EXPONENT = 3
HIGHEST_GRADE = 1000  # of ERR: 2^1000 is still a float64
Value = Any  # a knob's value as it stands in params.yaml: text, number, null or a small mapping


class ConventionError(ValueError):
    """Conventions that cannot be honoured: `problems` holds (key, what, fix), all of them at once."""

    def __init__(self, problems: list[tuple[str, str, str]]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{key}: {what}\n  fix: {fix}" for key, what, fix in problems))


@dataclass(frozen=True)
class Knob:
    """One convention: `values` are the words it allows, `accepts` admits what words cannot list."""

    name: str
    sentence: str
    values: Mapping[str, str]
    accepts: Callable[[Value], bool] = lambda _: False
    form: str = ""
    forms: Mapping[str, str] = field(default_factory=dict)  # what `{word: number}` means
    ranking: bool = False  # applied when lists are ranked, before any metric
    scale: bool = (
        False  # belongs to the grades of a data set, not to a library: free under any preset
    )

    def allows(self, value: Value) -> bool:
        """Is this a value of the knob?"""
        return (isinstance(value, str) and value in self.values) or self.accepts(value)

    def allowed(self) -> str:
        """All values, for a message."""
        return " | ".join([*self.values, *([self.form] if self.form else [])])

    def means(self, value: Value) -> str:
        """What a value means, in words; empty where the value speaks for itself."""
        if isinstance(value, Mapping):
            return self.forms.get(next(iter(value)), "")
        return self.values.get(value, "") if isinstance(value, str) else ""


def is_number(value: Value) -> bool:
    """An int or float up to 1e15, also below 0; True and False are no numbers."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and -LARGEST <= value <= LARGEST  # of NaN both are false


def _mapping_of(checks: Mapping[str, Callable[[Value], bool]]) -> Callable[[Value], bool]:
    def accepts(value: Value) -> bool:
        if not isinstance(value, Mapping) or len(value) != 1:
            return False
        ((word, number),) = value.items()
        return word in checks and checks[word](number)

    return accepts


def _gain_map(value: Value) -> bool:
    return (
        isinstance(value, Mapping)
        and len(value) > 0
        and all(is_number(grade) and is_number(gain) and gain >= 0 for grade, gain in value.items())
    )


def _digits(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_DIGITS


_USER_POLICY = {
    "zero": "the value is 0",
    "one": "the value is 1",
    "drop": "the user is left out of the metric",
    "nan": "the value is undefined; `undefined` decides what the mean does",
    "error": "refused",
}

KNOBS: tuple[Knob, ...] = (
    Knob(
        "relevance_threshold",
        "The lowest grade that counts as relevant; null: every row of the truth is relevant.",
        {},
        lambda v: v is None or is_number(v),
        "number | null",
        scale=True,
    ),
    Knob(
        "truth_visible",
        "Which part of the truth exists for a metric.",
        {
            "all": "all of the truth",
            "retrieved": "only the truth items that the list holds; the others do not exist",
        },
    ),
    Knob(
        "ties",
        "How items with equal scores are ordered where a file has scores only.",
        {
            "input": "in the order of the rows",
            "item_asc": "by item, ascending: integers as numbers, text by code point",
            "item_desc": "by item, descending: integers as numbers, text by code point",
            "item_text_asc": "by item as text, ascending: 10 stands before 2",
            "item_text_desc": "by item as text, descending: 2 stands before 10",
            "given": "scores are ignored: the rank column, or else the order of the rows",
            "average": "in every order alike: the expected value over all of them, once copies are settled",
            "error": "ties are refused",
        },
        ranking=True,
    ),
    Knob(
        "duplicates",
        "What becomes of an item that stands twice in one user's list.",
        {
            "keep": "copies stay, and each counts where the metric counts copies",
            "first": "later copies are misses and keep their ranks; metrics beyond accuracy pass over them",
            "drop": "later copies are removed and the list closes up",
            "error": "duplicates are refused",
        },
        ranking=True,
    ),
    Knob(
        "score_dtype",
        "The precision in which scores are compared.",
        {"float64": "as they are", "float32": "rounded to single precision first"},
        ranking=True,
    ),
    Knob(
        "precision_denominator",
        "What precision divides the hits by.",
        {
            "k": "the cutoff k; without one the items in the list",
            "len": "the items in the list, at most k",
            "min_k_relevant": "min(k, relevant items); without a cutoff the relevant items",
        },
    ),
    Knob(
        "precision_aggregate",
        "How precision is averaged.",
        {
            "macro": "mean of the users' precisions",
            "micro": "all hits over the sum of all denominators",
        },
    ),
    Knob(
        "recall_denominator",
        "What recall divides the hits by.",
        {
            "relevant": "the relevant items",
            "min_k_relevant": "min(k, relevant items); without a cutoff the relevant items",
        },
    ),
    Knob(
        "f1_aggregate",
        "Where the harmonic mean of precision and recall is taken.",
        {"per_user": "per user, then averaged", "of_means": "of mean precision and mean recall"},
    ),
    Knob(
        "hit_kind",
        "What Hit counts.",
        {"indicator": "1 if there is any hit", "count": "the number of hits"},
    ),
    Knob(
        "ap_denominator",
        "What average precision divides its sum by.",
        {
            "relevant": "the relevant items",
            "min_k_relevant": "min(k, relevant items); without a cutoff the relevant items",
            "hits": "the hits in the top k",
            "k": "the cutoff k; without one the items in the list",
            "min_len_relevant": "min(items in the list up to k, relevant items)",
        },
    ),
    Knob(
        "ap_sum_over",
        "Over which ranks average precision sums the precisions.",
        {"hits": "the ranks that hit", "all_ranks": "all ranks up to k"},
    ),
    Knob(
        "rr_cutoff",
        "Whether reciprocal rank looks beyond the cutoff.",
        {"k": "only the top k count", "none": "the whole list counts, whatever k"},
    ),
    Knob(
        "gain",
        "What a grade earns in CG, DCG and nDCG; a grade that is not relevant earns 0.",
        {
            "binary": "1",
            "linear": "the grade",
            "exp2": "2^grade - 1",
            "exp2_above_threshold": "2^(grade - relevance_threshold + 1) - 1",
        },
        _mapping_of({"map": _gain_map}),
        "{map: {grade: gain, …}}",
        {"map": "as the map says"},
    ),
    Knob(
        "discount",
        "How much of a gain is left at rank i.",
        {},
        _mapping_of(
            {
                "log": lambda b: is_number(b) and b > 1,
                "jk": lambda b: is_number(b) and b > 1,
                "halflife": lambda a: is_number(a) and a > 1,
                "geometric": lambda p: is_number(p) and 0 < p < 1,
            }
        ),
        "{log: b} | {jk: b} | {halflife: a} | {geometric: p}",
        {
            "log": "ln b / ln(i + 1)",
            "jk": "1 / max(1, log_b i), so that the first b ranks are not discounted",
            "halflife": "2^(-(i - 1) / (a - 1)), so that half is left at rank a",
            "geometric": "p^(i - 1)",
        },
    ),
    Knob(
        "ideal",
        "The list that nDCG divides by.",
        {
            "truth_at_k": "the relevant items of the truth, best first, cut at k",
            "truth": "the relevant items of the truth, best first, not cut",
            "retrieved_at_k": "the relevant items among the top k, best first",
            "retrieved": "the relevant items of the whole list, best first, cut at k",
            "full_k": "k items of gain 1, however many there are; needs gain: binary",
            "truth_at_min_k_len": "as truth_at_k, cut at the length of the list if that is shorter",
            "truth_given_order_at_k": "the relevant items in the order of the truth's rows, cut at k",
        },
    ),
    Knob(
        "rbp_gain",
        "What a grade earns in RBP.",
        {"binary": "1", "linear": "the grade"},
    ),
    Knob(
        "rbp_norm",
        "What RBP's discounted sum is multiplied by.",
        {
            "one_minus_p": "1 - p, the sum of all weights of an endless list",
            "sum_weights": "1 / (the sum of the first k weights)",
            "none": "1",
        },
    ),
    Knob(
        "err_max_grade",
        "The highest grade of ERR's scale: a grade g satisfies with probability (2^g - 1) / 2^max.",
        {},
        lambda v: is_number(v) and 0 < v <= HIGHEST_GRADE,
        f"number > 0, up to {HIGHEST_GRADE}",
        scale=True,
    ),
    Knob(
        "hlu_neutral",
        "The grade that is worth nothing in half-life utility; what lies above it earns the difference.",
        {},
        is_number,
        "number",
        scale=True,
    ),
    Knob(
        "hlu_norm",
        "What half-life utility is divided by.",
        {"ideal": "the utility of the relevant items, best first", "none": "1"},
    ),
    Knob(
        "user_coverage_kind",
        "When a user counts as covered.",
        {"any": "the list holds an item", "full": "the list holds at least k items"},
    ),
    Knob(
        "novelty_population",
        "What an item's train users are divided by, for its self-information.",
        {
            "users": "the train users: how many know the item",
            "interactions": "the interactions: the item's share of them",
        },
    ),
    Knob(
        "novelty_norm",
        "Whether novelty is scaled to its largest value.",
        {"none": "in bits", "log2_users": "divided by log2 of the train users"},
    ),
    Knob(
        "cold_item",
        "What an item that no train user had adds to novelty.",
        {
            "one_user": "as if one user had had it",
            "skip": "it is left out of sum and divisor",
            "zero": "it is left out of the sum only",
        },
    ),
    Knob(
        "longtail_head",
        "The share of the interactions that the most popular items, the head, hold; all others are the tail.",
        {},
        lambda v: is_number(v) and 0 < v <= 1,
        "number in (0, 1]",
    ),
    Knob(
        "ild_distance",
        "The distance between two items' features.",
        {
            "cosine": "1 - cosine similarity",
            "jaccard": "1 - common / united categories",
            "hamming": "the number of categories that only one of the two has",
        },
    ),
    Knob(
        "serendipity_kind",
        "What makes a relevant item a surprise.",
        {
            "popularity": "a better place than its popularity gives it",
            "history": "little likeness to what the user had",
        },
    ),
    Knob(
        "calibration_alpha",
        "How much of the history is mixed into the list's distribution, so that no category is missing.",
        {},
        lambda v: is_number(v) and 0 < v < 1,
        "number in (0, 1)",
    ),
    Knob(
        "coverage_items",
        "The items that coverage divides by.",
        {"catalogue": "the items of the catalogue", "train": "the items with a train user"},
    ),
    Knob(
        "gini_items",
        "The items among which the Gini index measures inequality.",
        {
            "catalogue": "all of the catalogue, recommended or not",
            "recommended": "those that are recommended",
        },
    ),
    Knob(
        "entropy_base",
        "The logarithm of the entropy.",
        {"e": "nats"},
        lambda v: v == BINARY_LOGARITHM and not isinstance(v, bool),
        "2",
    ),
    Knob(
        "entropy_norm",
        "What the entropy is divided by.",
        {"none": "1", "recommended_items": "the number of distinct recommended items"},
    ),
    Knob("user_no_recs", "A user with relevant items who got no list.", _USER_POLICY),
    Knob("user_empty_truth", "A user with a list and no relevant items.", _USER_POLICY),
    Knob("user_recs_only", "A user with a list whom the truth does not know.", _USER_POLICY),
    Knob("user_both_empty", "A user with neither list nor relevant items.", _USER_POLICY),
    Knob(
        "undefined",
        "What the mean does with users whose value is undefined (0/0).",
        {
            "skip": "they are left out and counted",
            "zero": "they count as 0",
            "propagate": "the mean is undefined as soon as one is",
        },
    ),
    Knob(
        "round",
        "Rounding of published values.",
        {},
        lambda v: v is None or _mapping_of({"user": _digits, "mean": _digits})(v),
        "null | {user: digits} | {mean: digits}",
        {"user": "each user's value, to so many digits", "mean": "the mean, to so many digits"},
    ),
)

KNOB: Mapping[str, Knob] = {knob.name: knob for knob in KNOBS}


# They belong to the data, whatever the preset.
OF_DATA: Mapping[str, Value] = {
    "unit_mean": None,
    "candidates": None,
    "propensity": None,
    "fairness_target": None,
}
# And else left out of all that is written.
WHERE_ASKED: Mapping[str, Value] = {"own_metrics": {}, **OF_DATA}


class Ranking(NamedTuple):
    """The conventions that decide the order of a list, before any metric."""

    ties: str
    duplicates: str
    score_dtype: str


@dataclass(frozen=True, kw_only=True)
class Conventions:
    """Every knob by value, without defaults.

    `overrides` says what single metrics have otherwise: {key: {knob: value}}. The key `RR` is for every label of RR,
    `RR@k` for those with a cutoff, whatever it is, and goes before `RR`.

    What follows is left out of all that is written where it is not asked for:

    own_metrics : name -> SHA-256 of the code that computes a metric of one's own; nobody writes it
    unit_mean   : over what means are taken where values are those of requests: of all alike, or first of each user's;
                  None where they are those of users
    candidates  : of lists that rank the relevant item among sampled ones how these were drawn (see `Candidates`);
                  None: lists of all items
    propensity  : how probably each relevant item came to be known, by whose inverse it counts; None: all count alike.
                  {popularity: exponent, …}: (train users of the item / those of the most popular)^exponent;
                  {column: items | truth, …}: the column `propensity` of that table. Beside it `clip`, the smallest that
                  counts as it is, and `fewest`, the effective number of relevant rows below which nothing is computed;
                  and, where sums are divided by the weights of all relevant rows, `normalised` (see `NORMALISED`).
                  Evaluated are the users in `users`, else those of the truth and those with a list. A user of whom no
                  relevant item was observed counts 0 in sums and is left out of ratios, whatever `user_recs_only` and
                  `user_empty_truth` say
    fairness_target : which share of the attention a group of items should have, for AWRF, which is refused without it
    """

    preset: str
    relevance_threshold: float | None
    truth_visible: str
    ties: str
    duplicates: str
    score_dtype: str
    precision_denominator: str
    precision_aggregate: str
    recall_denominator: str
    f1_aggregate: str
    hit_kind: str
    ap_denominator: str
    ap_sum_over: str
    rr_cutoff: str
    gain: str | Mapping[str, Mapping[float, float]]
    discount: Mapping[str, float]
    ideal: str
    rbp_gain: str
    rbp_norm: str
    err_max_grade: float
    hlu_neutral: float
    hlu_norm: str
    user_coverage_kind: str
    novelty_population: str
    novelty_norm: str
    cold_item: str
    longtail_head: float
    ild_distance: str
    serendipity_kind: str
    calibration_alpha: float
    coverage_items: str
    gini_items: str
    entropy_base: int | str
    entropy_norm: str
    user_no_recs: UserPolicy
    user_empty_truth: UserPolicy
    user_recs_only: UserPolicy
    user_both_empty: UserPolicy
    undefined: str
    round: Mapping[str, int] | None
    overrides: Mapping[str, Mapping[str, Value]]
    own_metrics: Mapping[str, str] = field(default_factory=dict)
    unit_mean: UnitMean | None = None
    candidates: Mapping[str, Value] | None = None
    propensity: Mapping[str, Value] | None = None
    fairness_target: FairTarget | None = None

    def __post_init__(self) -> None:
        if shapes := _wrong_shapes(vars(self)):
            raise ConventionError(shapes)
        problems = wrong_candidates(self.candidates) + [
            problem
            for name, value in self.knobs().items()
            for problem in _wrong_value(name, value, where=name)
        ]
        for key, changed in self.overrides.items():
            problems += _wrong_overrides(key, changed)
        problems += [*_wrong_words(vars(self)), *_wrong_propensity(self.propensity)]
        problems += _wrong_together(self.unit_mean, self.propensity)
        if problems:
            raise ConventionError(problems)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Value]) -> Self:
        """Conventions from plain data; every missing, unknown or wrong key is reported at once."""
        known = {field.name for field in fields(cls)}
        optional: dict[str, Value] = {"overrides": {}, **WHERE_ASKED}
        problems = [_unknown(str(key), known) for key in mapping if key not in known]
        problems += [
            (
                name,
                "is missing",
                f"add `{name}: …`" + (f" ({KNOB[name].allowed()})" if name in KNOB else ""),
            )
            for name in sorted(known - set(mapping) - set(optional))
        ]
        problems += [
            problem
            for name, value in mapping.items()
            if name in KNOB
            for problem in _wrong_value(name, value, where=name)
        ]
        problems += _wrong_words(mapping)
        problems += _wrong_propensity(mapping.get("propensity"))
        problems += _wrong_together(mapping.get("unit_mean"), mapping.get("propensity"))
        given = {**optional, "preset": "custom", **mapping}
        problems += wrong_candidates(given["candidates"])
        shapes = _wrong_shapes(given)
        problems += shapes or [
            problem
            for metric, changed in given["overrides"].items()
            for problem in _wrong_overrides(metric, changed)
        ]
        if problems:
            raise ConventionError(problems)
        return cls(**{**optional, **mapping})

    def knobs(self) -> dict[str, Value]:
        """The knobs by name and value, in the order in which they are documented."""
        return {knob.name: getattr(self, knob.name) for knob in KNOBS}

    def of(self, key: str) -> Self:
        """The conventions of a key of `overrides`, without overrides. Of a label: `Label.conventions`."""
        general = self.overrides.get(key.removesuffix(ANY_CUTOFF), {})
        changed = {**general, **self.overrides.get(key, {})}
        return replace(self, overrides={}, **changed) if self.overrides else self

    @property
    def variants(self) -> list[Self]:
        """The general conventions, then those of each override."""
        return [self, *(self.of(key) for key in self.overrides)]

    @property
    def ranking(self) -> Ranking:
        """How the lists are ranked, overrides aside."""
        return Ranking(self.ties, self.duplicates, self.score_dtype)

    @property
    def rankings(self) -> list[Ranking]:
        """Every way in which lists are ranked: the general one, then those of the overrides."""
        return list(dict.fromkeys(own.ranking for own in self.variants))

    def as_dict(self) -> dict[str, Value]:
        """Plain data: what stands in params.yaml, and in every result."""
        content = asdict(self)
        return {k: v for k, v in content.items() if v or k not in WHERE_ASKED}

    @property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that differ as soon as one knob does; the preset's name is no knob."""
        asked = {name: value for name in WHERE_ASKED if (value := getattr(self, name))}
        content: dict[str, Value] = {"knobs": self.knobs(), "overrides": self.overrides, **asked}
        text = json.dumps(content, sort_keys=True, default=str, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def nearest(word: str, words: set[str]) -> str:
    """A hint that names the nearest of the known words, or all of them."""
    other_case = [known for known in sorted(words) if known.casefold() == word.casefold()]
    close = other_case or difflib.get_close_matches(word, sorted(words), n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(sorted(words))}"


def _unknown(key: str, known: set[str]) -> tuple[str, str, str]:
    return key, "is not a convention", nearest(key, known)


PROPENSITY = (
    "{popularity: exponent, clip: p, fewest: n} | {column: items, clip: p, fewest: n} | {column: truth, …}; "
    "each [, normalised: per_user | over_all]"
)
# What sums over hits are divided by, where it is said.
NORMALISED: Mapping[str, str] = {
    "per_user": "each user's sum by the weights of the user's relevant items; users count alike",
    "over_all": "the sum over all users by the weights of all relevant items: one ratio",
}
_PROPENSITY: Mapping[str, tuple[Callable[[Value], bool], str]] = {
    "popularity": (
        lambda v: is_number(v) and 0 < v <= HIGHEST_POPULARITY_EXPONENT,
        f"an exponent above 0, up to {HIGHEST_POPULARITY_EXPONENT}, such as 0.5",
    ),
    "column": (lambda v: v in {"items", "truth"}, "items or truth, the table that has it"),
    "clip": (lambda v: is_number(v) and 0 < v <= 1, "a propensity in (0, 1], such as 0.01"),
    "fewest": (lambda v: is_number(v) and v >= 1, "a number of rows from 1 on, such as 30"),
    "normalised": (lambda v: v in [*NORMALISED], f"{' or '.join(NORMALISED)}, or leave it out"),
}


def _wrong_propensity(value: Value) -> list[tuple[str, str, str]]:
    if value is None:
        return []
    if not isinstance(value, Mapping):
        return [("propensity", f"is {shown(value)}", f"write {PROPENSITY}")]
    problems = [
        (f"propensity.{key}", "is no part of it", f"write {PROPENSITY}")
        for key in value
        if key not in _PROPENSITY
    ]
    problems += [
        (f"propensity.{key}", f"is {shown(value[key])}", f"write {said}")
        for key, (allows, said) in _PROPENSITY.items()
        if key in value and not allows(value[key])
    ]
    if ("popularity" in value) == ("column" in value):
        problems.append(("propensity", "names neither or both of popularity and column", f"write {PROPENSITY}"))  # fmt: skip
    problems += [
        (f"propensity.{key}", "is missing", f"write {_PROPENSITY[key][1]}")
        for key in ("clip", "fewest")
        if key not in value
    ]
    return problems


_WORDS = {"unit_mean": get_args(UnitMean), "fairness_target": get_args(FairTarget)}


def _wrong_words(mapping: Mapping[str, Value]) -> list[tuple[str, str, str]]:
    return [
        (name, f"is {shown(value)}", f"choose one of: {' | '.join(words)}")
        for name, words in _WORDS.items()
        if (value := mapping.get(name)) is not None and value not in words
    ]


def _wrong_together(unit_mean: Value, propensity: Value) -> list[tuple[str, str, str]]:
    asked = propensity.get("normalised") if isinstance(propensity, Mapping) else None
    if asked != "over_all" or unit_mean != "users":
        return []
    what = "is over_all, one ratio over all rows, and unit_mean: users lets users count alike"
    return [("propensity.normalised", what, "write unit_mean: requests, or normalised: per_user")]


def _wrong_value(name: str, value: Value, where: str) -> list[tuple[str, str, str]]:
    if KNOB[name].allows(value):
        return []
    beyond = f"; numbers go up to {LARGEST:,.0f}" if _beyond(value) else ""
    return [(where, f"is {shown(value)}", f"choose one of: {KNOB[name].allowed()}{beyond}")]


def _beyond(value: Value) -> bool:
    """Is it a number that is too large, or does it hold one?"""
    if isinstance(value, Mapping):
        return any(_beyond(inner) for pair in value.items() for inner in pair)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and not is_number(value) and value == value  # noqa: PLR0124 - not NaN


def shown(value: Value) -> str:
    """A value for a message, cut where it is long."""
    text = "empty" if value is None else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _wrong_shapes(mapping: Mapping[str, Value]) -> list[tuple[str, str, str]]:
    """What is said of the preset and of the overrides, where it is no name and no mapping of mappings."""
    preset, overrides = mapping["preset"], mapping["overrides"]
    problems = []
    if not isinstance(preset, str):
        problems.append(("preset", f"is {shown(preset)}", "name a preset, or write `custom`"))
    if not isinstance(overrides, Mapping):
        fix = "write {} where there are none, else a mapping such as {RR: {rr_cutoff: none}}"
        return [*problems, ("overrides", f"is {shown(overrides)}", fix)]
    return problems + [
        (f"overrides.{metric}", f"is {shown(changed)}", "write a mapping such as {rr_cutoff: none}")
        for metric, changed in overrides.items()
        if not isinstance(changed, Mapping) or not isinstance(metric, str)
    ]


def _wrong_overrides(key: str, changed: Mapping[str, Value]) -> list[tuple[str, str, str]]:
    problems: list[tuple[str, str, str]] = []
    for name, value in changed.items():
        where = f"overrides.{key}.{name}"
        if name not in KNOB:
            _, what, fix = _unknown(str(name), set(KNOB))
            problems.append((where, what, fix))
        else:
            problems += _wrong_value(name, value, where)
    return problems
