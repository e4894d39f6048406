"""Packages that only some uses need: pip installs them by the name of an extra."""

from collections.abc import Iterator
from contextlib import contextmanager

from concord.metrics_core.checking.problems import InputError, refuse

EXTRAS = {  # package that is imported -> extra that installs it
    "altair": "report",
    "deltalake": "delta",
    "jinja2": "report",
    "markupsafe": "report",
    "vl_convert": "report",
    "dvc": "dvc",
    "pydantic": "dvc",
    "rich": "dvc",
    "ruamel": "dvc",
    "shtab": "dvc",
    "mlflow": "mlflow",
    "pyspark": "spark",
}


def missing_extra(error: ImportError) -> InputError | None:
    """The refusal that names the extra; None where another package is missing."""
    package = (error.name or "").partition(".")[0]
    if not isinstance(error, ModuleNotFoundError) or package not in EXTRAS:
        return None
    fix = f"`pip install 'concord-eval[{EXTRAS[package]}]'`"
    return refuse(package, "is not installed, and this needs it", fix)


@contextmanager
def extra_named() -> Iterator[None]:
    """Imports inside the block that lack an extra are refused with its name.

    Raises
    ------
    InputError : a package of an extra is not installed
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if refusal := missing_extra(error):
            raise refusal from None
        raise
