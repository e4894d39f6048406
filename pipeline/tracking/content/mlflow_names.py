"""Names of metrics in MLflow, which refuses `@`, `(`, `)` and `=`; two labels never share a name."""

import numpy as np

from concord.metrics_core.metrics.catalogue import Label, parse


def metric_key(label: Label) -> str:
    """`nDCG@10` -> `accuracy/ndcg_at_10`, `RBP(p=0.8)@20` -> `accuracy/rbp.p-0.8_at_20`."""
    return f"{label.metric.family}/{_stem_at_k(label)}"


def interval_key(label: Label, part: str) -> str:
    """`nDCG@10` and its `ci_low` -> `interval/ndcg_at_10_ci_low`."""
    return f"interval/{_stem_at_k(label)}_{part}"


def difference_key(label: Label) -> str:
    """`nDCG@10` -> `difference/ndcg_at_10`: to the baseline."""
    return f"difference/{_stem_at_k(label)}"


def p_key(label: Label) -> str:
    """`nDCG@10` -> `p_adjusted/ndcg_at_10`."""
    return f"p_adjusted/{_stem_at_k(label)}"


def leader_key(label: Label, part: str = "") -> str:
    """`nDCG@10` -> `leader/ndcg_at_10`, and its `difference` -> `leader/difference_ndcg_at_10`."""
    return f"leader/{part}{'_' if part else ''}{_stem_at_k(label)}"


def tag_key(kind: str, label: Label) -> str:
    """`nDCG@10` -> `concord.verdict.ndcg_at_10`."""
    return f"concord.{kind}.{_stem_at_k(label)}"


def curve_key(label: Label) -> str:
    """`nDCG@10` -> `by_k/ndcg`: k is the step of the curve."""
    return f"by_k/{_stem(label)}"


def study_key(label: str) -> str:
    """`nDCG@10` -> `ndcg_at_10`."""
    return _stem_at_k(parse(label))


def _stem_at_k(label: Label) -> str:
    return _stem(label) if label.k is None else f"{_stem(label)}_at_{label.k}"


def _stem(label: Label) -> str:
    return label.name.lower() + "".join(
        f".{name}-{_decimal(value)}" for name, value in label.arguments
    )


def _decimal(value: float) -> str:
    """The shortest digits that read back as the same number, without an exponent, whose `+` is refused."""
    return np.format_float_positional(value, trim="-")
