"""Page of `dvc plots`, rendered in another process: bundling Vega holds the GIL for a second."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from concord.pipeline.running.signals import die_with_parent
from concord.reports.plots_page import VEGA, plots_page


@contextmanager
def render_plots_page() -> Iterator[Callable[[], str]]:
    """Start to render, if Vega has to be bundled; yield a function that waits for the page.

    The process is killed at the end of the block.
    """
    if VEGA.is_file():
        yield plots_page
        return
    command = [sys.executable, "-P", "-m", __name__]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        try:
            yield lambda: _page(process)
        finally:
            process.kill()


def _page(process: "subprocess.Popen[bytes]") -> str:
    """Return the output of the process; raise RuntimeError with its last line if it failed."""
    page, errors = process.communicate()
    if process.returncode:
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        msg = f"the page of `dvc plots` could not be made: {last or process.returncode}"
        raise RuntimeError(msg)
    return page.decode()


def main() -> None:
    die_with_parent()
    sys.stdout.buffer.write(plots_page().encode())


if __name__ == "__main__":
    main()
