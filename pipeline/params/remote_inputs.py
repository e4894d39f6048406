"""Inputs in object stores: DVC watches them by a plugin of its own."""

from collections.abc import Iterator
from importlib.util import find_spec

from concord.metrics_core.errors import Problem
from concord.metrics_core.files import address_of, is_remote
from concord.pipeline.params.model import PARAMS, Params
from concord.pipeline.params.places import input_paths

_DVC = {"s3": "s3", "gs": "gs", "az": "azure"}  # store -> scheme of DVC, and its extra


def unwatched_by_dvc(params: Params) -> Iterator[Problem]:
    """What `dvc repro` would stumble over: a scheme that DVC does not know, a plugin that is not installed."""
    lacking = set()
    for keys, path in input_paths(params):
        if not is_remote(path):
            continue
        address = address_of(path)
        known = _DVC[address.store]
        if address.scheme != known:
            where = f"{PARAMS}: {'.'.join(keys)}"
            what = f"begins with {address.scheme}://, which DVC does not know"
            yield Problem(where, what, f"write {known}://{address.bucket}/{address.key}")
        elif find_spec(f"dvc_{known}") is None:
            lacking.add(known)
    for scheme in sorted(lacking):
        what = f"is not installed, and DVC watches {scheme}:// by it"
        yield Problem(f"dvc-{scheme}", what, f"`pip install 'dvc[{scheme}]'`")
