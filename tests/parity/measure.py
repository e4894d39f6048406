"""Measure the values that other libraries return, and read the stored ones.

        python -m tests.parity.measure [LIBRARY…]

    writes tests/parity/values/LIBRARY.parquet; default: all libraries.

A script `libraries/with_LIBRARY.py` runs in an environment of its own, which uv makes from
`with_LIBRARY.txt` and which is kept in `.cache/parity` until that file changes. A row of the values
is a preset, case, label and user (null: the mean) with a value, or with the error where the library
cannot take the case.
"""

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from tests.parity.cases import cases_for, movielens
from tests.project import MOVIELENS

FOLDER = Path(__file__).parent
SCRIPTS = FOLDER / "libraries"
VALUES = FOLDER / "values"
LIBRARIES = sorted(path.stem.removeprefix("with_") for path in SCRIPTS.glob("with_*.py"))
RECOMMENDERS = [
    name for name in LIBRARIES if name not in {"propensities", "fairlearn", "rbo", "pyndeval"}
]
KEYS = ["preset", "case", "label", "user"]
SCHEMA = dict.fromkeys(KEYS, pl.String) | {"value": pl.Float64, "error": pl.String}
_BUILD = "# build: "  # starts a line of the requirements that pins what the library is built with
_ALONE = "# alone: "  # starts a line with a package that is installed without its dependencies
_ENVIRONMENTS = FOLDER.parents[1] / ".cache" / "parity"
# folders of wheels on this machine, such as a CPU build of torch
_WHEELS = [each for each in os.environ.get("PIP_FIND_LINKS", "").split() if Path(each).is_dir()]


def main(libraries: Sequence[str]) -> None:
    """Measure the libraries and write their values."""
    VALUES.mkdir(exist_ok=True)
    if not movielens():
        msg = f"{MOVIELENS} is missing: the values on MovieLens would be lost."
        raise SystemExit(msg)
    for library in libraries or LIBRARIES:
        values = measure(library)
        path = VALUES / f"{library}.parquet"
        values.write_parquet(
            path, compression="zstd", compression_level=19, statistics=False, metadata=key(library)
        )
        print(f"{path.name}: {len(values):,} values, {path.stat().st_size:,} bytes")


@cache
def stored(library: str) -> pl.DataFrame:
    """Return the stored values; those on MovieLens only where the data set is available."""
    path = VALUES / f"{library}.parquet"
    metadata = pl.read_parquet_metadata(path)
    changed = [part for part, digest in key(library).items() if metadata.get(part) != digest]
    assert not changed, (
        f"the stored values of {library} were measured with other {' and '.join(changed)}; "
        f"run `python -m tests.parity.measure {library}`"
    )
    values = pl.read_parquet(path)
    return values if movielens() else values.filter(pl.col("case") != "movielens")


def presets(library: str) -> list[str]:
    """Return the presets with stored values; empty if the library was not measured."""
    path = VALUES / f"{library}.parquet"
    if not path.exists():
        return []
    rows = pl.read_parquet(path, columns=["preset", "value"]).drop_nulls()
    return rows["preset"].unique().sort().to_list()


def key(library: str) -> dict[str, str]:
    """Return digests of what the values of a library depend on."""
    script = (SCRIPTS / f"with_{library}.py").read_bytes()
    parts = {
        "cases": json.dumps(cases_for(library)).encode(),
        "script": script + (SCRIPTS / "adapter.py").read_bytes(),
        "requirements": (SCRIPTS / f"with_{library}.txt").read_bytes(),
    }
    if library in RECOMMENDERS and (real := movielens()):
        parts["MovieLens"] = json.dumps(real).encode()
    return {part: hashlib.sha256(content).hexdigest()[:16] for part, content in parts.items()}


def residue(preset: str) -> list[dict[str, str]]:
    """Return what a preset's library does that no convention expresses.

    Each row has regular expressions of cases and labels, and the reason.
    """
    with (FOLDER / "residue.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if re.fullmatch(row["preset"], preset)]


def measure(library: str) -> pl.DataFrame:
    """Return the values that the library returns now, in its own environment."""
    cases = cases_for(library) + (movielens() if library in RECOMMENDERS else [])
    python = python_with(SCRIPTS / f"with_{library}.txt")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "cases.json"), Path(folder, "values.json")
        source.write_text(json.dumps(cases))
        _run(str(python), str(SCRIPTS / f"with_{library}.py"), str(source), str(target))
        results = json.loads(target.read_text())
    rows: list[tuple[Any, ...]] = []
    for preset, case, label, users, mean, error in results:
        assert users != {}, f"{library}: no user in {preset}, {case}, {label}"
        means = {} if mean is None and error is None else {None: mean}
        for user, value in (means | (users or {})).items():
            rows.append((preset, case, label, user, None if value is None else float(value), error))
    return pl.DataFrame(rows, SCHEMA, orient="row").sort(KEYS)


def python_with(requirements: Path) -> Path:
    """Return the interpreter of an environment with these requirements; make it if missing."""
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()[:12]
    folder = _ENVIRONMENTS / f"{requirements.stem}-{digest}"
    python = folder / "bin" / "python"
    if not (folder / "made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _run("uv", "venv", "--quiet", "--python", sys.executable, str(folder))
        lines = requirements.read_text().splitlines()
        build = folder / "build.txt"
        build.write_text("\n".join(x.removeprefix(_BUILD) for x in lines if x.startswith(_BUILD)))
        options = ["--build-constraint", str(build), *(f"--find-links={each}" for each in _WHEELS)]
        install = ("uv", "pip", "install", "--quiet", "--python", str(python), *options)
        _run(*install, "--requirement", str(requirements))
        for line in lines:
            if line.startswith(_ALONE):
                _run(*install, "--no-deps", line.removeprefix(_ALONE))
        (folder / "made").touch()
    return python


def _run(*command: str) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment["PYTHONWARNINGS"] = "ignore"
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        msg = f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        raise RuntimeError(msg)


if __name__ == "__main__":
    main(sys.argv[1:])
