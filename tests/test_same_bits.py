"""The same inputs give the same bytes: over repeats, threads, engines, row order and hash seeds."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.project import change_params, copied, run

STAGES = ("load-truth", "load-background", "load", "evaluate", "compare", "report")
THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = copied(tmp_path_factory.mktemp("same-bits"))
    _repro(project)
    return project


@pytest.fixture(scope="module")
def expected(project: Path) -> dict[str, str]:
    return _digests(project)


@pytest.fixture(autouse=True)
def _params_as_they_were(project: Path) -> Iterator[None]:
    kept = (project / "params.yaml").read_bytes()
    yield
    (project / "params.yaml").write_bytes(kept)


def _repro(project: Path, *prefix: str, **environment: str) -> None:
    """All stages up to the report, none of them from DVC's cache."""
    shutil.rmtree(project / "results", ignore_errors=True)
    shutil.rmtree(project / ".dvc" / "cache", ignore_errors=True)
    run(project, *prefix, "dvc", "repro", *STAGES, **environment)


def _digests(project: Path) -> dict[str, str]:
    results = project / "results"
    files = sorted(path for path in results.rglob("*") if path.is_file())
    return {str(p.relative_to(results)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_deleted_results_come_back_byte_for_byte(project: Path, expected: dict[str, str]) -> None:
    lock = (project / "dvc.lock").read_bytes()
    _repro(project)

    assert _digests(project) == expected
    assert (project / "dvc.lock").read_bytes() == lock
    assert len(expected) > 25


@pytest.mark.fault(19, "hash seeds change no byte")
@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_hash_seeds_change_nothing(project: Path, expected: dict[str, str], seed: str) -> None:
    _repro(project, PYTHONHASHSEED=seed)

    assert _digests(project) == expected


@pytest.mark.fault(20, "numbers of threads change no byte")
@pytest.mark.parametrize("threads", ["1", "2", "8"])
def test_threads_change_nothing(project: Path, expected: dict[str, str], threads: str) -> None:
    _repro(project, **dict.fromkeys(THREADS, threads), CONCORD_THREADS=threads)

    assert _digests(project) == expected


@pytest.mark.parametrize("partition", [1_000, 7_777])
def test_partitions_change_nothing(project: Path, expected: dict[str, str], partition: int) -> None:
    change_params(project, {"evaluation.rows_per_partition": partition})
    _repro(project)

    assert _digests(project) == expected


def test_the_polars_engine_gives_the_same_bytes(project: Path, expected: dict[str, str]) -> None:
    change_params(project, {"evaluation.engine": "polars"})
    _repro(project)

    assert _digests(project) == expected


def test_shuffled_rows_give_the_same_numbers(project: Path, expected: dict[str, str]) -> None:
    """Hashes of the inputs differ, and what carries them; lists, values and metrics do not."""
    demo = project / "data" / "demo"
    for name in ("truth.parquet", "item-knn.parquet"):
        pl.read_parquet(demo / name).sample(fraction=1.0, shuffle=True, seed=7).write_parquet(
            demo / name
        )
    header, *rows = (demo / "popularity.csv").read_text().splitlines(keepends=True)
    (demo / "popularity.csv").write_text(header + "".join(reversed(rows)))
    _repro(project)
    numbers = (
        "data/",
        "lists/",
        "per_user/",
        "metrics/",
        "comparison/leaderboard",
        "comparison/differences",
    )

    found = _digests(project)

    assert {name: d for name, d in found.items() if name.startswith(numbers)} == {
        name: d for name, d in expected.items() if name.startswith(numbers)
    }
