"""Every segmentation that is asked for: the models in each of its groups, and what turns there."""

from collections.abc import Iterator, Sequence

import numpy as np

from concord.metrics_core.comparing.evidence.evidence import Evidence
from concord.metrics_core.comparing.evidence.segmentations import ByPopularity, Segmentation
from concord.metrics_core.comparing.segments.cells import cells
from concord.metrics_core.comparing.segments.gaps import FEWEST_IN_GAP, gaps
from concord.metrics_core.comparing.segments.grouped import Grouped
from concord.metrics_core.comparing.segments.items import QUESTIONS, item_groups
from concord.metrics_core.comparing.segments.users import UserGroups, user_groups
from concord.metrics_core.comparing.sentences.flags import flags
from concord.metrics_core.comparison import parts
from concord.metrics_core.comparison.parts import Difference, Segment
from concord.metrics_core.metrics.catalogue import is_pooled


def segments(evidence: Evidence, differences: Sequence[Difference]) -> Iterator[parts.Segmentation]:
    """Every segmentation, in the order given."""
    asked = evidence.asked
    overall = {(pair.label, pair.a): pair for pair in differences if pair.vs_baseline}
    for name, segmentation in asked.segments.items():
        labels, question = _grouped(evidence, name, segmentation)
        found = cells(asked, labels, overall, evidence.unlisted)
        yield parts.Segmentation(
            name=name,
            kind=segmentation.by if isinstance(segmentation, ByPopularity) else "user",
            question=question,
            labels=tuple(grouped.text for grouped in labels),
            segments=tuple(_segments(labels)),
            cells=tuple(found),
            fewest_in_gap=FEWEST_IN_GAP,
            gaps=tuple(gaps(asked, labels, compared=segmentation.compare_gaps)),
            flags=tuple(flags(name, found, overall, asked.baseline)),
        )


def segment_cells(evidence: Evidence, name: str) -> list[parts.SegmentCell]:
    """The models in each group of one segmentation, without a look at all users."""
    labels, _ = _grouped(evidence, name, evidence.asked.segments[name])
    return cells(evidence.asked, labels, {}, evidence.unlisted)


def _grouped(
    evidence: Evidence, name: str, segmentation: Segmentation
) -> tuple[list[Grouped], str]:
    """The labels in each group, and the question that the groups ask."""
    if isinstance(segmentation, ByPopularity):
        k = evidence.asked.main_k
        found = [] if k is None else [item_groups(evidence, segmentation, k)]
        return found, QUESTIONS[segmentation.by]
    groups = user_groups(evidence, name, segmentation)
    return _in_groups(evidence, groups), groups.question


def _in_groups(evidence: Evidence, groups: UserGroups) -> list[Grouped]:
    """The primary labels that are means over users, in each group."""
    asked = evidence.asked
    labels = [label for label in asked.of_primary if not is_pooled(label, asked.conventions)]
    return [groups.grouped(evidence, label) for label in labels]


def _segments(labels: Sequence[Grouped]) -> list[Segment]:
    """The groups and the users in them: those with a value from any model."""
    groups = dict.fromkeys(group for grouped in labels for group in grouped.values)
    return [Segment(group, max(_users(grouped, group) for grouped in labels)) for group in groups]


def _users(grouped: Grouped, group: str) -> int:
    columns = grouped.values.get(group, {}).values()
    known = np.logical_or.reduce([~np.isnan(column) for column in columns])
    return int(known.sum()) if grouped.whose is None else len(np.unique(grouped.whose.user[known]))
