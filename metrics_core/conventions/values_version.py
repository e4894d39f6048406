"""The version of values: a release raises it if a number changes that one before it computed."""

from typing import Any

VALUES_VERSION = 1  # CHANGELOG lists under "Values changed" what changed with each version
RELEASES = {1: "0.1"}  # version of values -> the releases that compute them


def values_version_problem(found: Any, fix: str) -> tuple[str, str] | None:
    """Return the problem of values with another version, and how to fix it; None if it is ours.

    Parameters
    ----------
    found : object
        The version in a file.
    fix : str
        What makes it the version of this Concord, such as "evaluate again".
    """
    if type(found) is not int:
        return f"has {found!r} as version of its values, which is a whole number", fix
    if found == VALUES_VERSION:
        return None
    problem = f"has values of version {found}, and this Concord computes version {VALUES_VERSION}"
    if found > VALUES_VERSION:
        return problem, f"install a newer Concord, or {fix}"
    release = RELEASES.get(found)
    other = f"; or `pip install 'concord-eval=={release}.*'`" if release else ""
    return problem, f"read 'Values changed' in the changelog, then {fix}{other}"
