"""Recommenders, in plain NumPy: from (users, items) weights to (users, items) scores."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NEIGHBOURS = 40
EASE_PENALTY = 120.0
FACTORS = 24
ROUNDS = 12
ALS_PENALTY = 8.0
ALS_CONFIDENCE = 6.0


def popularity(weights: Floats) -> Floats:
    """The same list for everybody: items by number of users."""
    return np.tile((weights > 0).sum(axis=0).astype(np.float64), (len(weights), 1))


def item_knn(weights: Floats) -> Floats:
    """Sum of cosine similarities to the user's items, nearest neighbours only (Sarwar et al. 2001)."""
    seen = (weights > 0).astype(np.float64)
    norm = np.sqrt(seen.sum(axis=0)).clip(min=1.0)
    similarity = (seen.T @ seen) / np.outer(norm, norm)
    np.fill_diagonal(similarity, 0.0)
    least = np.sort(similarity, axis=1)[:, -NEIGHBOURS][:, None]
    scores: Floats = seen @ np.where(similarity >= least, similarity, 0.0).T
    return scores


def ease(weights: Floats) -> Floats:
    """Linear autoencoder with a zero diagonal in closed form (Steck 2019)."""
    inverse = np.linalg.inv(weights.T @ weights + EASE_PENALTY * np.eye(weights.shape[1]))
    model = -inverse / np.diag(inverse)
    np.fill_diagonal(model, 0.0)
    scores: Floats = weights @ model
    return scores


def als(weights: Floats, rng: np.random.Generator) -> Floats:
    """Matrix factorisation of implicit feedback by alternating least squares (Hu, Koren & Volinsky 2008)."""
    users = 0.1 * rng.normal(size=(weights.shape[0], FACTORS))
    items = 0.1 * rng.normal(size=(weights.shape[1], FACTORS))
    for _ in range(ROUNDS):
        users = _solved(weights, items)
        items = _solved(weights.T, users)
    scores: Floats = users @ items.T
    return scores


def _solved(weights: Floats, fixed: Floats) -> Floats:
    everywhere = fixed.T @ fixed + ALS_PENALTY * np.eye(fixed.shape[1])
    rows = []
    for row in weights:
        seen = np.flatnonzero(row)
        confidence = ALS_CONFIDENCE * row[seen]
        left = everywhere + (fixed[seen].T * confidence) @ fixed[seen]
        rows.append(np.linalg.solve(left, fixed[seen].T @ (1.0 + confidence)))
    return np.array(rows)
