"""Environments that break a real process at a chosen moment; see hook/sitecustomize.py."""

import time
from pathlib import Path

HOOK = str(Path(__file__).parent / "hook")
WITHIN = 30  # seconds


def broken(at: int, events: str, do: str, mark: Path | None = None) -> dict[str, str]:
    """The environment of a process that breaks at the `at`-th event that matches."""
    marked = {} if mark is None else {"FAULT_MARK": str(mark)}
    return {
        "PYTHONPATH": HOOK,
        "FAULT_AT": str(at),
        "FAULT_EVENTS": events,
        "FAULT_DO": do,
        **marked,
    }


def wait_for(path: Path) -> None:
    """Until a paused process has come to its mark."""
    end = time.monotonic() + WITHIN
    while not path.exists():
        assert time.monotonic() < end, f"no process came to {path.name}"
        time.sleep(0.02)


def wait_until_gone(pid: int) -> bool:
    """Whether a process has ended within seconds; a zombie has."""
    end = time.monotonic() + WITHIN
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False
