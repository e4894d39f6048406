"""Cases with custom metrics that write to their lists, exit, raise or return odd values.

No other metric may change. Code that changes modules (`np.bincount = …`) or ends the process
(`os._exit`) is not tested, because a metrics file is trusted.
"""

import random
from pathlib import Path

import numpy as np
import polars as pl
from ruamel.yaml import YAML

import concord as cc
from benchmarks.fuzz_cases import Case, Row, kind
from concord.metrics_core.errors import refuse
from tests.in_process import run_concord
from tests.pipeline.params.params_content import params_content

ARRAYS = (
    *(f"lists.{name}" for name in ("n_relevant", "relevant_weight", "hit_number", "truth_rank",
    "tied_ranks")),
    *(f"lists.{name}" for name in ("users", "known", "n_listed", "hit_user", "hit_rank",
    "hit_grade")),
    *(f"lists.{name}" for name in ("hit_first", "truth_user", "truth_grade",
    "unweighted.hit_grade")),
    "lists.hit_column('price')", "lists.truth_column('price')", "lists.columns['price'][0]",
    "lists.cutoff(None)", "lists.length(None)", "lists.reachable(None)", "lists.within(k)",
    "lists.chance_within(k)",
    "lists.relevant(2.0, 'all').n_relevant", "lists.relevant(None, 'retrieved').truth_grade",
    "lists.cached(type(lists).count, k)", "lists.total(lists.hit_grade, k)",
)  # fmt: skip
WRITES = (
    "x[:] = 0", "x[x == 0] = 1", "x.fill(1)", "x.sort()", "x += 1", "x *= 0",
    "np.copyto(x, x[::-1])", "np.add.at(x, 0, 1)",
    "x.setflags(write=True); x[:] = 1", "x.flags.writeable = True; x[:] = 0",
    "x.base.setflags(write=True); x.base[:] = 0",
    "x.resize(1, refcheck=False)", "x.shape = (-1, 1)", "x.dtype = np.int8",
    "np.random.default_rng(1).shuffle(x)",
    "np.asarray(memoryview(x))[:] = 0",
    "ctypes.memset(x.ctypes.data, 0, x.nbytes if x.dtype != object else 0)",
)  # fmt: skip
STATEMENTS = (
    "object.__setattr__(lists, 'hit_grade', lists.hit_grade * 0)", "lists.n_relevant = None",
    "del lists.hit_rank",
    "lists.__dict__.clear()", "lists.__dict__['n_relevant'] = lists.n_listed",
    "lists._views.clear()", "lists._computed.clear()",
    "lists._views.update(dict.fromkeys(lists._views))", "lists.columns.clear()",
    "lists.columns['price'] = (np.zeros(1),) * 2",
    "np.seterr(all='raise')", "np.seterr(all='ignore')", "np.random.seed(0)", "kept.append(lists)",
    "[each.__dict__.clear() for each in kept]", "kept and kept[0].hit_grade.setflags(write=True)",
)  # fmt: skip
LEAVING = (
    "exit()", "quit()", "sys.exit()", "sys.exit(0)", "sys.exit('words')", "raise SystemExit",
    "raise GeneratorExit",
    "raise StopIteration", "raise Odd('words')", "raise ValueError",
    "assert False, 'line\\nline'", "1 / 0", "f(lists, k)",
    "raise MemoryError", "nothing",
)  # fmt: skip
SAME = (
    "h", "h.tolist()", "tuple(h)", "pl.Series(h)", "pd.Series(h)", "h.astype('>f8')",
    "np.longdouble(h)", "memoryview(h)",
    "array.array('d', h)", "np.ma.masked_array(h)", "pa.array(h)", "h[::-1][::-1]",
)  # fmt: skip
RETURNED = (
    *SAME, "np.ma.masked_array(h, mask=h > 0.3)", "np.ma.masked_all(len(h))", "h.astype('f2')",
    "h > 0", "h.astype(int)",
    "h.astype(complex)", "h.astype(str)", "h.astype(object)", "h.astype('M8[s]')",
    "h.astype('m8[s]')", "h.view('V8')",
    "np.matrix(h)", "np.rec.array(h)", "h[:, None]", "h[:-1]", "h[0]", "[h]",
    "[[1.0], [1.0, 2.0]]", "None", "1.0", "True",
    "'words'", "b''", "{}", "set(h)", "iter(h)", "(x for x in h)", "np.ma.masked", "np.array([])",
    "h * 2 + 1", "-h - 1",
    "h / 0", "h * np.inf", "h * np.nan", "lists.known", "lists.users", "lists.n_listed", "lists",
    "f", "Wrapped(h)",
    "[Fraction(1, 2)] * len(h)", "[Decimal('0.5')] * len(h)", "[None] * len(h)",
    "['0.5'] * len(h)", "[1j] * len(h)",
)  # fmt: skip
HEAD = """import array, ctypes, sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import concord

kept = []


class Odd(BaseException):
    pass


class Wrapped:
    def __init__(self, values):
        self.values = values

    def __array__(self, *_, **__):
        sys.exit(0)
"""
ITEMS = [f"i{number}" for number in range(10)]
BUILT_IN = ("P", "R", "AP", "nDCG", "RR", "R(rel=2)", "nDCG(judged_only=true)", "Bpref")
COMMANDS = (
    ["gate"],
    ["gate", "HEAD"],
    ["comment"],
    ["validate"],
    ["leaderboard"],
    ["check-metric", "./m.py:f"],
    ["diff", "HEAD"],
)


