"""Weighed metrics beside libraries of other fields that have them: extreme classification, and off-policy evaluation."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import concord as cc
from tests.parity import environments

pytestmark = pytest.mark.nightly

K = 5
N_USERS, N_ITEMS = 60, 30


@pytest.fixture(scope="module")
def given() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    return {
        "lists": [rng.permutation(N_ITEMS)[:8].tolist() for _ in range(N_USERS)],
        "truth": [rng.permutation(N_ITEMS)[: rng.integers(1, 9)].tolist() for _ in range(N_USERS)],
        "propensities": np.linspace(1, 0.05, N_ITEMS).tolist(),
        "k": K,
    }


@pytest.fixture(scope="module")
def said(given: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """What napkinXC and the Open Bandit Pipeline say."""
    folder: Path = tmp_path_factory.mktemp("propensities")
    return environments.measured("propensities", given, folder)


def _means(given: dict[str, Any], metrics: list[str], **normalised: str) -> cc.Result:
    lists, truth = (
        {str(user): [str(item) for item in held] for user, held in enumerate(given[name])}
        for name in ("lists", "truth")
    )
    known = {"item": [str(item) for item in range(N_ITEMS)], "p": given["propensities"]}
    propensity = {"column": "items", "clip": 0.01, "fewest": 1, **normalised}
    return cc.evaluate(
        lists,
        truth,
        metrics=metrics,
        items=pl.DataFrame(known),
        columns={"items": {"propensity": "p"}},
        conventions=cc.preset("standard", propensity=propensity),
    )


def test_sums_over_hits_are_those_of_napkinxc(
    given: dict[str, Any], said: dict[str, float]
) -> None:
    """PSP@k, and PSDCG@k, which it divides by k."""
    found = _means(given, [f"P@{K}", f"DCG@{K}"])

    assert found[f"P@{K}"] == pytest.approx(said["P"], rel=1e-12)
    assert found[f"DCG@{K}"] == pytest.approx(K * said["DCG"], rel=1e-12)


def test_ratios_over_all_are_the_self_normalised_estimator_of_obp(
    given: dict[str, Any], said: dict[str, float]
) -> None:
    """Each relevant row is a round, its reward a hit or the discount of its rank; the policy always takes its action."""
    rows = sum(map(len, given["truth"]))
    weighed = _means(given, [f"CG@{K}", f"DCG@{K}"])
    found = _means(given, [f"R@{K}", f"DCG@{K}"], normalised="over_all")

    assert found[f"R@{K}"] == pytest.approx(said["snips R"], rel=1e-12)
    assert found[f"DCG@{K}"] == pytest.approx(said["snips DCG"], rel=1e-12)
    assert weighed[f"CG@{K}"] * N_USERS / rows == pytest.approx(said["ips R"], rel=1e-12)
    assert weighed[f"DCG@{K}"] * N_USERS / rows == pytest.approx(said["ips DCG"], rel=1e-12)
