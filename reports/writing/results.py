"""The comparison with its look-ups: one row of the leaderboard, one difference, the digits of a label."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reports.writing.numbers import decimals
from reports.writing.verdicts import MIRROR

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """`comparison` is the content of comparison.json."""

    comparison: Mapping[str, Any]

    @property
    def baseline(self) -> str:
        return str(self.comparison["baseline"])

    @property
    def primary(self) -> list[str]:
        return list(self.comparison["primary"])

    @property
    def panel(self) -> list[Row]:
        """The primary metrics under other definitions; empty where they were not asked for."""
        return list(self.comparison.get("panel") or [])

    @cached_property
    def models(self) -> list[str]:
        """Best first by the first primary metric; models without a value last, in the given order."""
        given = list(self.comparison["models"])
        label = self.primary[0]
        means = {model: self.score(model, label)["mean"] for model in given}
        upwards = -1 if self.metrics[label]["higher_is_better"] else 1
        return sorted(given, key=lambda m: (means[m] is None, upwards * (means[m] or 0)))

    @property
    def challengers(self) -> list[str]:
        return [model for model in self.models if model != self.baseline]

    @cached_property
    def metrics(self) -> dict[str, Row]:
        return {metric["label"]: metric for metric in self.comparison["metrics"]}

    @cached_property
    def main_k(self) -> int | None:
        """The cutoff of the first primary metric that has one; else the greatest."""
        of_primary = [self.metrics[label]["k"] for label in self.primary]
        known = [k for k in of_primary if k is not None]
        ks = self.comparison["ks"]
        return known[0] if known else max(ks, default=None)

    @cached_property
    def main_labels(self) -> list[str]:
        """The primary labels, then those at the main cutoff, then those without a cutoff."""
        others = [label for label in self.metrics if label not in self.primary]
        at_main_k = [label for label in others if self.metrics[label]["k"] == self.main_k]
        without_k = [label for label in others if self.metrics[label]["k"] is None]
        return list(dict.fromkeys([*self.primary, *at_main_k, *without_k]))

    @cached_property
    def _scores(self) -> dict[tuple[str, str], Row]:
        return {(row["model"], row["label"]): row for row in self.comparison["leaderboard"]}

    def score(self, model: str, label: str) -> Row:
        return self._scores[model, label]

    @cached_property
    def _differences(self) -> dict[tuple[str, str, str], Row]:
        return {(row["a"], row["b"], row["label"]): row for row in self.comparison["differences"]}

    def difference(self, a: str, b: str, label: str) -> Row | None:
        """Model a minus model b, whichever way round it was computed; None if it was not."""
        forward = self._differences.get((a, b, label))
        backward = self._differences.get((b, a, label))
        return forward or (_mirrored(backward) if backward else None)

    @cached_property
    def verdicts_seen(self) -> set[str]:
        """The verdicts that occur on primary metrics."""
        return {row["verdict"] for row in self.comparison["differences"] if row["primary"]}

    def digits(self, label: str) -> int:
        """Decimals of the means of a label."""
        return self._digits[label]

    def difference_digits(self, label: str) -> int:
        """Decimals of the differences of a label."""
        return self._difference_digits[label]

    @cached_property
    def _means(self) -> dict[str, list[float | None]]:
        return {
            label: [self.score(m, label)["mean"] for m in self.models] for label in self.metrics
        }

    @cached_property
    def _digits(self) -> dict[str, int]:
        rows = {label: [self.score(m, label) for m in self.models] for label in self.metrics}
        return {
            label: decimals(map(_half_width, rows[label]), self._means[label]) for label in rows
        }

    @cached_property
    def _difference_digits(self) -> dict[str, int]:
        rows: dict[str, list[Row]] = {label: [] for label in self.metrics}
        for row in self.comparison["differences"]:
            rows[row["label"]].append(row)
        return {
            label: decimals(map(_half_width, rows[label]), self._means[label]) for label in rows
        }


def _half_width(row: Row) -> float | None:
    low, high = row["ci_low"], row["ci_high"]
    return None if low is None or high is None else float(high - low) / 2


def _mirrored(row: Row) -> Row:
    return {
        **row,
        "a": row["b"],
        "b": row["a"],
        "mean_a": row["mean_b"],
        "mean_b": row["mean_a"],
        "difference": _negated(row["difference"]),
        "ci_low": _negated(row["ci_high"]),
        "ci_high": _negated(row["ci_low"]),
        "effect_size": _negated(row["effect_size"]),
        "relative": _negated(row["difference"]) / row["mean_a"]
        if row["difference"] and row["mean_a"]
        else None,
        "better": row["worse"],
        "worse": row["better"],
        "verdict": MIRROR.get(row["verdict"], row["verdict"]),
    }


def _negated(value: float | None) -> Any:
    return None if value is None else 0.0 - value
