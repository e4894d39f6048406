"""The compiled functions of `scipy.special`, without the imports of its package.

These take 0.16 s, for numpy.f2py, numpy.testing and other array libraries: more than most
evaluations of small data.
"""

import importlib
import sys
from contextlib import AbstractContextManager, suppress
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from typing import Any, cast

_PACKAGE = "scipy.special"


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
    with suppress(Exception), _lock():
        if _PACKAGE not in sys.modules:
            sys.modules[_PACKAGE] = module_from_spec(spec)
            try:
                from scipy.special import _ufuncs

                return _ufuncs
            finally:
                del sys.modules[_PACKAGE]
    import scipy.special

    return scipy.special


def _lock() -> AbstractContextManager[None]:
    """Return the lock with which Python imports the package."""
    lock: Any = importlib._bootstrap._ModuleLockManager  # type: ignore[attr-defined]
    return cast(AbstractContextManager[None], lock(_PACKAGE))
