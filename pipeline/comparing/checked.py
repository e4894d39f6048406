"""Which signs of a doubtful evaluation could be looked for: some need a train, times, scores or enough users."""

from collections.abc import Mapping

from pipeline.comparing.choices import Choices
from pipeline.comparing.evaluations import Evaluation
from pipeline.comparing.warnings import FEWEST
from pipeline.params.model import Params


def checked_kinds(
    params: Params, choices: Choices, evaluations: Mapping[str, Evaluation]
) -> list[str]:
    """The kinds of such warnings whose check was made for every model; ties only where scores order a list."""
    models = list(evaluations.values())
    at_k = [each.at_cutoff(choices.main_k) for each in models]
    made = {
        "sampled_candidates": all(
            each.full_lists.get("with_relevant", 0) >= FEWEST for each in models
        ),
        "train_items_recommended": all(each.get("in_train") is not None for each in at_k),
        "future_items": all(each.get("future") is not None for each in at_k),
        "truth_in_train": "train" in params.background,
        "user_sets_differ": len(models) > 1,
        "ties_at_cutoff": choices.main_k is not None
        and any(each.quality.get("order") == "score" for each in models),
    }
    return [kind for kind, was_made in made.items() if was_made]
