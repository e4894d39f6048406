"""Same inputs, same bytes: across repeats, threads, engines, row orders and hash seeds."""

import hashlib
import shutil
import sys
from pathlib import Path

import pytest

from tests.project import (
    ROOT,
    change_params,
    copied_from,
    run_process,
    run_stages,
    stages_to_run,
)

pytestmark = pytest.mark.whole

MODELS = ("popularity", "item-knn", "ease", "ease-recent", "als")
THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
ALL_STAGES = "from tests.project import *; run_all_stages(Path.cwd(), last='report')"


@pytest.fixture
def project(tmp_path: Path, demo: Path) -> Path:
    return copied_from(demo, tmp_path)


@pytest.fixture(scope="module")
def expected(demo: Path) -> dict[str, str]:
    return _digests(demo)


def _digests(project: Path) -> dict[str, str]:
    """Return all results except MLflow's."""
    results = project / "results"
    files = sorted(path for path in results.rglob("*") if path.is_file())
    files = [path for path in files if path.parent.name != "mlflow"]
    return {str(p.relative_to(results)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.mark.fault(19, "no byte changes")
@pytest.mark.fault(20, "no byte changes")
@pytest.mark.parametrize(
    ("seed", "threads"),
    [
        ("4242", "8"),
        pytest.param("0", "1", marks=pytest.mark.nightly),
        pytest.param("1", "2", marks=pytest.mark.nightly),
    ],
)
def test_hash_seeds_and_threads_change_nothing(
    project: Path, expected: dict[str, str], seed: str, threads: str
) -> None:
    """Run all stages without DVC in one process; DVC has nothing to do afterwards."""
    shutil.rmtree(project / "results")
    run_process(
        project,
        sys.executable,
        "-c",
        ALL_STAGES,
        **dict.fromkeys(THREADS, threads),
        CONCORD_THREADS=threads,
        PYTHONHASHSEED=seed,
        PYTHONPATH=str(ROOT),
    )

    assert _digests(project) == expected
    assert stages_to_run(project) == {"log"}  # its receipt was deleted
    assert len(expected) > 25


@pytest.mark.parametrize(
    "change",
    [
        {"evaluation.rows_per_partition": 1_000},
        {"evaluation.engine": "polars"},
        pytest.param({"evaluation.rows_per_partition": 7_777}, marks=pytest.mark.nightly),
    ],
)
def test_partitions_and_the_polars_engine_change_nothing(
    project: Path, expected: dict[str, str], change: dict[str, object]
) -> None:
    change_params(project, change)
    for name in ("per_user", "panel", "summary", "metrics", "comparison"):
        shutil.rmtree(project / "results" / name)
    run_stages(project, *(f"evaluate {model}" for model in MODELS), "compare")

    assert _digests(project) == expected


@pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_spark_engine_gives_the_same_bytes(project: Path, expected: dict[str, str]) -> None:
    """One model, as Spark takes seconds; tests/spark has the rest."""
    pytest.importorskip("pyspark")
    change_params(project, {"evaluation.engine": "spark", "evaluation.rows_per_partition": 5_000})
    shutil.rmtree(project / "results" / "per_user")
    run_stages(project, "evaluate als")

    hashes = _digests(project)

    assert {name: digest for name, digest in expected.items() if name in hashes} == hashes
    assert "per_user/als.parquet" in hashes