@kind
def own_metrics(rng: random.Random) -> Case:
    """Return a custom metric among built-in ones, or a file that raises when it is imported."""
    if rng.random() < 0.1:  # noqa: PLR2004
        return _imported(rng)
    statements = [_statement(rng) for _ in range(rng.randrange(3))]
    returned = rng.choice(RETURNED)
    _write("", statements, returned)
    lists = {f"u{n}": rng.sample(ITEMS, rng.randrange(1, 8)) for n in range(5)}
    truth = {
        user: {i: float(rng.randrange(4)) for i in rng.sample(ITEMS, rng.randrange(1, 7))}
        for user in lists
    }
    k = rng.randrange(1, 6)
    others = [f"{name}@{k}" for name in BUILT_IN]
    others = [*rng.sample(others, 4), "AUC"]
    prices = pl.DataFrame({"item": ITEMS, "price": [rng.random() for _ in ITEMS]})

    def values(labels: list[str]) -> cc.results.Evaluation:
        reads_prices = f"./m.py:f@{k}" in labels
        return cc.evaluate(
            lists,
            truth,
            metrics=labels,
            conventions=conventions,
            items=prices if reads_prices else None,
            columns={"items": {"price": "price"}} if reads_prices else None,
        )

    conventions = cc.preset(
        "standard",
        relevance_threshold=rng.choice((None, 1.0, 2.0)),
        truth_visible=rng.choice(("all", "retrieved")),
        user_empty_truth=rng.choice(("drop", "zero", "nan", "one")),
    )
    precision = values([f"P@{k}"]).per_user[f"P@{k}"]
    expected = _rows(values(others), others)
    is_same = not statements and returned in SAME

    def read() -> list[Row]:
        custom_labels = [f"./m.py:f@{k}", f"./m.py:honest@{k}"]
        result = values(rng.sample([*custom_labels, *others], len(others) + 2))
        custom = result.per_user[f"f@{k}"]
        assert custom.drop_nulls().drop_nans().is_between(0, 1).all(), custom
        for name in ("honest", "f") if is_same else ("honest",):
            honest = result.per_user[f"{name}@{k}"]
            assert honest.equals(precision), f"{name}: {honest} is not {precision}"
        assert np.geterr() == before
        assert _rows(values(others), others) == expected, "later values have changed"
        return _rows(result, others)

    before = np.geterr()
    return Case("held", "m.py", expected, allowed="" if is_same else "refused", read=read)


def _imported(rng: random.Random) -> Case:
    leaving = rng.choice([each for each in LEAVING if each != "f(lists, k)"])
    _write(leaving, [], "h")
    command = rng.choice(COMMANDS)
    models = {"a": {"path": "a.parquet"}, "b": {"path": "b.parquet"}}
    content = params_content(models, ["nDCG", "f"], [10], background={"metrics": {"path": "m.py"}})
    content["gate"] = {"guardrails": {"nDCG@10": "2%"}}
    with Path("params.yaml").open("w", encoding="utf-8") as file:
        YAML().dump(content, file)

    def read() -> list[Row]:
        done = run_concord(Path.cwd(), *command)
        assert done.returncode == 2, done  # noqa: PLR2004
        assert "raises" in done.stderr, done
        raise refuse(Path("m.py").name, done.stderr, "it is not accepted")

    return Case("held", "m.py", allowed="only refused", read=read)


def _statement(rng: random.Random) -> str:
    write = f"x = {rng.choice(ARRAYS)}; {rng.choice(WRITES)}"
    statement = rng.choice((write, write, write, rng.choice(STATEMENTS), rng.choice(LEAVING)))
    if rng.random() < 0.7:  # noqa: PLR2004 - most continue after they are refused
        return f"try:\n        {statement}\n    except BaseException:\n        pass"
    return statement


def _write(top: str, statements: list[str], returned: str) -> None:
    precision = "lists.count(k) / k"
    body = "\n    ".join([f"h = {precision}", *statements, f"return {returned}"])
    honest = f"@concord.metric()\ndef honest(lists, k):\n    'honest@k'\n    return {precision}\n"
    custom = f"@concord.metric(columns=['price'])\ndef f(lists, k):\n    'f@k'\n    {body}\n"
    Path("m.py").write_text(f"{HEAD}\n{top}\n\n{honest}\n\n{custom}", encoding="utf-8")


def _rows(result: cc.results.Evaluation, labels: list[str]) -> list[Row]:
    """Return the values of the built-in metrics as text."""
    return [{"label": label, "values": repr(result.per_user[label].to_list())} for label in labels]
