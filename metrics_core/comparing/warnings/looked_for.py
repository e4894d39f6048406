"""Which signs of a doubtful evaluation could be looked for: some need a catalogue or a train, times, scores or enough users."""

from concord.metrics_core.comparing.evidence.asked import Asked
from concord.metrics_core.comparing.evidence.evaluated import Ground, Models
from concord.metrics_core.comparing.warnings.warned import FEWEST


def checked_kinds(asked: Asked, models: Models, ground: Ground) -> list[str]:
    """The kinds of such warnings whose check was made for every model; ties only where scores order a list."""
    every = list(models.values())
    at_k = [each.at_cutoff(asked.main_k) for each in every]
    made = {
        "sampled_candidates": asked.conventions.candidates is None
        and (ground.items is not None or ground.train is not None)
        and all(each.full_lists.get("with_relevant", 0) >= FEWEST for each in every),
        "train_items_recommended": all(each.get("in_train") is not None for each in at_k),
        "future_items": all(each.get("future") is not None for each in at_k),
        "truth_in_train": ground.train is not None,
        "user_sets_differ": len(every) > 1,
        "ties_at_cutoff": asked.main_k is not None
        and any(each.quality.get("order") == "score" for each in every),
    }
    return [kind for kind, was_made in made.items() if was_made]
