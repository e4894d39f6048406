"""A picture of a comparison."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from concord.metrics_core.errors import refuse
from concord.metrics_core.results.rendering import write_document

Kind = Literal["differences", "leaderboard", "segments", "curves"]


@dataclass(frozen=True, repr=False)
class Plot:
    """A picture that a notebook shows, and that `save` writes as a file.

    Attributes
    ----------
    title : str
        What the picture shows.
    svg : str
        The picture, in light colours on a transparent ground.
    html : str
        The same for a notebook, whose theme the colours follow.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import concord as cc
    >>> lists = {"new": {"u1": ["a"]}, "old": {"u1": ["b", "a"]}}
    >>> plot = cc.compare(lists, {"u1": ["a"]}, metrics=["RR"]).plot("leaderboard")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot.save(Path(folder, "plot.svg")).name
    'plot.svg'
    """

    title: str
    svg: str
    html: str

    def save(self, path: str | Path) -> Path:
        """Write the picture to an SVG file and return its path.

        Raises
        ------
        InputError
            The name of the file ends otherwise.
        """
        if Path(path).suffix.lower() != ".svg":
            problem = f"{str(path)!r} is not the name of an SVG file"
            raise refuse("path", problem, "write `plot.save('plot.svg')`; browsers print it as PDF")
        return Path(write_document(self.svg, path))

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"{self.title}; `save('plot.svg')` writes the picture"
