"""The page that `dvc plots` fills, made by a process of its own: bundling Vega holds Python's lock for more than a second."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from concord.pipeline.running.signals import die_with_parent


@contextmanager
def made_beside() -> Iterator[Callable[[], str]]:
    """Begins the page; what is yielded waits for it. The process ends with the block, whatever happens."""
    words = [sys.executable, "-P", "-m", __name__]
    own = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}  # it finds what this process found
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=own
    ) as process:
        try:
            yield lambda: _page(process)
        finally:
            process.kill()


def _page(process: "subprocess.Popen[bytes]") -> str:
    """What the process wrote.

    Raises
    ------
    RuntimeError : it failed, in its last words
    """
    page, said = process.communicate()
    if process.returncode:
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        msg = f"the page of `dvc plots` was not made: {last or process.returncode}"
        raise RuntimeError(msg)
    return page.decode()


def main() -> None:
    die_with_parent()
    from concord.reports.plots_page import plots_page

    sys.stdout.buffer.write(plots_page().encode())


if __name__ == "__main__":
    main()
