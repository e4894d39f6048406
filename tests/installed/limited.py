"""Run a script in a Python that lacks packages: `limited.py LACKS SCRIPT ARGUMENTS`.

LACKS is JSON: names of missing packages, or `{"only": names}` for the only ones that exist.
"""

import json
import runpy
import sys
from importlib.machinery import PathFinder
from typing import Any


class Limited(PathFinder):
    """Hide missing packages, as if they were not installed."""

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Return None for what is lacking."""
        name = fullname.partition(".")[0]
        if isinstance(LACKS, dict):
            always = ("concord", "sysconfigdata", *LACKS["only"])
            remote = name in sys.stdlib_module_names or name.strip("_").startswith(always)
        else:
            remote = name not in LACKS
        return super().find_spec(fullname, path, target) if remote else None


LACKS: Any = json.loads(sys.argv[1])
sys.argv = sys.argv[2:]
sys.meta_path = [Limited if each is PathFinder else each for each in sys.meta_path]
runpy.run_path(sys.argv[0], run_name="__main__")
