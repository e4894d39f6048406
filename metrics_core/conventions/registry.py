"""Registry of all conventions, in the order of params.yaml.

A convention is a question that good libraries answer differently. A parameter (`k`, `p`, `rel`)
asks another question and is part of a metric's label.
"""

from collections.abc import Mapping

from concord.metrics_core.conventions.convention import Convention
from concord.metrics_core.conventions.data_conventions import DATA_CONVENTIONS
from concord.metrics_core.conventions.metric_conventions import METRIC_CONVENTIONS
from concord.metrics_core.conventions.user_conventions import USER_CONVENTIONS

PRESET_CONVENTIONS = (*METRIC_CONVENTIONS, *USER_CONVENTIONS)
CONVENTIONS = (*PRESET_CONVENTIONS, *DATA_CONVENTIONS)
CONVENTION: Mapping[str, Convention] = {each.name: each for each in CONVENTIONS}
