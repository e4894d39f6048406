"""Look-ups for the sentences: who leads a label, and how one model stands to another, told from its side."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Row = Mapping[str, Any]

_MIRROR = {
    "better": "worse",
    "worse": "better",
    "better_below_threshold": "worse_below_threshold",
    "worse_below_threshold": "better_below_threshold",
    "better_without_interval": "worse_without_interval",
    "worse_without_interval": "better_without_interval",
}
_FEWEST_DIGITS, _MOST_DIGITS = 3, 6


@dataclass(frozen=True)
class Gap:
    """Model a minus model b on a label; `row` is the difference of comparison.json that says so."""

    a: str
    b: str
    difference: float | None
    low: float | None
    high: float | None
    relative: float | None
    verdict: str
    row: Row


@dataclass(frozen=True)
class Standing:
    """`comparison` has models, metrics, leaderboard and differences of comparison.json."""

    comparison: Mapping[str, Any]

    @property
    def baseline(self) -> str:
        return str(self.comparison["baseline"])

    @cached_property
    def shares(self) -> dict[str, float]:
        """Label -> the smallest difference that matters, where it is a share of the baseline's mean."""
        effects = {row["label"]: row.get("min_effect", "") for row in self.comparison["metrics"]}
        return {
            label: float(effect.removesuffix("%")) / 100
            for label, effect in effects.items()
            if effect.endswith("%")
        }

    @property
    def primary(self) -> list[str]:
        return list(self.comparison["primary"])

    @property
    def alpha(self) -> float:
        return 1 - float(self.comparison["confidence"])

    @cached_property
    def higher_is_better(self) -> dict[str, bool]:
        return {row["label"]: row["higher_is_better"] for row in self.comparison["metrics"]}

    @cached_property
    def _scores(self) -> dict[str, dict[str, Row]]:
        """Label -> model -> row of the leaderboard."""
        scores: dict[str, dict[str, Row]] = {}
        for row in self.comparison["leaderboard"]:
            scores.setdefault(row["label"], {})[row["model"]] = row
        return scores

    @cached_property
    def _gaps(self) -> dict[tuple[str, str, str], Row]:
        return {(row["label"], row["a"], row["b"]): row for row in self.comparison["differences"]}

    @cached_property
    def primary_rows(self) -> list[Row]:
        return [row for row in self.comparison["differences"] if row["primary"]]

    def score(self, model: str, label: str) -> Row:
        return self._scores[label][model]

    def leaders(self, label: str) -> list[str]:
        return [model for model, row in self._scores[label].items() if row["best"]]

    def others(self, label: str) -> list[str]:
        """The models behind the leaders, best first; those without a mean last."""
        rest = [model for model, row in self._scores[label].items() if not row["best"]]
        sign = -1 if self.higher_is_better[label] else 1
        means = {model: self.score(model, label)["mean"] for model in rest}
        return sorted(rest, key=lambda model: (means[model] is None, sign * (means[model] or 0)))

    def gap(self, a: str, b: str, label: str) -> Gap:
        row = self._gaps.get((label, a, b))
        if row is not None:
            numbers = (row["difference"], row["ci_low"], row["ci_high"])
            return Gap(a, b, *numbers, row["relative"], row["verdict"], row)
        row = self._gaps[label, b, a]
        difference, mean = _negated(row["difference"]), row["mean_a"]
        low, high = _negated(row["ci_high"]), _negated(row["ci_low"])
        relative = difference / mean if difference is not None and mean > 0 else None
        verdict = str(_MIRROR.get(row["verdict"], row["verdict"]))
        return Gap(a, b, difference, low, high, relative, verdict, row)

    def against_baseline(self, label: str) -> list[Gap]:
        """Every other model against the baseline, best first."""
        models = [*self.leaders(label), *self.others(label)]
        return [self.gap(m, self.baseline, label) for m in models if m != self.baseline]

    def digits(self, label: str) -> int:
        """Two significant digits of the narrowest interval of the means."""
        return _digits(self._scores[label].values())

    def finer_digits(self, label: str) -> int:
        """Two significant digits of the narrowest interval of the differences."""
        return _digits(row for row in self.primary_rows if row["label"] == label)


def _negated(number: float | None) -> Any:
    return None if number is None else 0.0 - number


def _digits(rows: Iterable[Row]) -> int:
    widths = [row["ci_high"] - row["ci_low"] for row in rows if row["ci_low"] is not None]
    known = [width / 2 for width in widths if width > 0]
    wanted = 1 - math.floor(math.log10(min(known))) if known else _FEWEST_DIGITS
    return min(max(wanted, _FEWEST_DIGITS), _MOST_DIGITS)
