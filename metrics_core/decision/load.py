"""`load`: a comparison that was stored."""

from pathlib import Path

from concord.metrics_core.errors import refuse
from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import read_comparison

_FILE = "comparison.json"
_PLACES = (_FILE, f"comparison/{_FILE}", f"results/comparison/{_FILE}")


def load(path: str | Path) -> Comparison:
    """Return the comparison of a decision or of results.

    Parameters
    ----------
    path : str or Path
        A file decision.concord or comparison.json, a folder of results, or the folder of an
        evaluation whose results are in the usual places.

    Returns
    -------
    Comparison
        It knows no lists and tables: methods that need them refuse.

    Raises
    ------
    InputError
        There is no comparison, or this version cannot read it.

    Examples
    --------
    >>> import concord as cc
    >>> from tempfile import mkdtemp
    >>> demo = cc.datasets.load_demo()
    >>> models = {name: demo.models[name] for name in ("ease", "als")}
    >>> path = cc.compare(models, demo.truth, metrics=["RR"]).save(f"{mkdtemp()}/decision.concord")
    >>> cc.load(path).verdicts[0]
    'ease beats als on RR.'
    """
    place = Path(path)
    if place.is_dir():
        places = [place / name for name in _PLACES]
        place = next((each for each in places if each.is_file()), places[0])
    if not place.is_file():
        fix = f"name a decision, {_FILE}, or a folder that has it"
        raise refuse(str(path), f"has no {_FILE}" if Path(path).is_dir() else "is not a file", fix)
    if place.suffix == ".json":
        return read_comparison(place)
    from concord.metrics_core.decision.read_decision import read_decision

    return read_decision(place).comparison
