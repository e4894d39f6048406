"""The compiled functions of `scipy.special`, without the imports of its package.

These take 0.16 s, for numpy.f2py, numpy.testing and other array libraries: more than most
evaluations of small data.
"""

import importlib
import sys
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from typing import Any

_PACKAGE = "scipy.special"
_FUNCTIONS = f"{_PACKAGE}._ufuncs"


@cache
def special() -> Any:
    """Return the module with `stdtr`, `stdtrit`, `ndtr` and others: the objects of scipy.special.

    It is imported below a placeholder of its package, for whose lock other threads wait. If a
    version of SciPy has another layout, return the package.
    """
    import scipy

    spec = ModuleSpec(_PACKAGE, None, is_package=True)
    spec.submodule_search_locations = [f"{scipy.__path__[0]}/special"]
    spec._initializing = True  # type: ignore[attr-defined]  # or other threads would not wait
    lock = importlib._bootstrap._ModuleLockManager(_PACKAGE)  # type: ignore[attr-defined]
    with suppress(Exception), lock:
        if _PACKAGE not in sys.modules:
            sys.modules[_PACKAGE] = module_from_spec(spec)
            try:
                return importlib.import_module(_FUNCTIONS)
            finally:
                del sys.modules[_PACKAGE]
    return importlib.import_module(_PACKAGE)
