"""Rows of a benchmark's table, and the file benchmarks/bench.json that keeps them.

The page and the pictures are made of this file only, so they never differ.
"""

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measured import Measured

BENCH = Path(__file__).with_name("bench.json")


@dataclass(frozen=True)
class Row:
    """A measured cost, a figure with its bound, or both.

    Attributes
    ----------
    what : str
        The work.
    cost : Measured, optional
        Its cost.
    figure : float, optional
        The number that has a bound.
    unit : str
        Its unit, such as "x join".
    bound : float, optional
        Largest allowed figure, or the smallest if `is_least`.
    """

    what: str
    cost: Measured | None = None
    figure: float | None = None
    unit: str = ""
    bound: float | None = None
    is_least: bool = False

    @property
    def is_missed(self) -> bool:
        """True if the figure is beyond its bound."""
        if self.figure is None or self.bound is None:
            return False
        return self.figure < self.bound if self.is_least else self.figure > self.bound


def store(section: str, content: Mapping[str, Any], load: float, path: Path = BENCH) -> None:
    """Replace a section of the file, and the description of the machine.

    Parameters
    ----------
    load : float
        Load average of the machine before the run.
    """
    everything = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    everything |= {"machine": machine(), section: {**content, "load": load}}
    text = json.dumps(everything, indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def stored(path: Path = BENCH) -> dict[str, Any]:
    """Return section -> its content."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def as_json(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return the rows as JSON, with four digits."""
    return [_rounded(asdict(row)) for row in rows]


def from_json(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the rows of `as_json`."""
    return [Row(**{**row, "cost": row["cost"] and Measured(**row["cost"])}) for row in rows]


def machine() -> dict[str, Any]:
    """Return what figures depend on: processor, cores, Python and packages."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("duckdb", "polars", "numpy", "pyarrow")},
    }


def _processor() -> str:
    """Return the model of the processor, and whether NumPy can sort by AVX-512."""
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor()
    lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    words = {key.strip(): value.strip() for key, value in pairs}
    name = words.get("model name", platform.machine())
    family = f"family {words['cpu family']}, model {words['model']}" if "model" in words else ""
    avx = "AVX-512" if "avx512f" in words.get("flags", "").split() else "no AVX-512"
    return ", ".join(filter(None, (name, family, avx)))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, float):
        return None if value != value else float(f"{value:.4g}")  # noqa: PLR0124 (NaN)
    return value
