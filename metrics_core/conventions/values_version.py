"""The version of values: a release raises it if it computes a number differently than before."""

from typing import Any

VALUES_VERSION = 1  # CHANGELOG lists under "Values changed" what changed with each version
RELEASES = {1: "0.1"}  # version of values -> the first minor version that computes them


def values_version_problem(found: Any, fix: str) -> tuple[str, str] | None:
    """Return problem and fix of values with another version; None for the version of this Concord.

    Parameters
    ----------
    found : object
        The version in a file.
    fix : str
        What makes it the version of this Concord, such as "evaluate again".
    """
    if found is None:
        return "has no values_version", fix
    if type(found) is not int:
        return f"has values_version {found!r}, which must be a whole number", fix
    if found == VALUES_VERSION:
        return None
    problem = f"has values of version {found}, and this Concord computes version {VALUES_VERSION}"
    if found > VALUES_VERSION:
        return problem, f"install a newer Concord, or {fix}"
    release = RELEASES.get(found)
    other = f"; or `pip install 'concord-eval=={release}.*'`" if release else ""
    return problem, f"read 'Values changed' in the changelog, then {fix}{other}"
