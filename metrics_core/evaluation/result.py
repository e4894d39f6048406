"""What an evaluation says, whoever ran it: means, summary, warnings."""

from collections.abc import Mapping
from html import escape
from typing import Any

import polars as pl

from concord.metrics_core.errors import refuse
from concord.metrics_core.evaluation.summary import Summary
from concord.metrics_core.metrics.label import parse
from concord.metrics_core.results.comparison_parts import Warned

CONFIDENCE = 0.95  # of the intervals in `Told.summary`


class Told:
    """The means of labels; `result["nDCG@10"]` is one, `warnings` are signs that it is not what was meant."""

    warnings: tuple[Warned, ...] = ()

    @property
    def means(self) -> Mapping[str, Summary]:
        """The summary of each label, at full precision."""
        raise NotImplementedError

    @property
    def _means(self) -> Mapping[str, float]:
        """The mean of each label, for those who ask for no interval."""
        return {label: summary.mean for label, summary in self.means.items()}

    @property
    def per_user(self) -> Any:
        """user, then one Float64 column a label: NaN where undefined, null where the user is left out."""
        raise NotImplementedError

    @property
    def n_users(self) -> int:
        """The rows of `per_user`."""
        raise NotImplementedError

    def __repr__(self) -> str:
        means = ", ".join(f"{label} {mean:.4f}" for label, mean in self._means.items())
        said = "".join(f"; beware: {each.sentence.removesuffix('.')}" for each in self.warnings)
        return f"<Result for {self._whom}: {means}{said}>"

    @property
    def _whom(self) -> str:
        """Over whom the means are taken, in words."""
        return f"{self.n_users:,} users"

    def _repr_html_(self) -> str:
        """What a notebook shows: the warnings and the summary."""
        told = "".join(f"<p>Beware: {escape(each.sentence)}</p>" for each in self.warnings)
        return told + self.summary._repr_html_()

    def __getitem__(self, label: str) -> float:
        """The mean of a label that was asked for.

        Raises
        ------
        ValueError : it was not
        """
        known = str(parse(label))
        means = self._means
        if known not in means:
            what = f"was not evaluated; there are {', '.join(means)}"
            raise refuse(label, what, "add it to `metrics`")
        return means[known]

    @property
    def summary(self) -> pl.DataFrame:
        """metric, mean, ci_low, ci_high (95 %, t), n_users, n_undefined [, n_requests]; one row a label."""
        return pl.DataFrame([{"metric": label, **row.numbers} for label, row in self.means.items()])
