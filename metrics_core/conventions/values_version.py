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
    if type(found) is int and found == VALUES_VERSION:
        return None
    problem = f"has values of version {found}, and this Concord computes version {VALUES_VERSION}"
    fix = f"read 'Values changed' in the changelog, then {fix}"
    if type(found) is int and found in RELEASES:
        fix += f"; or `pip install 'concord-eval=={RELEASES[found]}.*'`"
    return problem, fix
