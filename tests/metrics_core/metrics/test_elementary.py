"""Logarithms and powers are right to the last places, and nothing else makes them."""

import ast
import math
import os
import subprocess
import sys
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from concord.metrics_core.metrics.elementary import exp2, ln, log2, powers
from tests.project import ROOT

LN2 = "0.693147180559945309417232121458176568075500134360255254120680009"
ROUTINES = {
    "log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "power", "float_power", "cbrt",
    "hypot", "logaddexp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos",
    "arctan", "arcsinh", "arccosh", "arctanh",
}  # fmt: skip
POSITIVE = st.floats(min_value=5e-324, allow_infinity=False) | st.floats(0.5, 2.0)


def _units_off(got: float, exact: Decimal) -> Decimal:
    """By how many units in the last place."""
    return abs(Decimal(got) - exact) / Decimal(math.ulp(float(exact)))


@given(x=POSITIVE)
def test_logarithms_are_right_to_the_last_places(x: float) -> None:
    with localcontext(prec=60):
        exact = Decimal(x).ln()
        assert _units_off(float(ln(x)), exact) < 2
        assert _units_off(float(log2(x)), exact / Decimal(LN2)) < 3


@given(x=st.floats(-1000, 1000))
def test_powers_of_two_are_right_to_the_last_places(x: float) -> None:
    with localcontext(prec=60):
        assert _units_off(float(exp2(x)), (Decimal(x) * Decimal(LN2)).exp()) < 2


@given(base=st.floats(0.01, 0.99), count=st.integers(1, 100))
def test_the_powers_of_a_number_are_products(base: float, count: int) -> None:
    with localcontext(prec=60):
        assert _units_off(powers(base, count)[-1], Decimal(base) ** (count - 1)) <= count / 2


def test_whole_exponents_are_exact() -> None:
    exponents = np.arange(-1022, 1024)
    values = np.ldexp(1.0, exponents)

    assert log2(values).tolist() == exponents.tolist()
    assert exp2(exponents).tolist() == values.tolist()
    assert powers(0.5, 60).tolist() == [0.5**n for n in range(60)]


LESS = {  # what a processor without fused multiplication would do
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4",
}
SCRIPT = """
import sys
import numpy as np
from concord.metrics_core.metrics.discounting import discounts, gains
from concord.metrics_core.metrics.elementary import ln
forms = ({"log": 2}, {"log": 10}, {"jk": 3}, {"halflife": 5}, {"geometric": 0.95})
made = [discounts(form, 20_000) for form in forms]
made += [gains(np.arange(0, 5, 0.001), "exp2", 1.0), ln(np.arange(0.0001, 2, 0.0001))]
sys.stdout.buffer.write(b"".join(array.tobytes() for array in made))
"""


def test_processors_change_no_bit() -> None:
    output, actual = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=ROOT,
            env=os.environ | less,
            capture_output=True,
            check=True,
        ).stdout
        for less in ({}, LESS)
    ]

    assert len(output) > 100_000 * 8
    assert output == actual


@pytest.mark.parametrize("folder", ["metrics_core", "pipeline"])
def test_no_number_is_made_by_routines_that_depend_on_the_processor(folder: str) -> None:
    results = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if _depends(node):
                results.append(f"{path.relative_to(ROOT)}: {ast.unparse(node)}")

    assert results == KNOWN[folder]


KNOWN = {
    "metrics_core": [
        "metrics_core/evaluation/printed_number.py: 10.0 ** (-decimals)",  # a printed number
        # Number of decimals of a metric, and of an interval.
        "metrics_core/results/text_format.py: math.log10",
        "metrics_core/results/text_format.py: math.log10",
    ],
    "pipeline": [],
}


def _depends(node: ast.AST) -> bool:
    """True for routines of NumPy or the C library, and powers except squares and of integers."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.value.id in {"np", "math"} and node.attr in ROUTINES
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        square = ast.unparse(node.right) == "2"
        return not square and not isinstance(getattr(node.left, "value", None), int)
    return False
