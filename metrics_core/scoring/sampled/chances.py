"""From the full rank of the relevant item to its rank among sampled candidates."""

import numpy as np

from concord.metrics_core.conventions.candidates import Candidates
from concord.metrics_core.metrics.judged import Floats, Ints


def chances(ranks: Ints, candidates: Candidates) -> Floats:
    """(ranks, negatives + 1) P(r | R) = C(R - 1, r - 1) C(N - R, m - r + 1) / C(N - 1, m), r = 1 … m + 1 along a row.

    Of the R - 1 items above the relevant one, r - 1 are among the m negatives: hypergeometric, as the negatives of a
    list differ. Rows are built from their mode outwards by ratios of neighbours, so nothing overflows, and with
    the four operations alone, so the bits are those of every machine.

    ranks : (ranks,) full ranks R, 1 … N
    """
    m, others = candidates.negatives, candidates.others
    above = ranks.astype(np.float64)[:, None] - 1.0
    drawn = np.arange(m, dtype=np.float64)
    more = np.maximum((above - drawn) * (m - drawn), 0.0)  # P(j + 1) : P(j) = more : fewer
    fewer = np.maximum((drawn + 1.0) * (others - m - above + drawn + 1.0), 0.0)
    rises = more >= fewer
    up = np.where(rises, 1.0, more / np.where(rises, 1.0, fewer))
    down = np.where(rises, fewer / np.where(rises, np.maximum(more, 1.0), 1.0), 1.0)
    one = np.ones((len(ranks), 1))
    above_mode = np.hstack([one, np.cumprod(up, axis=1)])
    below_mode = np.hstack([np.cumprod(down[:, ::-1], axis=1)[:, ::-1], one])
    weights = above_mode * below_mode
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares
