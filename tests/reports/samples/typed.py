"""A sample's content as the typed comparison that everything else takes."""

from concord.metrics_core.results.comparison import Comparison
from concord.metrics_core.results.stored import from_content
from tests.reports.samples.sample import Content


def typed(content: Content) -> Comparison:
    return from_content(content)
