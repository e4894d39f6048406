"""Table of all presets, by name."""

from collections.abc import Mapping
from typing import Any

from concord.metrics_core.conventions.library_presets import LIBRARY_PRESETS
from concord.metrics_core.conventions.preset import Preset
from concord.metrics_core.conventions.registry import PRESET_CONVENTIONS
from concord.metrics_core.conventions.text_presets import TEXT_PRESETS

STANDARD: Mapping[str, Any] = {each.name: each.default for each in PRESET_CONVENTIONS}
PRESETS: Mapping[str, Preset] = {
    "standard": Preset(
        "Concord's own: truth-based denominators, min(k, R) for AP, linear gain, log2.", {}
    ),
    **TEXT_PRESETS,
    **LIBRARY_PRESETS,
}
