"""The compiled functions of `scipy.special`, without the imports of its package.

These take 0.16 s, for numpy.f2py, numpy.testing and other array libraries: more than most
evaluations of small data.
"""

import importlib
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any

_PACKAGE = "scipy.special"
_FUNCTIONS = f"{_PACKAGE}._ufuncs"


@cache
def special() -> Any:
    """Return the module with `stdtr`, `stdtrit`, `ndtr` and others: the objects of scipy.special.

    If a version of SciPy has another layout, it is the package.
    """
    if _PACKAGE not in sys.modules:
        try:
            return _load_functions()
        except Exception:  # an import of other versions may fail in any way
            sys.modules.pop(_FUNCTIONS, None)
    return importlib.import_module(_PACKAGE)


def _load_functions() -> ModuleType:
    """Import the functions below a placeholder of their package, which is removed again."""
    import scipy

    spec = ModuleSpec(_PACKAGE, None, is_package=True)
    spec.submodule_search_locations = [f"{scipy.__path__[0]}/special"]
    spec._initializing = True  # type: ignore[attr-defined]  # other threads wait for the lock
    with importlib._bootstrap._ModuleLockManager(_PACKAGE):  # type: ignore[attr-defined]
        if _PACKAGE in sys.modules:
            return importlib.import_module(_PACKAGE)
        sys.modules[_PACKAGE] = module_from_spec(spec)
        try:
            return importlib.import_module(_FUNCTIONS)
        finally:
            del sys.modules[_PACKAGE]
