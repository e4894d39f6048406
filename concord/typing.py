"""Types for annotations of variables that are passed to Concord.

>>> from concord.typing import ConventionOptions
>>> options: ConventionOptions = {"ties": "average", "gain": "exp2"}
"""

from concord.metrics_core.conventions.option_types import ConventionOptions, PresetName
from concord.metrics_core.conventions.presets import ConventionsLike
from concord.metrics_core.data.argument_types import Data, PolicyOptions, TableColumns

__all__ = [
    "ConventionOptions",
    "ConventionsLike",
    "Data",
    "PolicyOptions",
    "PresetName",
    "TableColumns",
]
