"""The same inputs give the same bytes: over repeats, threads, engines, row order and hash seeds."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.project import change_params, copied_from, run, run_stages, stages_run

pytestmark = pytest.mark.whole

STAGES = ("load-truth", "load-background", "load", "evaluate", "compare", "report")
MODELS = ("popularity", "item-knn", "ease", "ease-recent", "als")
EVERY = (
    "load-truth",
    *(f"load-background {name}" for name in ("train", "items", "users")),
    *(f"load {model}" for model in MODELS),
    *(f"evaluate {model}" for model in MODELS),
    "compare",
    "report",
)
THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, demo: Path) -> Path:
    return copied_from(demo, tmp_path_factory.mktemp("same-bits"))


@pytest.fixture(scope="module")
def expected(project: Path) -> dict[str, str]:
    return _digests(project)


@pytest.fixture(autouse=True)
def _params_as_they_were(project: Path) -> Iterator[None]:
    kept = (project / "params.yaml").read_bytes()
    yield
    (project / "params.yaml").write_bytes(kept)


def _again(project: Path, **environment: str) -> None:
    """All stages up to the report, from nothing."""
    shutil.rmtree(project / "results")
    run_stages(project, *EVERY, **environment)


def _digests(project: Path) -> dict[str, str]:
    """All results but what MLflow was told, which is no matter of bits."""
    results = project / "results"
    files = sorted(path for path in results.rglob("*") if path.is_file())
    files = [path for path in files if path.parent.name != "mlflow"]
    return {str(p.relative_to(results)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_deleted_results_come_back_byte_for_byte(project: Path, expected: dict[str, str]) -> None:
    """None of them from DVC's cache."""
    lock = (project / "dvc.lock").read_bytes()
    shutil.rmtree(project / "results")
    shutil.rmtree(project / ".dvc" / "cache")
    ran = stages_run(run(project, "dvc", "repro", *STAGES))

    assert len(ran) == len(EVERY)
    assert _digests(project) == expected
    assert (project / "dvc.lock").read_bytes() == lock
    assert len(expected) > 25


@pytest.mark.fault(19, "hash seeds change no byte")
@pytest.mark.fault(20, "numbers of threads change no byte")
@pytest.mark.parametrize(("seed", "threads"), [("0", "1"), ("1", "2"), ("4242", "8")])
def test_hash_seeds_and_threads_change_nothing(
    project: Path, expected: dict[str, str], seed: str, threads: str
) -> None:
    """Both at once: were either to change a byte, a run of the three would show it."""
    _again(
        project,
        **dict.fromkeys(THREADS, threads),
        CONCORD_THREADS=threads,
        PYTHONHASHSEED=seed,
    )

    assert _digests(project) == expected


@pytest.mark.parametrize("partition", [1_000, 7_777])
def test_partitions_change_nothing(project: Path, expected: dict[str, str], partition: int) -> None:
    change_params(project, {"evaluation.rows_per_partition": partition})
    _again(project)

    assert _digests(project) == expected


def test_the_polars_engine_gives_the_same_bytes(project: Path, expected: dict[str, str]) -> None:
    change_params(project, {"evaluation.engine": "polars"})
    _again(project)

    assert _digests(project) == expected


def test_the_spark_engine_gives_the_same_bytes(project: Path, expected: dict[str, str]) -> None:
    pytest.importorskip("pyspark")
    change_params(project, {"evaluation.engine": "spark", "evaluation.rows_per_partition": 5_000})
    _again(project)

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
    _again(project)
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
