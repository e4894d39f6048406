"""Break a real process at the n-th thing it does to a file, as audit events name it.

FAULT_AT      : which of the events that match, from 1
FAULT_EVENTS  : a regular expression for the text of an event (`open results/x writes`)
FAULT_DO      : die (at once, as by kill -9) | pause (until FAULT_MARK is gone)
FAULT_MARK    : a file that is made when it breaks
"""

import os
import re
import signal
import sys
import time
from pathlib import Path


def _described(event: str, arguments: tuple[object, ...]) -> str:
    texts = [os.fsdecode(a) if isinstance(a, bytes) else str(a) for a in arguments[:3]]
    if event == "open" and len(arguments) > 2 and isinstance(arguments[2], int):
        texts[2:] = ["writes" if arguments[2] & (os.O_WRONLY | os.O_RDWR) else "reads"]
    return " ".join([event, *texts])


def _break_at(number: int, pattern: str, do: str) -> None:
    matching, count = re.compile(pattern), 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event not in ("open", "os.rename", "os.remove", "os.mkdir", "import"):
            return
        if not matching.search(_described(event, arguments)):
            return
        count += 1
        if count != number:
            return
        marker = Path(os.environ.get("FAULT_MARK", os.devnull))
        marker.touch()
        if do == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        while marker.exists():
            time.sleep(0.02)

    sys.addaudithook(watch)


if "FAULT_AT" in os.environ and "stage" in sys.orig_argv:
    _break_at(int(os.environ["FAULT_AT"]), os.environ["FAULT_EVENTS"], os.environ["FAULT_DO"])
