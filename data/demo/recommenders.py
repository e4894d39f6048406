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
    """Rank items by their number of users: the same list for everybody."""
    return np.tile((weights > 0).sum(axis=0).astype(np.float64), (len(weights), 1))


def item_knn(weights: Floats) -> Floats:
    """Sum of cosine similarities to the user's nearest neighbours (Sarwar et al. 2001)."""
    binary = (weights > 0).astype(np.float64)
    norm = np.sqrt(binary.sum(axis=0)).clip(min=1.0)
    similarity = (binary.T @ binary) / np.outer(norm, norm)
    np.fill_diagonal(similarity, 0.0)
    least = np.sort(similarity, axis=1)[:, -NEIGHBOURS][:, None]
    scores: Floats = binary @ np.where(similarity >= least, similarity, 0.0).T
    return scores


def ease(weights: Floats) -> Floats:
    """Linear autoencoder with a zero diagonal in closed form (Steck 2019)."""
    inverse = np.linalg.inv(weights.T @ weights + EASE_PENALTY * np.eye(weights.shape[1]))
    model = -inverse / np.diag(inverse)
    np.fill_diagonal(model, 0.0)
    scores: Floats = weights @ model
    return scores


def als(weights: Floats, rng: np.random.Generator) -> Floats:
    """Factorise implicit feedback by alternating least squares (Hu, Koren & Volinsky 2008)."""
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
        items = np.flatnonzero(row)
        confidence = ALS_CONFIDENCE * row[items]
        system = everywhere + (fixed[items].T * confidence) @ fixed[items]
        rows.append(np.linalg.solve(system, fixed[items].T @ (1.0 + confidence)))
    return np.array(rows)
