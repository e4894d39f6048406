"""The functions of scipy.special are loaded without its package, and are the same objects."""

import subprocess
import sys

import pytest

NAMES = "betaincinv gammainccinv gammaincinv ndtr nctdtr pdtr stdtr stdtrit"
SAME = f"""
import sys
from concord.metrics_core.stats.special_functions import special
functions = special()
assert "scipy.special" not in sys.modules and "numpy.f2py" not in sys.modules
import scipy.special
same = scipy.special._ufuncs
print(all(getattr(functions, name) is getattr(same, name) for name in {NAMES.split()}),
      scipy.special.stdtrit(9, 0.975) == functions.stdtrit(9, 0.975))
"""
MEANWHILE = """
import sys, threading
from concord.metrics_core.stats.special_functions import special
def load():
    import scipy.special
    quantiles.append(scipy.special.stdtrit(9, 0.975))
quantiles = []
threads = [threading.Thread(target=load) for _ in range(4)]
for thread in threads: thread.start()
quantiles.append(special().stdtrit(9, 0.975))
for thread in threads: thread.join()
print(len(quantiles), len(set(quantiles)))
"""
OTHER_LAYOUT = """
import scipy
from concord.metrics_core.stats.special_functions import special
scipy.__path__.insert(0, "/missing")
functions = special()
import scipy.special
print(functions is scipy.special, functions.stdtrit(9, 0.975) > 2)
"""


@pytest.mark.parametrize(
    ("script", "expected"), [(SAME, "True True"), (MEANWHILE, "5 1"), (OTHER_LAYOUT, "True True")]
)
def test_scipy_can_be_imported_afterwards_and_meanwhile(script: str, expected: str) -> None:
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == expected.split()
